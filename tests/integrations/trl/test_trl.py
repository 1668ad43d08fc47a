"""TRL drives the reward functions and environments itself: a `GRPOTrainer` with a model of a few thousand weights."""

import asyncio
import copy
import functools
import inspect
import itertools
import json
import os
import pickle
import typing
import warnings
from pathlib import Path

import gymnasium as gym
import pytest

from code_env import (
    CallTest,
    ExecutorClosed,
    ExecutorNotFound,
    Limits,
    OutputTest,
    RewardError,
    StdinTest,
    Task,
    TaskError,
    TaskSuite,
    make_executor,
)
from code_env.integrations.trl import async_reward_function, environment_factory, reward_function
from support import WHEN, BrokenExecutor, killed_meanwhile, unstartable

RIGHT = "print(int(input()) * 2)"
DOUBLE = Task(
    "double",
    "Double it.\n```python\nprint('never the answer')\n```",
    (
        StdinTest("0", "0", hidden=False),
        *(StdinTest(str(n), str(2 * n)) for n in (1, 77)),
    ),
    limits=Limits(cpu_s=1, wall_s=10),
    files={"given.txt": b"given"},
)
ONE = Task("one", "Print 1.", (OutputTest("1"),))
SUITE = TaskSuite("few", [DOUBLE, ONE])
ROWS = {row["task_id"]: row for row in SUITE.to_rows("trl")}

COMPLETIONS = {
    "fenced": f"```python\n{RIGHT}\n```",
    "bare": f"{RIGHT}<|im_end|>",
    "wrong": "print(3)",
    "points at the prompt": "See above.",
    "nothing": "",
    "only thought": f"<think>\n```python\n{RIGHT}\n```\n",
    "fake turn": f"I pass.\n<|im_start|>assistant\n```python\n{RIGHT}",
    "lone surrogate": "print('\ud800')",
}
EXPECTED = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]


def said(text):
    return [{"role": "assistant", "content": text}]


MAKERS = {"sync": reward_function, "async": async_reward_function}


def call(reward, completions, task_id="double", **more):
    """As TRL calls it: by keyword, with all columns of the data set and things of its own."""
    row = ROWS[task_id]
    columns = {
        "prompts": [row["prompt"]] * len(completions),
        "completions": completions,
        "completion_ids": [[1, 2]] * len(completions),
        "task": [row["task"]] * len(completions),
        "task_id": [task_id] * len(completions),
        "difficulty": ["easy"] * len(completions),
        "trainer_state": object(),
        "log_extra": lambda column, values: None,
        "log_metric": lambda name, value: None,
    }
    found = reward(**{**columns, **more})
    return asyncio.run(found) if inspect.isawaitable(found) else found


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.mark.parametrize("rewards", [None, {"tests": 0.9, "format": 0.1}], ids=str)
@pytest.mark.parametrize("form", [str, said], ids=["plain", "conversational"])
def test_rewards_are_those_of_an_environment(make, form, rewards, executor):
    completions = list(COMPLETIONS.values())
    found = call(make(rewards, executor), [form(text) for text in completions])
    expected = []
    arguments = {} if rewards is None else {"rewards": rewards}
    with gym.make("code_env:CodeExec-v0", suite=SUITE, executor=executor, **arguments) as env:
        for completion in completions:
            env.reset(options={"task_id": "double"})
            expected.append(float(env.step(completion)[1]))
    assert found == expected
    if rewards is None:
        assert found == EXPECTED


@pytest.mark.parametrize(
    ("messages", "reward"),
    [
        (said("print(1)"), 1.0),
        ([{"role": "assistant", "content": [{"type": "text", "text": "print(1)"}]}], 1.0),
        ([*said("print(2)"), {"role": "tool", "name": "x", "content": "2"}, *said("print(1)")], 1.0),
        ([*said("print(1)"), {"role": "tool", "name": "x", "content": "print(1)"}], 0.0),
        ([*said("print(1)"), {"role": "user", "content": "print(1)"}], 0.0),
        ([{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "x"}}]}], 0.0),
        ([{"role": "assistant", "content": "print(1)", "tool_calls": [{"function": {"name": "x"}}]}], 0.0),
        ([{"role": "assistant", "content": "print(1)", "tool_calls": None}], 1.0),
        ([{"role": "assistant", "content": [{"type": "image"}]}], 0.0),
        ([{"role": "assistant"}], 0.0),
        ([{}], 0.0),
        ([], 0.0),
    ],
)
def test_the_last_words_of_the_assistant_are_the_answer(messages, reward, executor):
    assert call(reward_function(executor=executor), [messages], "one") == [reward]


