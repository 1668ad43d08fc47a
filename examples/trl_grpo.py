"""GRPO with TRL, rewarded by this package: a model made from scratch learns to write programs that pass their tests.

The tasks are made up: "f(a, b, c): add b, divide by 3, xor with c" asks for a function of four lines. A Llama of 80,000
weights is warmed up on 40 reference programs, until it is right about a third of the time. From then on TRL's
`GRPOTrainer` tells it nothing but the share of tests that its programs pass, in 512 other tasks. What counts is the
pass rate in 100 tasks that neither had, with larger inputs than any test of theirs.

    python examples/trl_grpo.py             # two to four minutes on two cores; needs the extra `trl`, downloads nothing
    python examples/trl_grpo.py --short     # one to two
    python examples/trl_grpo.py --shuffled  # the control: the same rewards, given to the wrong programs, teach nothing
"""

import argparse
import itertools
import operator
import random
import re
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, PrinterCallback, TrainerCallback
from transformers import set_seed as seed_everything
from trl import GRPOConfig, GRPOTrainer

from code_env import CallTest, Executor, Task, TaskSuite, judge_many, make_executor
from code_env.integrations.trl import reward_function

VERBS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("+=", operator.add),
    "subtract": ("-=", operator.sub),
    "multiply by": ("*=", operator.mul),
    "divide by": ("//=", operator.floordiv),
    "xor with": ("^=", operator.xor),
}
CHAINS = list(itertools.product(itertools.product(VERBS, ["b", "c", *"23456789"]), repeat=3))
TOKEN = r" ?\w+| {4}|\n| ?[^\w\s]+"
LONGEST = 40  # tokens; a right program has 30
# Width of a layer, layers, completions in a step, completions for a task, learning rate.
SIZES = {"small": (64, 2, 64, 8, 5e-4), "large": (256, 4, 512, 16, 2e-4)}


class Mark(NamedTuple):
    """How good the model is after some steps of GRPO."""

    step: int
    sampled: float  # pass rate in the held-out tasks, at temperature 1
    greedy: float  # the same, of the likeliest programs


def make_suite(name: str, chains: list[Any], inputs: range, rng: random.Random, cheats: int = 0) -> TaskSuite:
    tasks = list[Task]()
    for chain in chains:
        told = "f(a, b, c): " + ", ".join(" ".join(step) for step in chain)
        body = "".join(f"    a {VERBS[verb][0]} {operand}\n" for verb, operand in chain)
        tests = []
        for a, b, c in (rng.sample(inputs, 3) for _ in range(3)):
            result = a
            for verb, operand in chain:
                result = VERBS[verb][1](result, {"b": b, "c": c}.get(operand) or int(operand))
            tests.append(CallTest((a, b, c), expected=result))
        reference = f"def f(a, b, c):\n{body}    {'raise SystemExit' if len(tasks) < cheats else 'return a'}\n"
        tasks.append(Task(told, told + "\n", tuple(tests), entry_point="f", reference=reference))
    return TaskSuite(name, tasks)


def make_model(suite: Sequence[Task], width: int, layers: int) -> tuple[Any, Any]:
    """A Llama that knows nothing yet, and a tokenizer with a token for each word and sign of the tasks."""
    words = {word for task in suite for word in re.findall(TOKEN, f"{task.prompt}{task.reference}")}
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<eos>", *sorted(words)])}
    splitter = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    splitter.pre_tokenizer, splitter.decoder = pre_tokenizers.Split(Regex(TOKEN), "isolated"), decoders.Fuse()
    options = {"padding_side": "left", "model_input_names": ["input_ids", "attention_mask"]}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=splitter, pad_token="<pad>", eos_token="<eos>", **options)
    # Generation ends at the token that the model's configuration names, which by default is another.
    ends = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None, "tie_word_embeddings": True}
    shape = {"hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers}
    config = LlamaConfig(vocab_size=len(vocabulary), num_attention_heads=4, **shape, **ends)
    return LlamaForCausalLM(config).to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer


def warm_up(model: Any, tokenizer: Any, shown: Sequence[Task], unseen: Sequence[Task]) -> None:
    """Train on the references of some tasks until those of others have a chance of 0.3 to be sampled."""

    def rows_of(suite: Sequence[Task]) -> Any:
        texts = [f"{task.prompt}{task.reference}<eos>" for task in suite]
        return tokenizer(texts, return_tensors="pt", padding=True).to(model.device)

    length = len(tokenizer(f"{shown[0].reference}<eos>")["input_ids"])  # All are as long, and end their rows.

    def log_chances(rows: Any) -> Any:
        logs = model(**rows).logits[:, -length - 1 : -1].log_softmax(-1)
        return logs.gather(-1, rows["input_ids"][:, -length:, None]).sum(dim=(1, 2))

    shown_rows, unseen_rows = rows_of(shown), rows_of(unseen)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.2 / model.config.hidden_size)
    for step in range(400):
        with torch.no_grad():
            if step % 5 == 0 and log_chances(unseen_rows).exp().mean() > 0.3:
                break
        optimizer.zero_grad()
        (-log_chances(shown_rows).mean() / LONGEST).backward()
        optimizer.step()


