"""How a large report behaves: the time to write it, its size, and in Chromium the time to open, filter, search, scroll.

The samples are the lines of a real results file, each with a number and a comment of its own, so that no two programs
are equal. The browser's figures are medians over fresh pages. The memory is what the page's JavaScript holds after a
garbage collection, and the resident memory of all of the browser's processes.

    code-env eval samples.jsonl --suite HumanEval.jsonl.gz -o results.jsonl
    python benchmarks/report.py --results results.jsonl
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from code_env.report import write_report

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def main(
    results: Annotated[Path, typer.Option("--results", help="Results of `code-env eval`.")],
    samples: Annotated[int, typer.Option("--samples", min=1)] = 100_000,
    rounds: Annotated[int, typer.Option("--rounds", min=1)] = 3,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure a large report."""
    with tempfile.TemporaryDirectory() as folder:
        row = {"samples": samples} | _measured(results, samples, rounds, Path(folder))
    if as_json:
        sys.stdout.write(json.dumps(row) + "\n")
        return
    table = Table("what", "value")
    for name, value in row.items():
        table.add_row(name, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
    Console().print(table)


def _measured(results: Path, samples: int, rounds: int, folder: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    large, page = folder / "large.jsonl", folder / "report.html"
    with large.open("w") as file:
        for number, line in enumerate(islice(cycle(lines), samples)):
            own = {
                "sample": number,
                "code": f"{line['code']}\n# {number}\n",
                "completion": f"{line['completion']}\n# {number}",
            }
            file.write(json.dumps(line | own) + "\n")
    began = time.perf_counter()
    write_report([large], page)
    written = time.perf_counter() - began
    opened = [_in_browser(page, samples) for _ in range(rounds)]
    return {
        "results_mib": large.stat().st_size / 2**20,
        "page_mib": page.stat().st_size / 2**20,
        "write_s": written,
    } | {name: statistics.median(one[name] for one in opened) for name in opened[0]}


def _in_browser(page: Path, samples: int) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_ARGUMENTS)
        tab = browser.new_page()
        tab.set_default_timeout(600_000)
        figures: dict[str, float] = {}

        def timed(name: str, act: Callable[[], Any]) -> None:
            began = time.perf_counter()
            act()
            figures[name] = time.perf_counter() - began

        def open_page() -> None:
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-ready]")

        def filter_list() -> None:
            tab.select_option("#outcome", "fail")
            tab.evaluate(_FRAME)

        def search(words: str) -> None:
            tab.fill("#search", words)
            tab.wait_for_selector(f"#count:text-is('1 of {samples:,} samples')")

        def scroll_to_the_end() -> None:
            tab.evaluate("() => { const list = document.getElementById('list'); list.scrollTop = list.scrollHeight; }")
            tab.wait_for_selector(f"[aria-posinset='{samples}']")

        def open_the_last() -> None:
            tab.locator(f"[aria-posinset='{samples}']").click()
            tab.wait_for_selector(f"text=number {samples - 1}")

        timed("open_s", open_page)
        figures["heap_mib"] = _heap_mib(tab)
        timed("filter_s", filter_list)
        tab.click("text=Show all")
        timed("scroll_s", scroll_to_the_end)
        timed("sample_s", open_the_last)
        tab.check("#deep")
        timed("search_s", lambda: search(f"# {samples - 1}"))
        figures["heap_after_mib"] = _heap_mib(tab)
        browser.close()
        return figures


def _heap_mib(tab: Any) -> float:
    session = tab.context.new_cdp_session(tab)
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 2**20


if __name__ == "__main__":
    typer.run(main)