def test_the_share_without_code_is_logged(make, executor):
    logged = {}
    call(make(executor=executor), [RIGHT, "I cannot do that.", "", RIGHT], log_metric=logged.__setitem__)
    assert (logged["code_reward/no_code"], logged["code_reward/passed"]) == (0.5, 0.5)


@pytest.mark.parametrize("when", WHEN)
def test_without_a_server_there_is_no_reward(make, when, tmp_path):
    with unstartable(tmp_path, when) as executor:
        logged = {}
        found = call(make(executor=executor), [RIGHT] * 3, log_metric=logged.__setitem__)
        assert (found, logged) == ([None] * 3, {"code_reward/no_verdict": 1.0})


def test_only_completions_without_a_verdict_have_no_reward(make):
    logged = {}
    assert call(make(executor=BrokenExecutor()), [RIGHT, ""], log_metric=logged.__setitem__) == [None, 0.0]
    shares = {"no_verdict": 0.5, "no_code": 1.0, "passed": 0.0, "tests": 0.0}
    assert logged == {f"code_reward/{name}": share for name, share in shares.items()}


def test_servers_killed_in_mid_batch(make):
    completions = [f"import time\ntime.sleep(0.2)\n{RIGHT}  # {n}" for n in range(12)]
    with make_executor("local", workers=2) as executor:
        reward = make(executor=executor)
        assert call(reward, [RIGHT]) == [1.0]
        assert killed_meanwhile(executor, lambda: call(reward, completions)) == [1.0] * 12


def test_what_is_logged(make, executor):
    logged = {}
    reward = make({"tests": 0.8, "format": 0.2}, executor, name="tested")
    call(reward, [COMPLETIONS["fenced"], COMPLETIONS["wrong"]], log_metric=logged.__setitem__)
    assert reward.__name__ == "tested"
    assert logged == pytest.approx(
        {
            "tested/no_verdict": 0.0,
            "tested/no_code": 0.0,
            "tested/passed": 0.5,
            "tested/tests": 0.4,
            "tested/format": logged["tested/format"],
        }
    )


def test_one_function_serves_several_data_sets(make, executor):
    tasks = [ROWS["double"]["task"], ROWS["one"]["task"]]
    assert call(make(executor=executor), ["print(1)", "print(1)"], task=tasks) == [0.0, 1.0]


def test_it_is_copied_and_pickled(make):
    for reward in (copy.deepcopy(make({"tests": 1.0})), pickle.loads(pickle.dumps(make({"tests": 1.0}, "local")))):
        assert reward.__name__ == "code_reward"
        assert call(reward, ["print(1)"], "one") == [1.0]


def test_misuse_is_an_error(make, executor):
    reward = make(executor=executor)
    with pytest.raises(TaskError, match=r"no column 'task'.*to_dataset\('trl'\)"):
        call(reward, ["x"], task=None)
    with pytest.raises(TaskError, match="a task as JSON text was expected"):
        call(reward, ["x"], task=["42"])
    with pytest.raises(TypeError, match="completions are missing"):
        reward_function(executor=executor)(prompts=["x"], task=[ROWS["one"]["task"]])
    with pytest.raises(ExecutorNotFound):
        call(make(executor="locale"), ["x"])


# Environments ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def environment(executor):
    made = environment_factory(executor=executor, max_submissions=2, max_runs=6)()
    assert made.reset(**ROWS["double"]) is None
    return made


