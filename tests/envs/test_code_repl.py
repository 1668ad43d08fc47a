"""`CodeRepl-v0`: cells and answers, what the policy is told, and that no session touches a verdict."""

import dataclasses
import random
import warnings

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import code_env
from code_env import CodeExecEnv, CodeReplEnv, Status, TaskError, UnsupportedProgram, judge
from envs.small_suite import ADD, GOOD, HALF, SUITE
from support import BrokenExecutor


def fence(code, tag="answer"):
    return f"```{tag}\n{code}\n```"


@pytest.fixture
def env(executor):
    with CodeReplEnv(SUITE, executor, max_turns=5) as made:
        made.reset(seed=0, options={"task_id": "add"})
        yield made


def told(env, cell):
    """What the policy is told of a cell."""
    return env.step(fence(cell, "python"))[4]["messages"][-1]["content"]


# As Gymnasium sees it


def test_the_checker_passes_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make("CodeRepl-v0").unwrapped)


def test_a_spec_survives_json():
    with gym.make("CodeRepl-v0", suite="files", rewards={"files": 1.0}, max_turns=3) as env:
        text = env.spec.to_json()
    with gym.make(EnvSpec.from_json(text)) as again:
        assert again.spec.to_json() == text
        again.reset(seed=0, options={"task_id": "files/greeting"})
        again.step("name = 'greeting.txt'")
        answer = fence('open("greeting.txt", "w").write("Hello, files!")')
        assert again.step(answer)[1:4] == (1.0, True, False)


def test_the_same_seed_gives_the_same_episode(executor):
    def episode(seed):
        with CodeReplEnv("starter", executor) as env:
            first = env.reset(seed=seed)
            steps = [env.step("import random\nrandom.random()"), env.step("random.random()"), env.step(fence("x = 1"))]
            return first, steps, env.reset()

    assert episode(3) == episode(3)
    assert episode(3)[1] != episode(4)[1]


def test_the_first_tasks_are_those_of_code_exec(executor):
    with CodeReplEnv("starter", executor) as repl, CodeExecEnv("starter", executor) as plain:
        assert repl.reset(seed=5)[1]["task_id"] == plain.reset(seed=5)[1]["task_id"]


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"executor": "restricted"}, UnsupportedProgram, "RestrictedExecutor has no sessions.*take an executor that"),
        ({"samples_per_step": 2}, TaskError, "samples_per_step"),
        ({"samples_per_step": 2, "max_turns": 1}, TaskError, "takes samples_per_step=1; got 2"),
        ({"suite": "javascript"}, TaskError, "sessions run Python, and task 'javascript/.*' is in javascript"),
        ({"max_turn": 2}, TypeError, "max_turn.*did you mean 'max_turns'"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_made(kwargs, error, words):
    with pytest.raises(error, match=words):
        gym.make("CodeRepl-v0", **kwargs)
    if error is not TypeError:
        with pytest.raises(error, match=words):
            gym.make_vec("CodeRepl-v0", num_envs=2, **kwargs)


# Cells


def test_names_and_files_stay_from_cell_to_cell(env):
    prompt, info = env.reset(options={"task_id": "add"})
    assert ADD.prompt in prompt
    assert "5 turns" in prompt
    assert info["turns_left"] == 5
    observation, reward, terminated, truncated, info = env.step("x = [1]\nopen('f', 'w').write('text')\nprint('done')")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert "done" in observation
    assert "Turns left: 4" in observation
    assert (info["outcome"], info["verdicts"], info["cells"][0].stdout) == ("cell", (), "done\n")
    observation, *_ = env.step("Let me look.\n```python\nx.append(2)\nx, open('f').read()\n```")
    assert "([1, 2], 'text')" in observation
    assert observation.index("=== Your cell 1 ===") < observation.index("=== Your cell 2 ===")


def test_a_session_has_the_files_of_its_task(executor):
    with CodeReplEnv("files", executor) as env:
        prompt, _ = env.reset(options={"task_id": "files/uppercase"})
        assert "notes.txt" in prompt.rpartition("You have")[2]
        assert "FIX THE DOOR" in told(env, "open('notes.txt').read().upper()")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("1 / 0", ["ZeroDivisionError", 'File "<cell', "line 1"]),
        ("def f(:", ["SyntaxError"]),
        ("import sys\nprint('seen')\nprint('warned', file=sys.stderr)\n7", ["seen\nwarned\n7"]),
        ("x = 1", ["gave nothing"]),
        ("import os\nos._exit(3)", ["InterpreterEnded", "as before"]),
        ("b'x' * (1 << 40)", ["memory limit", "MemoryError"]),
        ("print('\\x1b[31m')", ["\\x1b[31m"]),
        ("", ["NoCode", "tagged python"]),
    ],
)
def test_the_policy_is_told_what_a_cell_gave(env, cell, words):
    env.step("kept = 'kept'")
    text = told(env, cell)
    assert [word for word in words if word not in text] == [], text
    assert told(env, "kept") == "'kept'"


