"""Scores an answer by what its program prints, in E2B's cloud where there is a key, else on this machine.

Set E2B_API_KEY, and install `code-exec-env[e2b]`, to have it run there.
"""

from __future__ import annotations

from code_env import make_executor
from code_env.integrations.rewardkit import e2b_code_execution_reward

ANSWER = """The product of all numbers up to n:

```python
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

print(factorial(5))
```
"""
MESSAGES = [
    {"role": "user", "content": "Write a function for the factorial of a number, and print that of 5."},
    {"role": "assistant", "content": ANSWER},
]

with make_executor("e2b", fallback="local") as executor:
    print(f"programs run at level {executor.describe().level!r}")
    result = e2b_code_execution_reward(messages=MESSAGES, expected_output="120", timeout=10, executor=executor)
print(f"reward {result.score}")
for name, metric in result.metrics.items():
    print(f"{name}: {metric.score}, {metric.reason}")
