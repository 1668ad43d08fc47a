"""Programs that are run as notebooks: values, figures, cells, and what a program may do to all that."""

import struct
import zlib

import pytest

from code_env import CellResult, Limits, Program, Status, TaskError
from code_env.executors.child_report import read_report
from tiers import sample

PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\n"


def images(result):
    return [shown["image/png"] for shown in result.results if "image/png" in shown]


def size_of(png):
    """Width and height of an image, whose every part is as its checksum says."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place, kinds = 8, []
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        kind, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack_from(">I", png, place + 8 + length)
        assert zlib.crc32(kind + data) == checksum
        kinds.append(kind)
        place += 12 + length
    assert kinds[-1] == b"IEND"
    return struct.unpack_from(">II", png, 16)


FIGURES = {
    "shown": (PLOT + "plt.show()", 1),
    "never shown": (PLOT, 1),
    "shown and closed": (PLOT + "plt.show()\nplt.close('all')", 1),
    "several": (PLOT + "plt.show()\nfor _ in range(2): plt.figure()", 3),
    "with another backend": ("import matplotlib\nmatplotlib.use('Agg')\n" + PLOT, 1),
    "imported otherwise": ("from matplotlib import pyplot\npyplot.hist([1, 2])\npyplot.show()", 1),
    "saved to a file too": (PLOT + "plt.savefig('plot.png')", 1),
    "before an exit": (PLOT + "raise SystemExit", 1),
    "closed and not shown": (PLOT + "plt.close()", 0),
    "only imported": ("import matplotlib.pyplot", 0),
}


def test_figures_come_back_as_images(everywhere):
    """All at the best level, and a part elsewhere: what collects them is the same."""
    names = FIGURES if everywhere.describe().level == "full" else sample(FIGURES, 4)
    programs = [Program(FIGURES[name][0], notebook=True, limits=Limits(cpu_s=20)) for name in names]
    results = dict(zip(names, everywhere.run_many(programs), strict=True))
    assert {name: result for name, result in results.items() if result.status is not Status.OK} == {}
    found = {name: images(result) for name, result in results.items()}
    assert {name: len(pngs) for name, pngs in found.items()} == {name: FIGURES[name][1] for name in names}
    assert all(min(size_of(png)) > 100 for pngs in found.values() for png in pngs)


def test_pandas_shows_as_a_notebook_would(everywhere):
    code = "import pandas as pd\ndf = pd.read_csv('dataset.csv')\ndf.price.mean()"
    result = everywhere.run(Program(code, notebook=True, files={"dataset.csv": b"price\n1\n2\n"}))
    assert [shown["text/plain"] for shown in result.results] in (["1.5"], ["np.float64(1.5)"]), result


RICH = """
class Rich:
    def __init__(self, html): self.html = html
    def __repr__(self): return "seven"
    def _repr_html_(self): return self.html() if callable(self.html) else self.html
