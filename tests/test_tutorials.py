"""Every tutorial works as it is written, for somebody who begins in an empty folder."""

import pytest

from code_env import load_suite
from models.chat_endpoint import Endpoint
from support import ROOT
from test_examples import ENDPOINT
from walking import walk

TUTORIALS = [ROOT / "docs" / "tutorials" / f"{name}.md" for name in ("grpo", "model")]
"""Those that need extras; `test_packaging.py` walks the others in a fresh environment."""


@pytest.fixture
def endpoint():
    with Endpoint() as server:
        server.know(load_suite("starter"))
        yield server
        server.shutdown()


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_works_word_for_word(page, tmp_path, endpoint):
    walk(page, tmp_path, replaced=(ENDPOINT, endpoint.url))
