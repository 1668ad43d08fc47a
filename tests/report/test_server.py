"""`code-env view`: a page on loopback that follows its files, and `code-env watch`."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest

from cli.command_line import run
from code_env import StdinTest, Task, TaskSuite
from code_env.errors import ServingError
from code_env.evaluation import Sample
from code_env.serving.sockets import listening_socket
from report.conftest import rows_of, write_rows

SUITE = TaskSuite("prints", [Task(f"task {number}", "Print 1.", (StdinTest("", "1"),)) for number in range(6)])
SAMPLES = [Sample(task.id, f"print({number % 2})") for number, task in enumerate(SUITE)]


@pytest.fixture(scope="module")
def rows(executor):
    return rows_of(SUITE, SAMPLES, executor)


def append(path, rows):
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


@contextmanager
def viewed(*files):
    """The address of a page that another process serves, until it is interrupted as in a terminal."""
    command = [sys.executable, "-m", "code_env.cli", "view", "--no-browser", *map(str, files)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        yield process.stdout.readline().split()[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode in (0, 130)


def test_a_page_follows_a_file_that_grows(rows, tmp_path, open_page):
    path = write_rows(tmp_path / "r.jsonl", rows[:2])
    with viewed(path) as address:
        page = open_page(address)
        assert page.locator("#count").inner_text() == "2 of 2 samples"
        append(path, rows[2:5])
        page.wait_for_selector("#count:text-is('5 of 5 samples')")
        assert "2 (40.0 %)" in page.locator("#detail").inner_text()
        page.locator("#list [role=option]").nth(4).click()
        page.wait_for_selector("h2:text-is('task 4')")
        assert "line 1: expected '1', got '0'" in page.locator("#detail").inner_text()
        append(path, rows[5:])
        page.wait_for_selector("#count:text-is('6 of 6 samples')")
        assert page.locator("h2:text-is('task 4')").count() == 1
        write_rows(tmp_path / "other", rows[:1]).replace(path)
        page.wait_for_selector("#count:text-is('1 of 1 sample')")
        page.close()  # It asks for news again and again, and would complain of a server that has ended.


def test_other_sites_cannot_read_it(rows, tmp_path):
    with viewed(write_rows(tmp_path / "r.jsonl", rows)) as address:
        for path in ("", "news?after=0"):
            for host in ("127.0.0.1", "localhost"):
                with urllib.request.urlopen(urllib.request.Request(address + path, headers={"Host": host})) as answer:
                    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            with pytest.raises(urllib.error.HTTPError, match="400") as refused:
                urllib.request.urlopen(urllib.request.Request(address + path, headers={"Host": "attacker.example"}))
            refused.value.close()


def test_a_malformed_line_is_told_and_what_was_there_stays(rows, tmp_path, browser):
    path = write_rows(tmp_path / "r.jsonl", rows[:2])
    with viewed(path) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        path.write_text(path.read_text() + "nothing\n")
        page.wait_for_selector("#count:has-text('r.jsonl:3')")
        assert page.locator("#list [role=option]").count() == 2
        context.close()


def test_a_port_in_use_is_told():
    with listening_socket() as taken:
        taken.listen()
        with pytest.raises(ServingError, match="in use; name another address or port"):
            listening_socket(port=taken.getsockname()[1])


def test_figures_in_the_terminal(rows, tmp_path):
    path = write_rows(tmp_path / "r.jsonl", rows)
    shown = run("watch", "--once", path, cwd=tmp_path)
    assert "samples: 3 fail, 3 pass" in shown
    assert "programs: 6 ok (ended by itself)" in shown
    assert "0 of 6" in shown
    assert "pass@1" in shown
    assert "expected '1', got '0'" in shown


def test_the_terminal_shows_the_first_line_of_a_message_as_wide_as_there_is_room(rows, tmp_path, monkeypatch):
    reason = " ".join(f"word{number}" for number in range(40))
    path = write_rows(tmp_path / "r.jsonl", [rows[0] | {"message": f"{reason}\nthe second line"}])
    for columns in (60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        shown = run("watch", "--once", path, cwd=tmp_path)
        words = re.findall(r"word\d+", shown)
        assert len(words) > 35
        assert words == reason.split()[: len(words)]
        assert "second" not in shown


def test_the_last_that_did_not_pass_are_named_by_their_numbers(rows, tmp_path):
    path = write_rows(tmp_path / "r.jsonl", rows)
    why = "line 1: expected '1', got '0'"
    told = [
        {"run": "r.jsonl", "number": number, "task": f"task {number}", "outcome": "fail", "message": why}
        for number in (0, 2, 4)
    ]
    for last in (0, 1, 3):
        answer = json.loads(run("watch", "--json", "--last", last, path, cwd=tmp_path))
        assert answer["failed"] == told[3 - last :]
        assert answer["runs"][0]["items"] == 6
    shown = run("watch", "--once", "--last", 2, path, cwd=tmp_path)
    assert "│ 4      │ task 4" in shown
    assert "task 0" not in shown
    assert "did not pass" not in run("watch", "--once", "--last", 0, path, cwd=tmp_path)
    assert "│ r.jsonl │ 4      │ task 4" in run("watch", "--once", path, path, cwd=tmp_path)


def test_one_task_has_no_interval(rows, tmp_path):
    shown = run("watch", "--once", write_rows(tmp_path / "r.jsonl", rows[:1]), cwd=tmp_path)
    assert "0.000 (-)" in shown


def test_figures_in_the_terminal_follow_the_file(rows, tmp_path):
    path = write_rows(tmp_path / "r.jsonl", rows[:1])
    command = [sys.executable, "-m", "code_env.cli", "watch", str(path)]
    terminal = {**os.environ, "FORCE_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=terminal)
    assert any("1 fail" in line for line in process.stdout)
    append(path, rows[1:])
    assert any("3 fail, 3 pass" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130


def test_a_report_is_written_by_one_command(rows, tmp_path):
    path = write_rows(tmp_path / "r.jsonl", rows)
    assert run("report", path, cwd=tmp_path) == "6 samples in report.html: open it in a browser\n"
    first = (tmp_path / "report.html").read_bytes()
    assert json.loads(run("report", path, "--json", cwd=tmp_path)) == {"samples": 6, "page": "report.html"}
    assert (tmp_path / "report.html").read_bytes() == first
    assert "r.jsonl cannot" not in run("report", "none.jsonl", cwd=tmp_path, code=2)
    refused = run("report", path, "-o", "/dev/null", cwd=tmp_path, code=2)
    assert "/dev/null is no regular file; give another path" in " ".join(refused.split())
    full = run("report", path, "-o", "/dev/full/page", cwd=tmp_path, code=2)
    assert "cannot be written" in full
