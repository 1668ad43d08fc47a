"""The page of a report: one file that holds everything, opens from a disk, and asks no server for anything.

All text of models and programs is hostile. It lies in the page as compressed data in base64, which cannot end an
element, and the page's script shows it as text nodes only. A content security policy allows this script, and no other.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from code_env.output_file import replaced_file, require_other
from code_env.rewards.pass_at_k import DEFAULT_KS
from code_env.text import printable

from .runs import Entry, Runs

_BLOCK_ITEMS = 200
"""So many items are compressed together; a block is unpacked when one of its items is looked at."""

_SCRIPTS = ("data.js", "text.js", "overview.js", "item.js", "page.js")


def write_report(
    files: Sequence[str | Path],
    output: str | Path,
    *,
    title: str | None = None,
    ks: Sequence[int] = DEFAULT_KS,
    on_doubt: Callable[[str], object] = warnings.warn,
) -> int:
    """Write the page that shows results of `code-env eval` and trajectories of `code-env rollout`.

    Args:
        files: The files; each is a run. Two runs can be compared in the page.
        output: The page.
        title: Its title; the names of the files by default.
        ks: The values of k for pass@k.
        on_doubt: Called with a message for each file that holds no results, or whose last line is left out.

    Returns:
        The number of samples and episodes in the page.

    Raises:
        ReportError: If a file cannot be read, or a line of it is malformed.
        OutputError: If the page cannot be written, or would replace one of the files.
    """
    paths, output = [Path(file) for file in files], Path(output)
    require_other(output, paths)
    with Runs(paths, ks) as runs, replaced_file(output) as page:
        entries: list[Entry] = []
        page.writelines(part.encode() for part in page_parts(runs, title or title_of(paths), entries))
        for told in runs.doubts():
            on_doubt(told)
    return len(entries)


def title_of(paths: Sequence[Path]) -> str:
    """Return the title of a page about these files."""
    return printable(f"{', '.join(path.name for path in paths)}: report")


def page_parts(runs: Runs, title: str, entries: list[Entry], *, follow: bool = False) -> Iterator[str]:
    """Yield the page in pieces.

    Args:
        runs: The runs; their items so far are in the page.
        title: The page's title.
        entries: The short forms of the items are added to it.
        follow: Whether the page asks the server that it comes from for more items.
    """
    script = "".join(_asset(name) for name in _SCRIPTS)
    style = _asset("style.css")
    server = "'self'" if follow else "'none'"
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        f"connect-src {server}; base-uri 'none'; form-action 'none'"
    )
    head, tail = (
        Template(_asset("page.html")).substitute(title=html.escape(title), policy=policy).split("<!-- data -->")
    )
    before, after = head.split("<!-- style -->")
    yield f"{before}<style>{style}</style>{after}"
    blocks = 0
    for block in _in_blocks(runs, entries):
        yield _data_element(f"block-{blocks}", block)
        blocks += 1
    overview = {
        "figures": runs.figures(),
        "columns": Entry._fields,
        "entries": entries,
        "block_items": _BLOCK_ITEMS,
        "blocks": blocks,
        "follow": follow,
    }
    yield _data_element("index", overview)
    yield f"<script>{script}</script>{tail}"


def _in_blocks(runs: Runs, entries: list[Entry]) -> Iterator[list[Any]]:
    block: list[Any] = []
    for entry, item in runs.items():
        entries.append(entry)
        block.append(item)
        if len(block) == _BLOCK_ITEMS:
            yield block
            block = []
    if block:
        yield block


def _data_element(name: str, data: Any) -> str:
    # With a fixed time the same files give the same page.
    packed = gzip.compress(json_bytes(data), compresslevel=6, mtime=0)
    return f'<script type="application/octet-stream" id="{name}">{base64.b64encode(packed).decode()}</script>\n'


def json_bytes(data: Any) -> bytes:
    """Return data as JSON that browsers read: lone surrogates are escapes, and numbers that are not finite are null."""
    try:
        return json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        return json.dumps(_finite(data), separators=(",", ":"), allow_nan=False).encode()


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return list(map(_finite, data))
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """Return the source in a content security policy that allows an inline script or style with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