def test_only_what_trl_may_see_is_public(environment):
    public = [name for name in dir(environment) if not name.startswith("_")]
    assert public == ["get_reward", "reset", "run_code", "submit_solution"]
    for name in ("run_code", "submit_solution"):
        tool = getattr(environment, name)
        hints = typing.get_type_hints(tool)
        assert set(hints.values()) == {str}
        assert "Args:" in tool.__doc__
        assert all(f"{argument}:" in tool.__doc__ for argument in set(hints) - {"return"})


def test_run_code_shows_what_a_program_prints(environment):
    assert environment.run_code("print(input() * 2)", "ab") == "It ran without a fault.\nOutput:\nabab"
    assert environment.run_code("```python\nprint(open('given.txt').read())\n```").endswith("given")
    assert environment.run_code("I cannot do that.") == "There is no program in python in it."
    assert environment.run_code("import sys\nsys.stderr.write('why')\n1 / 0").splitlines()[0] == (
        "It failed: ZeroDivisionError: division by zero."
    )
    assert "the time limit was reached" in environment.run_code("while True: pass")
    assert len(environment.run_code("print('x' * 10**6)")) < 3000
    assert environment.get_reward() == 0.0


def test_run_code_knows_no_test(environment):
    looks = (
        "import os, sys\nprint(os.listdir(), sys.argv, [str(v) for v in globals().values()])\nprint(sys.stdin.read())"
    )
    shown = environment.run_code(looks)
    assert "given.txt" in shown
    assert "77" not in shown
    assert "154" not in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((5,), "must be text"),
        (("print(1)", None), "must be text"),
        (("print('\ud800')",), "lone surrogates"),
        (("x", "\ud800"), "lone surrogates"),
        (("",), ""),
        (("def (",), "SyntaxError"),
        (("import os; os.kill(os.getpid(), 9)",), "killed by signal 9"),
        (("print('\x1b[31m')",), "\\x1b[31m"),
        (("\x00",), "null bytes"),
    ],
)
def test_whatever_a_tool_is_called_with_it_answers_in_words(arguments, words, environment):
    assert words in environment.run_code(*arguments)
    told = environment.submit_solution(arguments[0])
    assert isinstance(told, str)
    assert environment.get_reward() == 0.0


def test_feedback_shows_public_tests_only(environment):
    told = environment.submit_solution("print(5)")
    assert "0 of 3 tests passed." in told
    assert "Public test not passed: Input '0'" in told
    assert "Hidden tests not passed: 2 (wrong result)." in told
    assert "77" not in told
    assert "154" not in told
    assert told.endswith("Solutions that may still be handed in: 1.")


def test_the_last_solution_counts(environment):
    assert environment.get_reward() == 0.0
    environment.submit_solution("print(int(input()) * 2 if True else 0) if open('given.txt') and 1 else 0")
    assert environment.get_reward() == 1.0
    assert environment.submit_solution("print(0)") == "The task is solved already."
    assert environment.get_reward() == 1.0


def test_solutions_and_runs_are_bounded(environment):
    environment.submit_solution("print(0)")
    assert environment.get_reward() == pytest.approx(1 / 3)
    environment.submit_solution("x")
    assert environment.submit_solution(RIGHT) == "Nothing more can be handed in."
    assert environment.get_reward() == 0.0
    assert ["No runs" in environment.run_code("print(1)") for _ in range(7)] == [False] * 6 + [True]
    environment.reset(**ROWS["one"])
    assert environment.get_reward() == 0.0
    assert "All 1 tests passed." in environment.submit_solution("print(1)")


@pytest.mark.parametrize("when", WHEN)
def test_an_environment_without_a_server_has_no_reward(when, tmp_path):
    with unstartable(tmp_path, when) as executor:
        environment = environment_factory(executor=executor)()
        environment.reset(**ROWS["double"])
        assert "the sandbox failed" in environment.run_code("print(1)")
        for _ in range(5):  # What is not judged is not counted.
            assert "the sandbox failed" in environment.submit_solution(RIGHT)
        assert environment.get_reward() is None


