"""verl: the file that `reward.custom_reward_function.path` names, with `name=compute_score`.

Run as a script it scores two responses as verl does, and prints a row of the data set. verl reads parquet:
`code_env.load_suite("starter").to_dataset("verl").to_parquet("starter.parquet")` writes it.
"""

import json
from typing import Any

import code_env
from code_env.integrations import verl


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None, **kwargs: Any
) -> dict[str, float]:
    """Nine tenths for the tests, one for a response with a single fenced block."""
    rewards = {"tests": 0.9, "format": 0.1}
    return verl.compute_score(data_source, solution_str, ground_truth, extra_info, rewards=rewards, **kwargs)


def main() -> None:
    suite = code_env.load_suite("starter")
    row = suite.to_rows("verl")[0]
    shown = {**row, "reward_model": {**row["reward_model"], "ground_truth": "..."}}
    print(json.dumps(shown, indent=1))
    for solution in (f"Here it is:\n```python\n{suite[0].reference}\n```", "def answer(): return 42"):
        found = compute_score(
            data_source=row["data_source"],
            solution_str=solution,
            ground_truth=row["reward_model"]["ground_truth"],
            extra_info=row["extra_info"],
        )
        print(f"reward {found['score']:.2f}  {found}")


if __name__ == "__main__":
    main()
