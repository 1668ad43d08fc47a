"""Scores an answer in JavaScript, in E2B's cloud where there is a key, else on this machine, which needs Node then."""

from __future__ import annotations

from code_env import make_executor
from code_env.integrations.rewardkit import e2b_code_execution_reward

PROMPT = "Print the even ones among the numbers from 1 to 10, in JavaScript, separated by blanks."
RIGHT = """```javascript
const numbers = Array.from({ length: 10 }, (_, index) => index + 1);
console.log(numbers.filter((number) => number % 2 === 0).join(" "));
```"""
WRONG = """```javascript
console.log([1, 3, 5, 7, 9].join(" "));
```"""

with make_executor("e2b", fallback="local") as executor:
    for answer in (RIGHT, WRONG):
        messages = [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": answer}]
        result = e2b_code_execution_reward(
            messages=messages, expected_output="2 4 6 8 10", language="javascript", executor=executor
        )
        print(f"reward {result.score}: {result.metrics['output_match'].reason}")
