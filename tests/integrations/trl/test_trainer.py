"""TRL drives the reward functions and environments itself: a `GRPOTrainer` with a model of a few thousand weights."""

import functools
import itertools
import json
import os
import warnings
from pathlib import Path

import pytest

from code_env.integrations.trl import async_reward_function, environment_factory, reward_function
from integrations.trl.tasks import RIGHT, ROWS, SUITE
from support import WHEN, unstartable

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
def test_a_trainer_runs_cells_that_keep_their_state(train, executor):
    first = [tool("run_cell", code="x = 1"), tool("run_cell", code="print(2)"), "Done.", "Done."]
    second = [tool("run_cell", code="print(x)"), tool("run_cell", code="x")]
    third = [tool("submit_solution", code="print(1)"), tool("submit_solution", code="print(x)")]
    rows = SUITE.filter(lambda task: task.id == "one").to_dataset("trl")
    factory = environment_factory(executor=executor, stateful=True)
    trainer = train(rows, [first, second, third, ["Done."] * 2], environment_factory=factory)
    assert logged(trainer, "rewards/SessionEnvironment/mean") == [0.25, 0.25]
    assert logged(trainer, "tools/failure_frequency") == [0.0, 0.0]
    told = [[one["content"] for one in said if one["role"] == "tool"] for said in trainer._logs["completion"]]
    assert told[0] == ["It ran without a fault.", "It ran without a fault.\nOutput:\n1", "All 1 tests passed."]
    assert "NameError: name 'x' is not defined" in told[1][1], "each rollout has a session of its own"
    assert "0 of 1 tests passed" in told[1][2]


@foreign
def test_a_trainer_without_a_data_set(train, executor):
    factory = environment_factory(executor=executor, suite=SUITE, group_size=4)
    trainer = train(None, [["I pass."] * 4], environment_factory=factory)
    assert logged(trainer, "rewards/CodeEnvironment/mean") == [0.0, 0.0]
    prompts = [prompt[-1]["content"] for prompt in trainer._logs["prompt"]]
    assert all(len(set(group)) == 1 and group[0] in {task.prompt for task in SUITE} for group in [prompts[-4:]])
