"""A suite with tasks of each kind."""

from code_env import AssertTest, CallTest, OutputTest, StdinTest, Task, TaskSuite

TASKS = [
    Task(
        "add",
        "Write add(a, b).",
        (CallTest((1, 2), {}, 3, hidden=False, weight=2.0), CallTest((5, 7), {}, 12), CallTest((0, 1), {}, 1)),
        entry_point="add",
        reference="def add(a, b):\n    return a + b\n",
    ),
    Task("hello", "Print hello.", (OutputTest("hello"),), reference="print('hello')"),
    Task("échec", "Écris « λ→∞ » 你好 🦊", (StdinTest("你\n", "λ→∞ 你\n"),), reference="print('λ→∞', input())"),
    Task("twice", "twice(x)", (AssertTest("assert twice(2) == 4\nassert twice('ab') == 'abab'"),), entry_point="twice"),
]
SUITE = TaskSuite("mixed", TASKS)