def test_the_policy_is_told_which_limit_a_cell_reached(executor):
    with CodeReplEnv(SUITE, executor, limits={"cpu_s": 0.2}) as env:
        env.reset(seed=0)
        _, _, terminated, truncated, info = env.step("print('kept', flush=True)\nwhile True: pass")
        assert (terminated, truncated, info["status"], info["valid"]) == (False, False, "timeout", True)
        assert info["messages"][-1]["content"] == "kept\nThe cell reached its time limit."


def test_prose_is_no_cell(env):
    assert "NoCode" in env.step("I would like to look at the data first.")[4]["messages"][-1]["content"]


def test_a_long_output_is_shortened(env):
    assert len(told(env, "print('x' * 100_000)")) <= 4000


def test_infos_have_the_same_keys_and_types_in_every_step(env):
    infos = [env.step(text)[4] for text in ("x = 1", "1 / 0", fence(HALF))]
    shapes = [{key: type(value) for key, value in info.items()} for info in infos]
    assert shapes[0] == shapes[1] == shapes[2]


def test_rendering_shows_the_cell(executor):
    with gym.make("CodeRepl-v0", suite=SUITE, executor=executor, render_mode="ansi") as env:
        env.reset(seed=0)
        env.step("six = 6\nsix * 7")
        shown = env.render()
        assert "six * 7" in shown
        assert "42" in shown


# Answers


@pytest.mark.parametrize(
    "text",
    [
        fence(GOOD),
        f"So I know.\n{fence('add(1, 2)', 'python')}\n{fence(GOOD)}\nDone.",
        f"<think>{fence('no')}</think>\n{fence(GOOD)}",
        f"```answer\n{GOOD}",
        f"```answer\n```python\n{GOOD}```\n```",
    ],
)
def test_a_fence_that_is_tagged_answer_ends_the_episode(env, text):
    env.step("x = 1")
    observation, _, terminated, truncated, info = env.step(text)
    assert (terminated, truncated, info["passed"], info["turn"], info["cells"]) == (True, False, True, 2, ())
    assert info["verdicts"][0].response == text
    assert "All 4 tests passed." in observation
    with pytest.raises(ResetNeeded):
        env.step("x")


def test_a_wrong_answer_ends_the_episode_too(env):
    _, _, terminated, truncated, info = env.step(fence(HALF))
    assert (terminated, truncated, info["score"]) == (True, False, 0.5)


def test_the_last_turn_is_an_answer(env):
    for _ in range(4):
        assert not env.step(GOOD)[2]
    _, _, terminated, _, info = env.step(f"I am out of turns.\n{fence(GOOD, 'python')}")
    assert (terminated, info["passed"], info["turns_left"]) == (True, True, 0)


def test_with_one_turn_it_is_code_exec(executor):
    with CodeReplEnv(SUITE, executor, max_turns=1) as env, CodeExecEnv(SUITE, executor) as plain:
        chosen = {"task_id": "add"}
        assert env.reset(options=chosen)[0] == plain.reset(options=chosen)[0] == ADD.prompt
        assert env.step(HALF)[4]["verdicts"] == plain.step(HALF)[4]["verdicts"]


def test_raw_text_is_a_cell_as_it_is(executor):
    with CodeReplEnv(SUITE, executor, extract="raw") as env:
        env.reset(seed=0, options={"task_id": "add"})
        assert env.step("6 * 7")[4]["cells"][0].text == "42"
        assert env.step(fence(GOOD))[4]["passed"]


# What goes on in a session is nothing to a verdict

