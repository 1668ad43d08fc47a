"""Two tasks, and their rows as TRL gets them."""

from code_env import Limits, OutputTest, StdinTest, Task, TaskSuite

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
