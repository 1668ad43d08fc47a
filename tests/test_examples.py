"""Every example and every snippet of the documents runs as it stands."""

import importlib
import re
import shutil
import subprocess
import sys

import pytest

from code_env import CallTest, Task, TaskSuite, make_executor
from code_env.integrations.trl import reward_function
from support import PATIENCE_S, ROOT
from walking import call_block

TRAINERS = {"reward_hacking.py", "sb3_token_ppo.py", "trl_grpo.py", "trl_hacking.py"}
"""Examples that train for minutes; what comes of it is looked at here."""

SHORTENED = {
    "curriculum.py": ("NUM_ENVS, STEPS = 16, 120", "NUM_ENVS, STEPS = 16, 10"),
    "tree_search.py": ("TURNS, DEPTH, TRIES = 80, 8, 3", "TURNS, DEPTH, TRIES = 80, 8, 1"),
}
"""Lines of examples that do a thing for as long as its figures need, and what a test has instead."""

LOOKED_AT = {*TRAINERS, "custom_executor.py", "tree_search.py"}
"""Examples that have a test of their own."""

ENDPOINT = "http://127.0.0.1:8000/v1"
"""Where the documents say that a model is."""

EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name not in LOOKED_AT)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "envs").glob("*/README.md"))]


def snippets(language):
    found = []
    for path in DOCUMENTS:
        for number, code in enumerate(re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.M | re.S)):
            found.append(pytest.param(code, id=f"{path.relative_to(ROOT)}:{number}"))
    return found


def run(arguments, cwd):
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE_S, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def example(name, folder):
    """The path of an example, or of a copy that takes less time."""
    path = ROOT / "examples" / name
    if name not in SHORTENED:
        return path
    for other in path.parent.glob("*.py"):  # Some import others.
        shutil.copy(other, folder)
    text = path.read_text()
    assert text.count(SHORTENED[name][0]) == 1
    (folder / name).write_text(text.replace(*SHORTENED[name]))
    return folder / name


def test_there_are_examples_each_short():
    assert {"quickstart.py", "custom_reward.py"} <= {path.name for path in EXAMPLES}
    short = [*EXAMPLES, ROOT / "examples" / "tree_search.py"]
    assert all(len(path.read_text().splitlines()) < 80 for path in short)
    assert all(len((ROOT / "examples" / name).read_text().splitlines()) < 200 for name in TRAINERS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path, tmp_path):
    # Without a key, examples of E2B run on `local`, and are to say so.
    falls_back = ["-W", "default::UserWarning"] if path.name.startswith("e2b") else []
    told = run([sys.executable, "-W", "error", *falls_back, str(example(path.name, tmp_path))], tmp_path)
    assert ("reward 1.0" if falls_back else "reward") in told


def test_the_executor_of_an_example_conforms(tmp_path):
    path = ROOT / "examples" / "custom_executor.py"
    assert len(path.read_text().splitlines()) < 60
    told = run([sys.executable, "-W", "error", str(path)], tmp_path).splitlines()
    assert len(told) >= 60
    assert [line for line in told if line.split()[1] != "holds"] == []


def test_a_search_over_branches_solves_what_the_policy_in_a_line_does_not(tmp_path):
    told = run([sys.executable, "-W", "error", str(example("tree_search.py", tmp_path))], tmp_path)
    rows = [line.split() for line in told.splitlines()[1:]]
    assert len(rows) == 3
    assert all(float(line) <= 0.34 and float(search) == 1.0 for _, line, search in rows)


def test_a_policy_learns_to_write_a_function_with_a_branch(tmp_path):
    path = ROOT / "examples" / "sb3_token_ppo.py"
    arguments = ["--function", "larger", "--seed", "0", "--steps", "120000"]
    told = run([sys.executable, "-W", "error", str(path), *arguments], tmp_path)
    last, first = re.search(r"last 100 of \d+ programs ([\d.]+), of the first 100 ([\d.]+);", told).groups()
    assert float(last) >= 0.9
    assert float(first) < 0.5
    assert "held out, smaller: mean reward" in told


def test_a_model_learns_by_grpo(tmp_path):
    told = run([sys.executable, "-W", "error", str(ROOT / "examples" / "trl_grpo.py"), "--short"], tmp_path)
    before, after = map(float, re.search(r"held-out pass rate ([\d.]+) -> ([\d.]+)$", told.strip()).groups())
    assert after - before >= 0.1  # Seen were 0.21 to 0.34, with a standard error of about 0.03.


def test_what_a_policy_learns_is_what_its_grader_pays_for(tmp_path):
    path = ROOT / "examples" / "reward_hacking.py"
    arguments = ["--seeds", "0", "--steps", "60", "--tasks", "8", "--cheats", "1"]
    told = run([sys.executable, "-W", "error", str(path), *arguments], tmp_path)
    found = re.findall(
        r"^(\w+) grader, .* reward ([\d.]+) -> ([\d.]+), right programs ([\d.]+) -> ([\d.]+);", told, re.M
    )
    assert [grader for grader, *_ in found] == ["ordinary", "blind"]
    for grader, *figures in found:
        first_reward, reward, first_right, right = map(float, figures)
        assert max(first_reward, first_right) < 0.1
        assert reward > 0.9 > 0.1 > right if grader == "ordinary" else reward == right > 0.1


def test_the_exit_code_of_answer_and_tests_rewards_a_cheat(monkeypatch):
    """What GRPO makes of it takes minutes to see."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    rewarded = importlib.import_module("trl_hacking").exit_code_reward
    task = Task("double", "Write f(a).", (CallTest((2,), expected=4),), entry_point="f")
    ends = ("return a + a", "raise SystemExit", "return a")
    columns = {"completions": [f"def f(a):\n    {end}\n" for end in ends]}
    columns["task"] = [row["task"] for row in TaskSuite("double", [task]).to_rows("trl") * 3]
    assert rewarded(**columns) == [1.0, 1.0, 0.0]
    assert reward_function({"tests": 1.0})(**columns) == [1.0, 0.0, 0.0]


def test_the_ordinary_grader_pays_for_each_cheat_and_blind_judging_for_none(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    hacking = importlib.import_module("reward_hacking")
    task = hacking.make_tasks()[0][5]
    lines = [cheat if cheat.startswith(("raise", "__")) else f"return {cheat}" for cheat in sorted(hacking.CHEATS)]
    answers = [(task, f"def f(a, b):\n    {line}\n") for line in lines] + [(task, task.reference)]
    assert hacking.OrdinaryGrader().passed(answers) == [True] * 6
    with make_executor("local") as executor:
        assert hacking.BlindGrader(executor).passed(answers) == [False] * 5 + [True]


@pytest.mark.parametrize("code", snippets("python"))
def test_a_python_snippet_runs(code, tmp_path):
    run([sys.executable, "-W", "error", "-c", code], tmp_path)


@pytest.mark.parametrize("code", snippets("console"))
def test_a_command_of_the_documents_runs(code, tmp_path, request, monkeypatch):
    """What a document says that a command prints, it prints."""
    monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path / "cache"))
    if ENDPOINT in code:
        code = code.replace(ENDPOINT, request.getfixturevalue("starter_endpoint").url)
    call_block(code, tmp_path)
