import builtins
import json

import pytest

from code_env import CallTest, Limits, OutputTest, StdinTest, Task, TaskError, TaskSuite, load_suite
from code_env.tasks.formats import FORMATS, verl
from code_env.tasks.trainer_rows import task_from_text

SECRET = "expected-and-never-shown"
SUITE = TaskSuite(
    "few",
    [
        Task("a", "Print it.", (OutputTest(SECRET),), reference=f"print({SECRET!r})", limits=Limits(cpu_s=2)),
        Task("b", "f?", (CallTest((1, {2, 3}), {}, (b"x", SECRET)),), entry_point="f", files={"x": b"\xff"}),
        Task("c", "```python\nprint(1)\n```", (StdinTest("1", SECRET, hidden=True),), metadata={"source": ["here"]}),
    ],
)
CARRIED = {
    "trl": lambda row: row["task"],
    "verl": lambda row: row["reward_model"]["ground_truth"],
    "openrlhf": lambda row: row["label"],
    "skyrl": lambda row: row["reward_spec"]["ground_truth"],
    "nemo_gym": lambda row: row["verifier_metadata"]["task"],
}


@pytest.mark.parametrize("format", CARRIED)
def test_a_row_carries_its_task(format):
    rows = SUITE.to_rows(format)
    assert [task_from_text(CARRIED[format](row)) for row in rows] == list(SUITE)
    assert json.loads(json.dumps(rows)) == rows


@pytest.mark.parametrize(
    ("format", "key"), [("trl", "prompt"), ("verl", "prompt"), ("skyrl", "prompt"), ("openrlhf", "input")]
)
def test_what_is_hidden_is_not_in_the_prompt(format, key):
    for chat in (None, True) if format in ("verl", "skyrl") else (None, True, False):
        rows = SUITE.to_rows(format, chat=chat)
        assert SECRET not in json.dumps([row[key] for row in rows])
        texts = [row[key] if isinstance(row[key], str) else row[key][0]["content"] for row in rows]
        assert texts == [task.prompt for task in SUITE]


def test_the_fields_of_each_trainer():
    assert SUITE.to_rows("trl")[0].keys() == {"prompt", "task_id", "task"}
    assert SUITE.to_rows("trl")[0]["prompt"] == [{"role": "user", "content": "Print it."}]
    assert SUITE.to_rows("trl", chat=False)[0]["prompt"] == "Print it."
    assert SUITE.to_rows("openrlhf")[0]["input"] == "Print it."
    assert SUITE.to_rows("openrlhf", chat=True)[0]["input"] == [{"role": "user", "content": "Print it."}]
    row = SUITE.to_rows("verl", split="test")[1]
    assert row.keys() == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    assert (row["data_source"], row["ability"], row["reward_model"]["style"]) == ("few", "code", "rule")
    assert row["extra_info"] == {"split": "test", "index": 1, "task_id": "b"}


def test_rows_for_verl_are_a_suite_again(tmp_path):
    assert all(
        verl.is_row(row) and FORMATS["verl"].read(row) == task
        for row, task in zip(SUITE.to_rows("verl"), SUITE, strict=True)
    )
    path = tmp_path / "few.jsonl"
    path.write_text("\n".join(map(json.dumps, SUITE.to_rows("verl"))))
    assert load_suite(path) == SUITE


@pytest.mark.parametrize("format", CARRIED)
def test_a_dataset_holds_the_same_rows(format):
    pytest.importorskip("datasets")
    assert SUITE.to_dataset(format).to_list() == SUITE.to_rows(format)


def test_without_datasets_the_message_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "datasets":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"install code-exec-env\[trl\] or code-exec-env\[hf\], or take to_rows"):
        SUITE.to_dataset()


def test_the_same_text_is_the_same_task():
    text = SUITE.to_rows()[0]["task"]
    assert task_from_text(text) is task_from_text("".join(text))


@pytest.mark.parametrize("text", ["", "x", "[1]", "{}", '{"inputs": []}', "1"])
def test_what_is_no_task_is_refused(text):
    with pytest.raises(TaskError, match="JSON text was expected"):
        task_from_text(text)


def test_arguments_are_checked():
    with pytest.raises(TaskError, match="format must be one of trl, verl, openrlhf, skyrl, nemo_gym; got 'tlr'"):
        SUITE.to_rows("tlr")
    for format in ("verl", "skyrl", "nemo_gym"):
        with pytest.raises(TaskError, match=f"{format} makes prompts of messages"):
            SUITE.to_rows(format, chat=False)
    suite = TaskSuite("odd", [Task("x", "f?", (CallTest((range(3),), {}, 1),), entry_point="f")])
    with pytest.raises(TaskError, match=r"task 'x': tests\[0\]: args"):
        suite.to_rows()
