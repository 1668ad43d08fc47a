"""A `transformers` model as a policy: it answers prompts, and `collect` or `code-env rollout` plays episodes with it.

    python examples/transformers_policy.py                     # a tiny model made from scratch, which learns nothing
    python examples/transformers_policy.py Qwen/Qwen3-0.6B     # a model from the hub, or from a folder

Episodes of the same step are generated together.
"""

import sys
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

import code_env  # noqa: F401  It registers the environments.
from code_env.rollout import collect


class TransformersPolicy:
    """Answers conversations by a causal language model.

    Args:
        model: The model.
        tokenizer: Its tokenizer. With a chat template, the model gets the whole conversation; without one, the texts.
        max_new_tokens: The longest answer.
        temperature: The sampling temperature.
    """

    def __init__(self, model: Any, tokenizer: Any, max_new_tokens: int = 512, temperature: float = 1.0) -> None:
        self._model, self._tokenizer = model.eval(), tokenizer
        self._sampling = {"max_new_tokens": max_new_tokens, "do_sample": True, "temperature": temperature}
        tokenizer.padding_side = "left"  # Answers are continued at the right.
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token

    def __call__(self, prompts: Sequence[str], infos: Sequence[dict[str, Any]]) -> list[str]:
        """Return one answer for each prompt."""
        texts = [self._text(info["messages"]) for info in infos]
        tokens = self._tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        tokens = tokens.to(self._model.device)
        with torch.no_grad():
            written = self._model.generate(**tokens, pad_token_id=self._tokenizer.pad_token_id, **self._sampling)
        answers = written[:, tokens["input_ids"].shape[1] :]
        return list(self._tokenizer.batch_decode(answers, skip_special_tokens=True))

    def _text(self, messages: list[dict[str, str]]) -> str:
        if self._tokenizer.chat_template is None:
            return "\n".join(message["content"] for message in messages)
        return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))


def tiny_model() -> tuple[Any, Any]:
    """A model and a tokenizer of single bytes, made from scratch."""
    alphabet = ["<pad>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokens = Tokenizer(models.BPE({text: number for number, text in enumerate(alphabet)}, []))
    tokens.pre_tokenizer, tokens.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 4096}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(alphabet), bos_token_id=0, eos_token_id=0, **sizes))
    return model, PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="<pad>", eos_token="<pad>")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        model, tokenizer = AutoModelForCausalLM.from_pretrained(sys.argv[1]), AutoTokenizer.from_pretrained(sys.argv[1])
        policy = TransformersPolicy(model, tokenizer)
    else:
        policy = TransformersPolicy(*tiny_model(), max_new_tokens=32)
    env = gym.make_vec("CodeExec-v0", num_envs=4, suite="starter")
    summary = collect(env, policy, episodes=8)
    env.close()
    print(f"{summary.collected} episodes, mean reward {summary.mean_return:.3f}, {summary.without_code} without code")
