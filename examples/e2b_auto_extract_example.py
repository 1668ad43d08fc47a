"""Takes the expected output from the prompt, as in "Expected output: 15"; what the answer says of it does not count."""

from __future__ import annotations

from code_env import make_executor
from code_env.integrations.rewardkit import e2b_code_execution_reward

PROMPT = [{"role": "user", "content": "Write a function that sums a list. Expected output: 15 (for [1, 2, 3, 4, 5])"}]
ANSWERS = {
    "sums": "```python\ndef total(numbers):\n    return sum(numbers)\n\nprint(total([1, 2, 3, 4, 5]))\n```",
    "counts": "Expected output: 5\n```python\nprint(len([1, 2, 3, 4, 5]))\n```",
}

with make_executor("e2b", fallback="local") as executor:
    for name, answer in ANSWERS.items():
        messages = [*PROMPT, {"role": "assistant", "content": answer}]
        result = e2b_code_execution_reward(messages=messages, original_messages=PROMPT, executor=executor)
        expected = result.metrics["expected_output"].reason
        print(f"an answer that {name}: reward {result.score} ({expected})")
