"""Says what is to happen without a key for E2B: an error, or another executor in its place.

Without `fallback` nothing runs elsewhere than it was asked to. With it, a warning says that programs run here.
"""

from __future__ import annotations

import warnings

from code_env import ExecutorError, judge, load_suite, make_executor

try:
    make_executor("e2b").close()
    print("there is a key: programs run in the cloud")
except ExecutorError as error:
    print(f"without a fallback: {error}")

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    executor = make_executor("e2b", fallback="local")
for warning in caught:
    print(f"with one: {warning.message}")

suite = load_suite("starter")
with executor:
    for task in list(suite)[:3]:
        verdict = judge(task, task.reference or "", executor)
        print(f"{task.id}: reward {verdict.fraction}, judged {verdict.judge} at level {executor.describe().level!r}")
