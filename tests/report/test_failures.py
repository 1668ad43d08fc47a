"""How the page shows why answers failed: answers without code, crashes, and runs of one task."""

import gymnasium as gym
import pytest
from axe_playwright_python.sync_playwright import Axe

from code_env import CallTest, Task, TaskSuite
from code_env.evaluation import Sample
from code_env.report import write_report
from code_env.rollout import collect
from report.conftest import rows_of, write_rows

LONG = tuple(range(60))
TESTS = (*(CallTest((number,), expected=number) for number in range(10)), CallTest((LONG,), expected=LONG))
TASK = Task("digits", "Write digits(n).", TESTS, entry_point="digits")
CRASH, BLANK = "def digits(n):\n    return [][n]", ""


@pytest.fixture(scope="module")
def page_path(executor, tmp_path_factory):
    folder = tmp_path_factory.mktemp("failures")
    suite = TaskSuite("digits", [TASK])
    rows = rows_of(suite, [Sample("digits", code) for code in (CRASH, BLANK, BLANK)], executor)
    write_report([write_rows(folder / "r.jsonl", rows)], folder / "page.html")
    return folder / "page.html"


@pytest.fixture(scope="module")
def trajectories_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trajectories")
    env = gym.make_vec("CodeExec-v0", num_envs=1, suite=TaskSuite("digits", [TASK]))
    collect(env, lambda prompts, infos: [CRASH] * len(prompts), 3, folder / "e.jsonl")
    env.close()
    write_report([folder / "e.jsonl"], folder / "page.html")
    return folder / "page.html"


def detail(page):
    return page.locator("#detail").inner_text()


def test_an_answer_without_code_says_so_once(page_path, open_page):
    page = open_page(page_path, "#item-1")
    assert detail(page).count("NoProgram: the answer holds no code") == 1
    assert page.locator(".case").count() == 0


def test_a_crashed_case_shows_its_call_and_that_nothing_came_back(page_path, open_page):
    page = open_page(page_path, "#item-0")
    first, last = page.locator(".case").first, page.locator(".case").last
    assert "digits(0) gives 0" in first.locator("h4").inner_text()
    assert "Nothing came back. Expected:" in first.inner_text()
    assert "IndexError: list index out of range (line 2 of the program)" in first.inner_text()
    assert first.locator("table.diff, details").count() == 0
    assert "gives" not in last.locator("h4").inner_text()
    assert last.locator("details").get_attribute("open") is None
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_one_task_has_no_interval_and_one_episode_is_no_stretch(page_path, trajectories_page, open_page):
    page = open_page(page_path)
    assert page.locator("[aria-label='pass@k'] td").all_inner_texts()[:3] == ["1", "0.0000", "-"]
    page = open_page(trajectories_page)
    page.click("text=as figures")
    assert page.locator("[aria-label='reward over the run'] td:first-child").all_inner_texts() == ["0", "1", "2"]


def test_limits_are_told_of_each_test(page_path, open_page):
    assert "5 s of CPU time of each test" in detail(open_page(page_path, "#item-0"))


def test_a_reason_of_failures_is_a_filter(page_path, open_page):
    page = open_page(page_path)
    page.click("#detail >> text=NoProgram: the answer holds no code")
    assert page.locator("#count").inner_text() == "2 of 3 samples"
    assert "only message NoProgram" in page.locator("#only").inner_text()
    page.click("#only >> text=show all")
    assert page.locator("#count").inner_text() == "3 of 3 samples"