def test_without_a_data_set_a_group_has_one_task(executor):
    suite = TaskSuite("many", [Task(str(n), f"Print {n}.", (OutputTest(str(n)),)) for n in range(30)])

    def prompts(seed):
        factory = environment_factory(executor=executor, suite=suite, group_size=3, seed=seed)
        pool = [factory() for _ in range(6)]
        batches = [[one.reset(prompt=[]) for one in pool] for _ in range(4)]
        batches.append([one.reset() for one in pool[:3]])  # A smaller one, as for evaluation.
        batches.append([one.reset() for one in pool])
        return batches

    batches = prompts(1)
    for batch in batches:
        for first in range(0, len(batch), 3):
            assert len(set(batch[first : first + 3])) == 1
    assert len({group for batch in batches for group in batch}) == 11  # Each of its own, as long as there are any.
    assert prompts(1) == batches != prompts(2)


def test_misuse_of_an_environment(executor):
    with pytest.raises(TaskError, match=r"no column 'task'.*or train without a data set"):
        environment_factory(executor=executor)().reset(prompt="x")
    with pytest.raises(TaskError, match="group_size must be a whole number of at least 1; got 0"):
        environment_factory(suite="starter", group_size=0)
    for rewards in ({"test": 1.0}, {"pass@2": 1.0}, {"tests": "1"}, "starter", {"group_pass@1": {"group_size": 1}}):
        with pytest.raises(RewardError):
            environment_factory(rewards, executor)
    with pytest.raises(ExecutorNotFound):
        environment_factory(executor="locl")
    environment = environment_factory(executor=executor)()
    assert environment.run_code("x") == environment.submit_solution("x") == "There is no task yet."
    assert environment.reset(task=ROWS["one"]["task"]) == "Print 1."  # A row without a prompt.


def test_what_a_tool_raises_reaches_who_trains():
    """TRL shows it to the model and goes on, so the reward says it again."""
    closed = make_executor("local", workers=1)
    environment = environment_factory(executor=closed)()
    environment.reset(**ROWS["one"])
    closed.close()
    for tool in (environment.run_code, environment.submit_solution):
        with pytest.raises(ExecutorClosed):
            tool("print(1)")
        with pytest.raises(ExecutorClosed):
            environment.get_reward()


# A real trainer -------------------------------------------------------------------------------------------------------

foreign = pytest.mark.filterwarnings("ignore:.*will be removed in v6:FutureWarning:transformers")
"""TRL sets arguments by names that transformers has renamed."""


@pytest.fixture(scope="module")
def trl():
    os.environ["HF_HUB_OFFLINE"] = "1"
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pytest.importorskip("trl")
        from trl import GRPOTrainer  # noqa: F401
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield found
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tokenizer(trl):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast
    from trl.chat_template_utils import add_response_schema

    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    texts = [task.prompt for task in SUITE] + [json.dumps(row) for row in ROWS.values()]
    made.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>", padding_side="left"
    )
    wrapped.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
    return add_response_schema(wrapped)  # How it reads a call of a tool out of a text.


@pytest.fixture
def train(trl, tokenizer, tmp_path, monkeypatch):
    """Train a tiny model for two steps; what was logged, and the trainer."""
    from transformers import LlamaConfig, LlamaForCausalLM

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")

    def run(dataset, script=None, **arguments):
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=4096,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
        settings = trl.GRPOConfig(
            output_dir=str(tmp_path / "out"),
            use_cpu=True,
            bf16=False,
            report_to=[],
            max_steps=2,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=1024 if script else 12,
            logging_steps=1,
            save_strategy="no",
            disable_tqdm=True,
        )
        trainer = trl.GRPOTrainer(
            model=LlamaForCausalLM(config),
            args=settings,
            train_dataset=dataset,
            processing_class=tokenizer,
            **arguments,
        )
        if script is not None:
            turns = itertools.cycle(script)
            monkeypatch.setattr(trainer, "_generate_single_turn", lambda ids, *args, **kwargs: speak(ids, next(turns)))
        trainer.train()
        return trainer

    def speak(prompt_ids, texts):
        """What the model would have said: one text for each prompt."""
        said = [tokenizer.encode(f"{text}<|im_end|>", add_special_tokens=False) for text in texts[: len(prompt_ids)]]
        assert len(said) == len(prompt_ids)
        return said, None

    return run