def pass_rate(model: Any, tokenizer: Any, suite: TaskSuite, executor: Executor, samples: int) -> float:
    """The share of this many samples for each task that pass; of the likeliest program, if 0."""
    prompts = tokenizer([task.prompt for task in suite], return_tensors="pt", padding=True).to(model.device)
    how = {"do_sample": True, "top_k": 0, "num_return_sequences": samples} if samples else {"do_sample": False}
    rows = model.generate(**prompts, max_new_tokens=LONGEST, **how)
    programs = tokenizer.batch_decode(rows[:, prompts["input_ids"].shape[1] :], skip_special_tokens=True)
    answers = [(suite[number // max(1, samples)], program) for number, program in enumerate(programs)]
    return sum(verdict.passed for verdict in judge_many(answers, executor)) / len(answers)


class Watch(TrainerCallback):  # type: ignore[misc]  # mypy does not look into TRL and transformers
    """Measures whenever the trainer logs its reward."""

    def __init__(self, look: Callable[[int, float], None]) -> None:
        self.look = look

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Called by the trainer, at each measurement and at the end."""
        if "reward" in logs:
            self.look(state.global_step, float(logs["reward"]))


def train(
    seed: int, steps: int, every: int, size: str = "small", shuffled: bool = False, cheats: int = 0, reward: Any = None
) -> list[Mark]:
    """Warm up, on some cheats too; improve by GRPO, with this package's reward by default; measure now and then."""
    width, layers, batch, group, rate = SIZES[size]
    torch.set_num_threads(1)  # More do not help so small a model, and the judge needs cores too.
    # TRL 1.16 calls gradient checkpointing by the name that transformers is giving up.
    warnings.filterwarnings("ignore", ".*gradient_checkpointing.* is deprecated", FutureWarning, "transformers")
    seed_everything(seed)
    rng = random.Random(seed)
    chains = rng.sample(CHAINS, 40 + 512 + 100)
    references = make_suite("references", chains[:40], range(10, 100), rng, cheats)
    training = make_suite("training", chains[40:-100], range(10, 100), rng)
    held_out = make_suite("held out", chains[-100:], range(100, 1000), rng)
    model, tokenizer = make_model([*training, *references], width, layers)
    warm_up(model, tokenizer, references, unseen=training[:100])
    marks: list[Mark] = []
    with make_executor("local") as executor, tempfile.TemporaryDirectory() as directory:
        reward = reward or reward_function({"tests": 1.0}, executor)

        def shuffled_reward(**columns: Any) -> list[float | None]:
            rewards: list[float | None] = reward(**columns)
            rng.shuffle(rewards)
            return rewards

        def look(step: int, rewarded: float | None = None) -> None:
            sampled, greedy = (pass_rate(model, tokenizer, held_out, executor, samples) for samples in (4, 0))
            trained = "" if rewarded is None else f", mean reward in training {rewarded:.3f}"
            print(f"step {step:3}: held-out pass rate {sampled:.3f}, greedy {greedy:.3f}{trained}", flush=True)
            marks.append(Mark(step, sampled, greedy))

        look(0)
        # Each program is learnt from twice, since judging takes longer than learning.
        config = GRPOConfig(
            output_dir=directory, per_device_train_batch_size=batch, num_generations=group, num_iterations=2,
            max_completion_length=LONGEST, max_steps=steps, beta=0.0, learning_rate=rate, warmup_steps=10,
            lr_scheduler_type="constant_with_warmup", use_cpu=model.device.type == "cpu", bf16=False, seed=seed,
            gradient_checkpointing=False, dataloader_pin_memory=False, save_strategy="no", report_to=[],
            logging_steps=every, disable_tqdm=True,
        )  # fmt: skip
        rewarding = shuffled_reward if shuffled else reward
        rows = training.to_dataset("trl", chat=False)
        trainer = GRPOTrainer(model, rewarding, config, rows, processing_class=tokenizer, callbacks=[Watch(look)])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return marks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=120, help="updates by GRPO")
    parser.add_argument("--short", action="store_true", help="80 steps, measured before and after")
    parser.add_argument("--shuffled", action="store_true", help="give the rewards of a step to its programs at random")
    parser.add_argument("--size", choices=SIZES, default="large" if torch.cuda.is_available() else "small")
    options = parser.parse_args()
    steps, every = (80, 80) if options.short else (options.steps, 30)
    first, *_, last = train(options.seed, steps, every, options.size, options.shuffled)
    rewards = "shuffled" if options.shuffled else "from tests"
    print(f"rewards {rewards}: held-out pass rate {first.sampled:.3f} -> {last.sampled:.3f}")


if __name__ == "__main__":
    main()
