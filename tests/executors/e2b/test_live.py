"""The cloud itself. Costs a few seconds of some sandboxes; runs where there is a key."""

import pytest

from code_env import AssertTest, Limits, Program, Status, Task, judge, make_executor

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def live():
    with make_executor("e2b", max_concurrency=4) as executor:
        yield executor
        assert executor.sweep() == 0


def test_programs_run_there(live):
    results = live.run_many(
        [
            Program("print(input()[::-1])", stdin="abc"),
            Program("while True: pass", limits=Limits(cpu_s=1, wall_s=5)),
            Program("console.log(6 * 7)", "javascript"),
        ]
    )
    assert [(result.status, result.stdout) for result in results] == [
        (Status.OK, "cba\n"),
        (Status.TIMEOUT, ""),
        (Status.OK, "42\n"),
    ]


def test_answers_are_judged_there(live):
    suite = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-3) == -6\n"
    task = Task("t", "", (AssertTest(suite),), entry_point="double")
    assert judge(task, "def double(x): return 2 * x", live).passed
    assert judge(task, "def double(x): return 4", live).fraction == 0.5


def test_notebooks_run_there(live):
    result = live.run(Program("x = 6\nx * 7", notebook=True, cells=("x",)))
    assert (result.status, result.results) == (Status.OK, ({"text/plain": "42"},))
    assert result.cells[0].text == "6"


def test_the_network_is_off(live):
    code = "import urllib.request\nurllib.request.urlopen('https://example.com', timeout=5)"
    assert live.run(Program(code)).status is Status.ERROR
