"""The pictures of the documents are made here: with CODE_ENV_PICTURES=1 they are written anew."""

import os
import struct

import pytest

from support import ROOT

pytestmark = pytest.mark.shared_data


def size_of(png):
    """The width and height of a PNG, from its header."""
    return struct.unpack(">II", png[16:24])


def test_the_picture_of_a_report(open_page, report, tmp_path):
    page = open_page(report, "#overview", viewport={"width": 1280, "height": 860})
    page.select_option("#run", "1")
    page.select_option("#outcome", "fail")
    page.locator("#list [role=option]:has-text('left is')").nth(2).click()
    page.wait_for_selector(".case")
    picture = page.screenshot()
    path = ROOT / "docs" / "report.png"
    if os.environ.get("CODE_ENV_PICTURES"):
        path.write_bytes(picture)
    assert size_of(path.read_bytes()) == size_of(picture) == (1280, 860)
