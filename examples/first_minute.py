"""Right answers, wrong answers and cheats to one task: what each earns, and why.

The cheats of `first_minute/answers.jsonl` all pass where an exit code or an exception decides; `benchmarks/cheats.py`
compares. To look at each of them: `code-env report` with the results of `code-env eval`, as `scripts/run` does.
"""

import json
import textwrap
from pathlib import Path

from code_env import extract_code, judge_many, load_suite, make_executor

folder = Path(__file__).with_name("first_minute")
(task,) = load_suite(folder / "tasks.jsonl")
rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
answers = [(task, extract_code(row["completion"], entry_point=task.entry_point)) for row in rows]
with make_executor("local") as executor:
    verdicts = judge_many(answers, executor)
for row, verdict in zip(rows, verdicts, strict=True):
    failed = next((case.message for case in verdict.cases if not case.passed), "")
    why = textwrap.shorten(failed, 80, placeholder=" …")
    print(f"{row['about']:<54} reward {float(verdict.passed)}  {why}".rstrip())
