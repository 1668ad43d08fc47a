"""Verdicts over HTTP: the same as here, and each says whether it is valid."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from code_env import judge, load_suite
from code_env.judging.rows import verdict_row
from code_env.tasks import row_from_task
from serving.server_process import served
from support import wait_until

TASK = {"id": "a", "prompt": "", "tests": [{"kind": "output", "expected": ""}]}
TIMES = ("cpu_s", "peak_memory_bytes", "timing")


def without_times(row):
    return {
        name: [without_times(one) for one in value] if name == "failed_cases" else value
        for name, value in row.items()
        if name not in TIMES
    }


@pytest.fixture(scope="module")
def suite():
    return load_suite("starter")[:6]


def test_verdicts_are_those_of_the_library(server, suite, executor):
    for task in suite:
        answers = [task.reference, "x = 1"]
        status, told = server.post("/judge", {"task": row_from_task(task), "answers": answers})
        assert status == 200
        assert [one.pop("valid") for one in told["verdicts"]] == [True, True]
        assert [one.pop("task_id") for one in told["verdicts"]] == [task.id, task.id]
        expected = [verdict_row(task, judge(task, answer, executor)) for answer in answers]
        assert [without_times(one) for one in told["verdicts"]] == [without_times(one) for one in expected]


def test_rewards_are_those_of_an_environment(server, suite):
    request = {"task": row_from_task(suite[0]), "answers": [suite[0].reference, ""]}
    _, told = server.post("/judge", request | {"rewards": {"tests": 1.0, "execution": 0.5}})
    assert [one["reward"] for one in told["verdicts"]] == [1.5, 0.0]
    assert told["verdicts"][0]["reward_terms"] == {"tests": 1.0, "execution": 0.5}


@pytest.mark.parametrize("more", [{}, {"rewards": {"tests": 1.0}}])
def test_an_answer_that_is_no_unicode_takes_no_other_with_it(server, more):
    task = {"id": "a", "prompt": "", "tests": [{"kind": "output", "expected": "1"}]}
    answers = ["print(1)", "print(1)  # \ud800", "print(1, '\udfff')"]
    status, told = server.post("/judge", {"task": task, "answers": answers, **more})
    assert status == 200, told
    assert [one["outcome"] for one in told["verdicts"]][:1] == ["pass"]
    assert "\udfff" in told["verdicts"][2]["code"]


def test_answers_with_rewards_wait_and_end_as_all_others_do():
    """They are counted; those of a client that is gone are ended; a server that ends waits for the others."""
    loops = {
        "task": TASK | {"limits": {"cpu_s": 600, "wall_s": 600}},
        "answers": [f"while True: pass  # {n}" for n in range(4)],
    }
    with served("--workers", 2, "--grace", 100) as server, ThreadPoolExecutor(1) as threads:
        figures = lambda: server.send("GET", "/metrics")[1]  # noqa: E731
        server.post("/judge", {"task": TASK, "answers": ["print(1)"] * 3, "rewards": {"tests": 1.0}})
        assert 'code_env_verdicts_total{outcome="fail"} 3.0' in figures()
        for more in ({}, {"rewards": {"tests": 1.0}}):
            connection = server.connection()
            connection.request("POST", "/judge", json.dumps(loops | more))
            wait_until(lambda: "code_env_running 4.0" in figures())
            connection.close()
            wait_until(lambda: "code_env_running 0.0" in figures())
        waits = {"task": TASK, "answers": ["import time; time.sleep(3)"], "rewards": {"tests": 1.0}}
        waiting = threads.submit(server.post, "/judge", waits)
        wait_until(lambda: "code_env_running 1.0" in figures())
        assert server.stop() == 0
        status, told = waiting.result()
        assert (status, told["verdicts"][0]["reward"]) == (200, 1.0)
        assert "Traceback" not in server.said


def test_a_task_is_uploaded_once(server, suite):
    row = json.dumps(row_from_task(suite[1])).encode()
    digest = hashlib.sha256(row).hexdigest()
    request = {"task_digest": digest, "answers": [suite[1].reference]}
    status, told = server.post("/judge", request)
    assert (status, told["error"]) == (404, f"no task has the digest {digest!r}; upload it with PUT /tasks/DIGEST")
    assert server.send("PUT", f"/tasks/{'0' * 64}", row)[0] == 422
    for _ in range(2):
        assert server.send("PUT", f"/tasks/{digest}", row)[0] == 204
    assert server.post("/judge", request)[1]["verdicts"][0]["passed"] is True


def test_a_batch_gives_a_line_for_each_answer(server, suite):
    items = [{"task": row_from_task(task), "answer": task.reference} for task in suite]
    items += [{"task": row_from_task(suite[0]), "answer": "", "limits": {"cpu_s": 1}}]
    lines = server.lines("/judge_batch", {"items": items})
    assert {line["number"]: line["verdict"]["passed"] for line in lines} == dict.fromkeys(range(6), True) | {6: False}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"answers": []}, "give either `task`"),
        ({"task": 3, "answers": []}, "the row of a task is an object; got int"),
        ({"task": {"id": "a"}, "answers": []}, "the row of a task was expected: "),
        ({"task": TASK, "answers": "x"}, "answers must be a list of texts; got str"),
        ({"task": TASK}, "answers is missing: a list of texts was expected"),
        ({"task": TASK, "answers": ["", 3]}, "answers must be a list of texts; number 1 is int"),
    ],
)
def test_a_malformed_request_is_refused(server, request_, words):
    status, told = server.post("/judge", request_)
    assert status == 422
    assert words in told["error"]


def test_wrong_rewards_and_limits_are_named(server, suite):
    request = {"task": row_from_task(suite[0]), "answers": [""]}
    status, told = server.post("/judge", request | {"rewards": {"test": 1}})
    assert status == 422
    assert "did you mean 'tests'?" in told["error"]
    status, told = server.post("/judge", request | {"limits": {"cpu": 1}})
    assert status == 422
    assert "did you mean 'cpu_s'?" in told["error"]


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/judge", 405, "Method Not Allowed: GET /judge; GET / lists all requests"),
        ("POST", "/jugde", 404, "Not Found: POST /jugde; GET / lists all requests"),
    ],
)
def test_what_is_not_served_is_told_as_json(server, method, path, status, words):
    assert server.send(method, path) == (status, {"error": words})


def test_a_task_of_a_request_has_no_image(server):
    """Its path could be any directory of the server."""
    status, told = server.post("/judge", {"task": TASK | {"image": "/etc"}, "answers": ["x"]})
    assert (status, "has no image" in told["error"]) == (422, True), told