def logged(trainer, key):
    return [entry[key] for entry in trainer.state.log_history if key in entry]


@foreign
@pytest.mark.parametrize("chat", [False, True], ids=["plain", "conversational"])
def test_a_trainer_takes_sync_and_async_functions(train, chat, executor):
    both = [
        reward_function(executor=executor, name="sync_reward"),
        async_reward_function({"tests": 0.5, "format": 0.5}, executor, name="async_reward"),
        functools.partial(reward_function({"pass@1": 1.0}, executor, name="partly")),
    ]
    script = [["print(1)", "```python\nprint(1)\n```", "print(2)", ""]]
    rows = SUITE.filter(lambda task: task.id == "one").to_dataset("trl", chat=chat)
    trainer = train(rows, script, reward_funcs=both)
    assert logged(trainer, "rewards/sync_reward/mean") == [0.5, 0.5]
    assert logged(trainer, "rewards/partly/mean") == [0.5, 0.5]
    assert logged(trainer, "async_reward/tests") == [0.25, 0.25]
    assert logged(trainer, "sync_reward/passed") == [0.5, 0.5]
    assert logged(trainer, "sync_reward/no_verdict") == [0.0, 0.0]


@foreign
def test_a_trainer_with_an_untrained_model(train, executor):
    trainer = train(SUITE.to_dataset("trl"), reward_funcs=reward_function(executor=executor))
    assert logged(trainer, "rewards/code_reward/mean") == [0.0, 0.0]


@foreign
def test_a_trainer_goes_on_without_verdicts(train, tmp_path):
    with unstartable(tmp_path, WHEN[1]) as executor:
        trainer = train(SUITE.to_dataset("trl"), [[RIGHT] * 4], reward_funcs=reward_function(executor=executor))
    assert logged(trainer, "code_reward/no_verdict") == [1.0, 1.0]
    # `None` is how the log of transformers spells nan.
    assert logged(trainer, "rewards/code_reward/mean") == [None, None]
    assert logged(trainer, "grad_norm") == [0.0, 0.0]  # They move nothing.


def tool(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@foreign
def test_a_trainer_calls_the_tools_of_an_environment(train, executor):
    """The model's words are given; TRL reads the calls out of them, makes them, and asks for the reward."""
    first = [
        tool("run_code", code="print(1)"),
        tool("submit_solution", code="print(1)"),
        tool("submit_solution", code="print(2)"),
        "print(1)",
    ]
    second = [tool("submit_solution", code="print(1)"), "Done.", "Done."]
    script = [first, second, ["Done."]]
    rows = SUITE.filter(lambda task: task.id == "one").to_dataset("trl")
    trainer = train(rows, script, environment_factory=environment_factory(executor=executor))
    assert logged(trainer, "rewards/CodeEnvironment/mean") == [0.5, 0.5]
    assert logged(trainer, "tools/call_frequency") == [1.0, 1.0]
    assert logged(trainer, "tools/failure_frequency") == [0.0, 0.0]
    completions = trainer._logs["completion"]
    results = [message["content"] for message in completions[0] if message["role"] == "tool"]
    assert results == ["It ran without a fault.\nOutput:\n1", "All 1 tests passed."]


@foreign
def test_a_trainer_without_a_data_set(train, executor):
    factory = environment_factory(executor=executor, suite=SUITE, group_size=4)
    trainer = train(None, [["I pass."] * 4], environment_factory=factory)
    assert logged(trainer, "rewards/CodeEnvironment/mean") == [0.0, 0.0]
    prompts = [prompt[-1]["content"] for prompt in trainer._logs["prompt"]]
    assert all(len(set(group)) == 1 and group[0] in {task.prompt for task in SUITE} for group in [prompts[-4:]])


def test_more_kinds_of_task(executor):
    task = Task("f", "f?", (CallTest((1,), {}, 1),), entry_point="f")
    row = TaskSuite("f", [task]).to_rows()[0]
    found = reward_function(executor=executor)(completions=["def f(x): return x"], task=[row["task"]])
    assert found == [1.0]
