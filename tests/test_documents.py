"""The documents lead to one another: no page is out of the index, and no link leads nowhere."""

import re

import pytest

from support import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]


def links(path):
    found = re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", path.read_text(encoding="utf-8"))
    return [link for link in found if not link.startswith(("http://", "https://", "mailto:"))]


def test_the_index_lists_every_page_once():
    listed = [link for link in links(ROOT / "docs" / "index.md") if not link.startswith("..")]
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES if page.name != "index.md")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_its_links_lead_to_files(path):
    assert [link for link in links(path) if not (path.parent / link).exists()] == []


def test_contributing_names_files_that_are_there():
    """In the table of where a change goes."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("## Where a change goes") : text.index("\n## Code\n")]
    named = [name for name in re.findall(r"`([\w/]+(?:\.py|/))`", section) if name != "src/code_env/"]
    package = ROOT / "src" / "code_env"
    homes = (package, package / "executors" / "local" / "jail")
    assert len(named) > 20
    assert [
        name for name in named if name != "src/code_env/" and not any((home / name).exists() for home in homes)
    ] == []