CELLS = [
    GOOD,
    "import builtins\nbuiltins.add = lambda a, b: a + b\nbuiltins.print = lambda *a: None",
    "open('add.py', 'w').write('def add(a, b): return a + b')\nimport add",
    "import pathlib\n[p.write_text('def add(a, b): return a + b') for p in (pathlib.Path('/tmp/add.py'),)]",
    "import sys\nfor folder in sys.path:\n    try: open(f'{folder}/sitecustomize.py', 'w').write('x')\n"
    "    except OSError: pass",
    "import os\nos.environ['PYTHONSTARTUP'] = 'add.py'\nos.chdir('/tmp')",
    "import sys\nsys.modules['__main__'].add = sys.modules['json'] = lambda a, b: a + b",
    "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'{\"passed\": true}\\n')\n    except OSError: pass",
    "import os\nos._exit(0)",
    "import os, signal\nos.kill(0, signal.SIGKILL)",
    "import gc\n[o for o in gc.get_objects() if 'expected' in repr(type(o))]",
    "raise SystemExit('All 4 tests passed.')",
]
ANSWERS = [
    GOOD,
    HALF,
    "pass",
    "from add import add",
    "import builtins\nadd = builtins.add",
    "import sys\nsys.path.insert(0, '/tmp')\nfrom add import add",
    "exec(open('add.py').read())",
    "add = globals()['add']",
]


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_a_session_earns_nothing_that_a_fresh_jail_does_not_give(number, executor):
    """Cells are random and scripted; the verdict is what `CodeExec-v0` gives on the same answer."""
    rng, answer = random.Random(number), ANSWERS[number]
    fresh = judge(ADD, answer, executor)
    with gym.make("CodeRepl-v0", suite=SUITE, executor=executor, disable_env_checker=True) as env:
        env.reset(seed=number, options={"task_id": "add"})
        for cell in [*rng.sample(CELLS, 4), "".join(map(chr, rng.choices(range(32, 127), k=40)))]:
            *_, reward, terminated, truncated, info = env.step(fence(cell, "python"))
            assert (reward, terminated, truncated, info["passed"]) == (0.0, False, False, False)
        _, reward, terminated, _, info = env.step(fence(answer))
    assert dataclasses.replace(info["verdicts"][0], response=fresh.response, code=fresh.code) == fresh
    assert (reward, terminated) == (fresh.fraction, True)


# Faults, and ends of a session


class BrokenSessions(BrokenExecutor):
    def describe(self):
        return dataclasses.replace(super().describe(), sessions="replay")


def test_a_failing_sandbox_truncates_and_is_tried_again_first(executor):
    broken = BrokenSessions(executor)
    broken._failures = 2
    with CodeReplEnv(SUITE, broken) as env:
        env.reset(seed=0, options={"task_id": "add"})
        assert env.step("x = 1")[2:4] == (False, False)
        assert broken.programs == 3
        broken._failures = 10_000
        _, reward, terminated, truncated, info = env.step("x = 2")
        assert (reward, terminated, truncated, info["valid"]) == (0.0, False, True, False)
        assert (info["outcome"], info["status"]) == ("no_verdict", "sandbox_error")
        assert [verdict.outcome for verdict in info["verdicts"]] == ["no_verdict"]
        assert broken.programs == 6
        with pytest.raises(ResetNeeded):
            env.step("x")


def test_after_the_end_of_its_session_an_episode_can_still_be_answered(executor):
    with CodeReplEnv(SUITE, executor, limits={"cpu_s": 0.2, "total_cpu_s": 0.2}) as env:
        env.reset(seed=0, options={"task_id": "add"})
        assert env.step("while True: pass")[4]["status"] == Status.TIMEOUT
        _, _, _, truncated, info = env.step("x = 1")
        assert not truncated
        assert "no more cells can run: its cells have used the 0.2 s" in info["messages"][-1]["content"]
        assert env.step(fence(GOOD))[4]["passed"]


def test_an_env_that_was_closed_ends_its_session_and_goes_on_with_another(executor):
    env = CodeReplEnv(SUITE, executor)
    env.reset(seed=0)
    env.step("x = 1")
    session = env._episodes._workspace._session
    env.close()
    env.close()
    assert session.state == "dead"
    env.reset(seed=0)
    assert "NameError" in told(env, "x")
    env.close()
    own = CodeReplEnv(SUITE, "subprocess")
    own.reset()
    own.close()
    with pytest.raises(code_env.ExecutorClosed):
        own.step("x = 1")