"""


def test_a_value_with_html_shows_it_too(everywhere):
    cells = ("Rich('<b>7</b>')", "Rich(None)", "Rich(lambda: 1 / 0)", "Rich('7' * 100_000)", "Rich")
    result = everywhere.run(Program(RICH, notebook=True, cells=cells))
    assert result.cells[0].results == ({"text/plain": "seven", "text/html": "<b>7</b>"},)
    assert [cell.results for cell in result.cells[1:4]] == [({"text/plain": "seven"},)] * 3
    assert [list(shown) for shown in result.cells[4].results] == [["text/plain"]]
    assert {cell.error for cell in result.cells} == {None}


def test_what_a_cell_prints_is_told_apart(everywhere):
    program = Program(
        "print('program')",
        notebook=True,
        cells=("print('a')", "import os\nos.system('true')\nos.write(1, b'b')", "print('x' * 300000)", "print('c')"),
    )
    result = everywhere.run(program)
    assert [cell.stdout for cell in result.cells][::3] == ["a\n", "c\n"]
    assert result.cells[1].stdout == "b"
    assert len(result.cells[2].stdout) < 140_000
    assert "characters left out" in result.cells[2].stdout or "bytes left out" in result.cells[2].stdout
    assert result.stdout.startswith("program\na\nb")
    assert result.stdout.endswith("c\n")


@pytest.mark.parametrize(
    "code",
    {
        "huge value": "'x' * 10**7",
        "value whose text cannot be had": "class C:\n    def __repr__(self): raise ValueError\nC()",
        "value whose text is no text": "class C:\n    def __repr__(self): return 5\nC()",
        "endless records": "import os\nfor fd in list(range(3, 30)) * 99:\n"
        "    try: os.write(fd, b'{\"cell\": 1}\\n' * 1000)\n    except OSError: pass",
        "malformed records": 'import os\nfor fd in range(3, 30):\n    try: os.write(fd, b\'{"cell": 0, "results": 5}\\n'
        '[\\n{"cell": 1, "results": [{"image/png": "="}, 7], "stdout": 4, "error": 3}\\n\\xff\\n\')\n'
        "    except OSError: pass",
        "closed descriptors": "import os\nos.closerange(3, 100)",
        "replaced modules": "import sys\nsys.modules.clear()",
        "replaced output": "import sys\nsys.stdout = None",
        "its directory is gone": "import os, shutil\nd = os.getcwd()\nos.chdir('/')\nshutil.rmtree(d, True)",
    }.values(),
)
def test_whatever_a_program_does_there_is_a_result(everywhere, code):
    result = everywhere.run(Program(code, notebook=True, cells=("1", "2"), limits=Limits(cpu_s=20)))
    assert result.status in (Status.OK, Status.ERROR), result
    assert all(isinstance(cell, CellResult) and len(cell.text) < 140_000 for cell in result.cells)
    assert sum(len(str(shown)) for shown in result.results) < 1 << 20
    after = everywhere.run(Program("5", notebook=True, cells=("6",)))
    assert (after.results, [cell.text for cell in after.cells]) == (({"text/plain": "5"},), ["6"])


@pytest.mark.parametrize(
    "code",
    {
        "chain of calls": "class Q:\n    def a(self): return self\nq = Q()" + ".a()" * 700,
        "sum of many": "x = " + " + ".join(["'a'"] * 990),
        "last expression": " + ".join(["1"] * 2000),
    }.values(),
)
def test_what_runs_as_a_program_runs_as_a_notebook(executor, code):
    assert executor.run(Program(code)).status is Status.OK
    assert executor.run(Program(code, notebook=True)).status is Status.OK


def test_texts_hold_characters_only(everywhere):
    code = "class A:\n    def __repr__(self): return '\\ud800x'\nA()"
    result = everywhere.run(Program(code, notebook=True, cells=("A()", "raise ValueError('\\ud800')")))
    texts = [result.results[0]["text/plain"], result.cells[0].text, result.cells[1].error.message]
    assert [text.encode().decode() for text in texts] == texts == ["?x", "?x", "?"]


def test_a_cell_that_does_not_end_keeps_what_came_before(everywhere):
    program = Program("1", notebook=True, cells=("2", "while True: pass", "3"), limits=Limits(cpu_s=0.5))
    result = everywhere.run(program)
    assert (result.status, [cell.text for cell in result.cells]) == (Status.TIMEOUT, ["2"])
    assert result.results == ({"text/plain": "1"},)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cells": ("1",)}, "notebook=True"),
        ({"notebook": True, "cells": "1"}, "cells must be a tuple of texts; got '1'"),
        ({"notebook": True, "cells": (1,)}, "cells must be a tuple of texts"),
        ({"notebook": True, "peer": Program("")}, "a program with a peer is no notebook"),
    ],
)
def test_what_does_not_go_together_is_refused(fields, message):
    with pytest.raises(TaskError, match=message):
        Program("1", **fields)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (CellResult(), ""),
        (CellResult(stdout=" \n"), " \n"),
        (CellResult(stdout=" \n", variable="5"), "5"),
        (CellResult(stdout="a\n", variable="5"), "a\n"),
        (CellResult(({"text/plain": "1"}, {"image/png": b""}, {"text/plain": "2"}), "a\n", None, "5"), "2"),
    ],
)
def test_what_stands_for_what_a_cell_gave(cell, text):
    assert cell.text == text


def test_a_report_is_read_as_far_as_it_has_the_right_shape():
    lines = ["{}", '{"cell": 0, "results": [{"text/plain": "1"}, {"text/plain": 2}]}', "{", "5", '{"cell": 2}']
    report = read_report("\n".join(lines), cells=2)
    assert report.started
    assert (report.results, report.cells) == (({"text/plain": "1"},), ())
    assert not read_report("").started
