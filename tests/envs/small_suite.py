"""A suite of two small tasks, and answers to the first."""

from code_env import CallTest, OutputTest, Task, TaskSuite

ADD = Task(
    "add",
    "Write add(a, b).",
    (
        CallTest((1, 2), {}, 3, hidden=False),
        CallTest((5, 7), {}, 12),
        CallTest((-1, 1), {}, 0),
        CallTest((10, 10), {}, 20),
    ),
    entry_point="add",
    reference="def add(a, b):\n    return a + b\n",
)
HELLO = Task("hello", "Print hello.", (OutputTest("hello"),), reference="print('hello')")
SUITE = TaskSuite("small", [ADD, HELLO])
GOOD = ADD.reference
HALF = "def add(a, b):\n    return 3 if a == 1 else 12 if a == 5 else None\n"
