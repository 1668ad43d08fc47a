"""Every tutorial works as it is written, for somebody who begins in an empty folder."""

import pytest

from support import ROOT
from test_examples import ENDPOINT
from walking import walk

TUTORIALS = [ROOT / "docs" / "tutorials" / f"{name}.md" for name in ("grpo", "model")]
"""Those that need extras; `test_packaging.py` walks the others in a fresh environment."""


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_works_word_for_word(page, tmp_path, starter_endpoint):
    walk(page, tmp_path, replaced=(ENDPOINT, starter_endpoint.url))
