"""The comparison of graders works at a reduced size, without the packages of others; its figures need them.

`exit-code` is a grader in the driver that needs no package, so that it stands for those that do.
"""

import json
import re
import subprocess
import sys

import pytest

from support import PATIENCE_S, ROOT

GRADERS = ROOT / "benchmarks" / "graders"


def run(*arguments):
    # In a process of its own, because modules of `benchmarks/` have names that tests have too.
    command = [sys.executable, "-W", "error", str(GRADERS), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def table(page, section):
    """A table of the page: its rows by their first cell, each by grader."""
    text = page[page.index(f"## {section}") :]
    head, _, *rows = [line.strip("| ").split(" | ") for line in re.search(r"(?m)(^\|.*\n)+", text)[0].splitlines()]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def shares(cells):
    """Cells such as `2 of 3`, without those that no program is in."""
    return {name: tuple(map(int, cell.split(" of "))) for name, cell in cells.items() if cell != "-"}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The page of two graders on one program of each kind, and the file with each verdict."""
    page, results = (tmp_path_factory.mktemp("graders") / name for name in ("page.md", "results.jsonl"))
    run(
        *("compare", "--only", "exit-code,code_env", "--most", 1, "--no-busy", "--workers", 2),
        *("--results", results, "--write", page),
    )
    return page, results


def test_ours_awards_no_attack_and_refuses_no_right_program(compared):
    page = compared[0].read_text()
    awarded = {kind: shares(cells) for kind, cells in table(page, "Attacks awarded").items()}
    refused = {kind: shares(cells) for kind, cells in table(page, "Right programs refused").items()}
    assert {"exits", "patches", "lying values", "plain wrong answers"} <= set(awarded)
    assert {"idioms: reading", "beside attacks: call tests"} <= set(refused)
    assert {cells["`code_env`"] for cells in (*awarded.values(), *refused.values())} >= {(0, 1)}
    assert all(cells["`code_env`"][0] == 0 for cells in (*awarded.values(), *refused.values()))
    assert awarded["lying values"]["`exit-code`"] == (1, 1)
    assert awarded["plain wrong answers"]["`exit-code`"] == (0, 1)


def test_a_step_whose_verdicts_are_kept_is_not_run_again(compared):
    _, results = compared
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    steps = {(grader, phase) for grader in ("exit-code", "code_env") for phase in ("attacks", "idle")}
    assert {(row["grader"], row["phase"]) for row in rows} == steps
    turned = [row | {"passed": True} if row.get("passed") is False else row for row in rows]
    results.write_text("".join(json.dumps(row) + "\n" for row in turned))
    again = run("compare", "--only", "exit-code", "--most", 1, "--no-busy", "--results", results)
    count, of = shares(table(again, "Attacks awarded")["**all attacks**"])["`exit-code`"]
    assert count == of > 10


def test_a_disagreement_is_shown():
    told = run("show", "exit-code", "lying int under assert HE")
    assert "class E(int):" in told
    assert "assert candidate(1, 2) == 3" in told
    assert told.endswith("exit-code: passes\ncode_env: does not pass (fail)\n")


DRIVER = """
import sys
sys.path.insert(0, {graders!r})
import driver

def judge(request):
    context = {{}}
    exec(request["code"], context)
    return context["passed"]

driver.GRADERS["tiny"] = judge
driver.main()
"""

ASKING = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from driven import Driven

grader = Driven("tiny", sys.executable, Path(sys.argv[2]))
for code in json.loads(sys.argv[3]):
    mark = grader.mark({"form": "none", "code": code})
    print(json.dumps([mark.passed, mark.said]))
grader.close()
"""

FORK = """
import os
if os.fork() == 0:
    os._exit = os.getpid = lambda *given: 0
    {child}
os.wait()
passed = {passed}
"""
ANSWERS = {
    "passed = True": (True, ""),
    "passed = False": (False, ""),
    "1 / 0": (None, "ZeroDivisionError: division by zero"),
    "raise SystemExit(0)": (None, "SystemExit: 0"),
    "import os\nos.kill(os.getpid(), 9)": (None, "the grader ended with -9"),
    "import os\nos._exit(0)": (None, "the grader ended with 0"),
    # A forked copy of the grader that goes on, raises or writes everywhere has no say.
    FORK.format(child="passed = True; raise ValueError", passed=False): (False, ""),
    FORK.format(child="[os.write(fd, b'x') for fd in range(3)]; raise SystemExit", passed=True): (True, ""),
    "import os\nos.closerange(3, 100)\npassed = True": (True, ""),
    "passed = 'still asked after all that'": (True, ""),
}


def test_a_grader_is_asked_whatever_programs_do_to_its_process(tmp_path):
    driver = tmp_path / "driver_script.py"
    driver.write_text(DRIVER.format(graders=str(GRADERS)))
    command = [sys.executable, "-c", ASKING, str(GRADERS), str(driver), json.dumps([*ANSWERS])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    told = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert dict(zip(ANSWERS, told, strict=True)) == ANSWERS


def test_what_is_asked_for_and_is_not_there_is_named():
    command = [sys.executable, str(GRADERS), "show", "exit-code", "lying int"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env={"COLUMNS": "300"})
    assert done.returncode == 2
    assert "lying int under assert HE" in done.stderr
