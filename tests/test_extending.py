"""The worked examples of docs/extending.md: each diff is applied to a copy of the package, and what it adds is used."""

import re
import shutil
import subprocess
import sys

import pytest

from support import PATIENCE_S, ROOT

TEXT = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = {
    title: re.findall(r"^```diff\n(.*?)^```$", section, re.M | re.S)
    for title, section in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
}

MOST_FILES = {
    "A reward": 3,
    "An option of the environments": 2,
    "A kind of test": 4,
    "A format": 2,
    "A language": 1,
}
"""How many files of the package each example may touch, at the most."""

USES = {
    "A reward": """
import gymnasium as gym
from code_env.wrappers import vector

loud = "import sys; sys.stderr.write('hello')\\n"
for rewards, expected in (({"quiet": 0.5}, 0.5), ({}, 0.0)):
    env = gym.make("code_env:CodeExec-v0", rewards=rewards)
    assert ("QuietReward" in str(env)) is bool(rewards)
    _, info = env.reset(options={"task_id": "starter/xor-seal"})
    reference = env.unwrapped.suite.task("starter/xor-seal").reference
    assert env.step(reference)[1] == expected
    env.close()
envs = gym.make_vec("code_env:CodeExec-v0", num_envs=2, rewards={"quiet": 0.5})
envs.reset(options={"task_id": "starter/xor-seal"})
assert isinstance(envs, vector.QuietReward)
assert list(envs.step((reference, loud + reference))[1]) == [0.5, 0.0]
envs.close()
""",
    "An option of the environments": """
import gymnasium as gym

env = gym.make("code_env:CodeRepair-v0", feedback_chars=100)
prompt, _ = env.reset(seed=0)
observation = env.step("raise ValueError('x' * 500)")[0]
assert len(observation) < len(prompt) + 300, observation
env.close()
try:
    gym.make("code_env:CodeExec-v0", feedback_char=100)
except TypeError as error:
    assert "did you mean 'feedback_chars'" in str(error)
""",
    "A kind of test": """
from code_env import ExitTest, Task, judge, load_suite, make_executor, row_from_task

task = Task("strict", "Exit with 2 unless the input is a number.", (ExitTest("x", 2), ExitTest("3", 0)))
assert load_suite([row_from_task(task)])[0] == task
answers = {
    "import sys\\nsys.exit(0 if sys.stdin.read().isdigit() else 2)": 1.0,
    "raise SystemExit(2)": 0.5,
    "import os\\nos.kill(os.getpid(), 9)": 0.0,
    "print(2)": 0.5,
}
with make_executor("local", workers=1) as executor:
    assert {answer: judge(task, answer, executor).fraction for answer in answers} == answers
""",
    "A format": """
from code_env import load_suite

suite = load_suite([{"question": "Print 1.", "answer": "1"}])
assert suite[0].prompt == "Print 1." and suite[0].tests[0].expected == "1"
assert load_suite("starter")[0].id.startswith("starter/")
""",
    "A language": """
import shutil
from code_env import StdinTest, Task, judge, make_executor

task = Task("add", "Print the sum of the numbers.", (StdinTest("2 3", "5"),), language="pl")
answers = {"use List::Util qw(sum); print sum(split ' ', <STDIN>);": 1.0, "print 6;": 0.0}
with make_executor("local", workers=1) as executor:
    assert "perl" in executor.describe().languages, "this test needs perl"
    assert {answer: judge(task, answer, executor).fraction for answer in answers} == answers
""",
}


def apply(diff, root):
    """Change files as a diff says; what it takes away must stand there exactly once."""
    for name, body in re.findall(r"^diff --git a/(\S+) [^\n]*\n(.*?)(?=^diff --git |\Z)", diff, re.M | re.S):
        path = root / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for hunk in re.split(r"^@@ [^\n]*\n", body, flags=re.M)[1:]:
            lines = [(line[0], line[1:]) if line.strip() else (" ", "\n") for line in hunk.splitlines(keepends=True)]
            old = "".join(line for mark, line in lines if mark != "+")
            new = "".join(line for mark, line in lines if mark != "-")
            assert not old or text.count(old) == 1, f"{name}: {old}"
            text = text.replace(old, new) if old else new
        path.write_text(text, encoding="utf-8")


def test_each_example_is_used():
    assert {title for title, diffs in SECTIONS.items() if diffs} == set(USES) == set(MOST_FILES)


@pytest.mark.parametrize("title", USES)
def test_an_example_works_as_it_stands(title, tmp_path):
    for folder in ("src", "envs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for diff in SECTIONS[title]:
        assert len(re.findall(r"^diff --git ", diff, re.M)) <= MOST_FILES[title]
        apply(diff, tmp_path)
    code = f"import sys\nsys.path.insert(0, {str(tmp_path / 'src')!r})\n{USES[title]}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
