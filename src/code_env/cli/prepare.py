"""`code-env prepare` makes ready what tasks find around them; `code-env cache` shows and removes what was prepared."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from code_env.caches import MAX_BYTES
from code_env.images import Image, ImageCache, prepare_images
from code_env.packages import Environment, PackageCache, prepare
from code_env.requirements import package_of
from code_env.tasks import load_suite
from code_env.tasks.formats.harbor import images_of

from .application import app
from .console import FormatOption, JsonOption, NetworkOption, out, print_json, progress_bar, say, user_errors

_GIB, _MIB = 1 << 30, 1 << 20

MaxGibOption = Annotated[
    float, typer.Option("--max-gib", min=0, max=1 << 20, help="How large the cache may become, in GiB.")
]

cache_app = typer.Typer(name="cache", help="Show and empty the caches of packages and images.", no_args_is_help=True)
app.add_typer(cache_app)


@app.command("prepare")
def prepare_suite(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or path of its file or folder.")],
    wheels: Annotated[
        Path | None, typer.Option("--wheels", help="A folder of wheels to install from, without an index.")
    ] = None,
    python: Annotated[
        str | None, typer.Option("--python", help="The interpreter that will run programs; this one by default.")
    ] = None,
    network: NetworkOption = False,
    max_gib: MaxGibOption = MAX_BYTES / _GIB,
    as_json: JsonOption = False,
    format: FormatOption = None,
) -> None:
    """Install the packages, and unpack, build or pull the images, that the tasks of a suite name, each once.

    Example: code-env prepare tasks.jsonl
    """
    with user_errors():
        tasks = load_suite(suite, format)
        with progress_bar() as progress:
            bar = progress.add_task("installing", total=None)
            prepared = prepare(
                tasks,
                python=python,
                wheels=wheels,
                max_bytes=round(max_gib * _GIB),
                progress=lambda done, total, what: progress.update(
                    bar, completed=done, total=total, description=f"installing {_short(what)}"
                ),
            )
            images, made = prepare_images(
                (image for task in tasks for image in images_of(task)),
                max_bytes=round(max_gib * _GIB),
                network=network,
                progress=lambda done, total, what: progress.update(
                    bar, completed=done, total=total, description=f"making {_short(what)}"
                ),
            )
    if as_json:
        row = {"suite": tasks.name, "tasks": len(tasks), "tasks_with_packages": prepared.tasks}
        rows = [_row(PackageCache(), one) for one in prepared.environments]
        row |= {"installed": prepared.installed, "environments": rows, "made": made}
        print_json(row | {"images": [_image_row(ImageCache(), one) for one in images]})
        return
    for one in prepared.environments:
        say(f"{one.key}: {_named(one)} ({one.size_bytes / _MIB:.0f} MiB)")
    there = len(prepared.environments) - prepared.installed
    say(
        f"{prepared.tasks} of {len(tasks)} tasks name packages; environments: {prepared.installed} installed now, "
        f"{there} were there"
    )
    if images:
        say(f"images: {made} made now, {len(images) - made} were there or are directories")


@cache_app.command("list")
def list_cache(as_json: JsonOption = False) -> None:
    """List the environments and images in the caches, the most recently used first.

    Example: code-env cache list
    """
    cache, image_cache = PackageCache(), ImageCache()
    found, images = cache.entries(), image_cache.entries()
    if as_json:
        row = {"directory": str(cache.directory), "environments": [_row(cache, one) for one in found]}
        print_json(row | {"images": [_image_row(image_cache, one) for one in images]})
        return
    if found:
        table = Table("environment", Column("packages", overflow="fold"), "MiB", "last used")
        for one in found:
            used = time.strftime("%Y-%m-%d %H:%M", time.localtime(cache.used_at(one)))
            table.add_row(one.key, _named(one), f"{one.size_bytes / _MIB:.0f}", used)
        out.print(table)
    for image in images:
        say(f"{image.key}: {image.source} ({image.size_bytes / _MIB:.0f} MiB)")
    total = sum(one.size_bytes for one in found)
    say(f"environments: {len(found)}, {total / _MIB:.0f} MiB, in {cache.directory}")
    total = sum(one.size_bytes for one in images)
    say(f"images: {len(images)}, {total / _MIB:.0f} MiB, in {image_cache.directory}")


@cache_app.command("prune")
def prune_cache(max_gib: MaxGibOption = MAX_BYTES / _GIB, as_json: JsonOption = False) -> None:
    """Remove environments and images, those first that were not used for the longest time, until the rest is small.

    Example: code-env cache prune --max-gib 5
    """
    _remove(round(max_gib * _GIB), as_json)


@cache_app.command("clear")
def clear_cache(as_json: JsonOption = False) -> None:
    """Remove all environments and images, except those that somebody uses now.

    Example: code-env cache clear
    """
    _remove(0, as_json)


def _remove(max_bytes: int, as_json: bool) -> None:
    cache, images = PackageCache(), ImageCache()
    removed: list[Environment | Image] = [*cache.prune(max_bytes), *images.prune(max_bytes)]
    images.layers.prune(max_bytes)  # Images that are left have links to their files.
    left: list[Environment | Image] = [*cache.entries(), *images.entries()]
    if as_json:
        print_json({"removed": [one.key for one in removed], "left": [one.key for one in left]})
        return
    freed = sum(one.size_bytes for one in removed)
    say(f"environments and images: {len(removed)} removed ({freed / _MIB:.0f} MiB), {len(left)} left")


def _row(cache: PackageCache, one: Environment) -> dict[str, Any]:
    return {
        "key": one.key,
        "requirements": list(one.requirements),
        "versions": dict(one.versions),
        "bytes": one.size_bytes,
        "used_at": cache.used_at(one),
        "path": str(one.path),
    }


def _image_row(cache: ImageCache, one: Image) -> dict[str, Any]:
    return {
        "key": one.key,
        "source": one.source,
        "bytes": one.size_bytes,
        "used_at": cache.used_at(one),
        "path": one.root,
    }


def _named(one: Environment) -> str:
    """The requirements, with the version that was installed for those that leave it open."""
    shown = []
    for text in one.requirements:
        version = None if "==" in text else one.versions.get(package_of(text))
        shown.append(text if version is None else f"{text} ({version})")
    return ", ".join(shown)


def _short(what: str) -> str:
    return what if len(what) <= _MOST_SHOWN else f"{what[:_MOST_SHOWN]}..."


_MOST_SHOWN = 40
"""How much of a list of packages is shown beside the progress bar, in characters."""
