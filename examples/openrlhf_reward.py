"""OpenRLHF: the file that `--reward.remote_url` names. It needs `--algo.dynamic_filtering_enable`, which drops nan.

Run as a script it scores two responses as OpenRLHF does. The rows are those of
`code_env.load_suite("starter").to_dataset("openrlhf")`, with `--data.input_key input --data.label_key label`.
"""

from typing import Any

import code_env
from code_env.integrations import openrlhf


def reward_func(queries: list[str], prompts: list[str], labels: list[str], **kwargs: Any) -> dict[str, Any]:
    """A pass is what counts, and tests that pass help on the way."""
    return openrlhf.reward_func(queries, prompts, labels, rewards={"pass@1": 0.5, "tests": 0.5}, **kwargs)


def main() -> None:
    suite = code_env.load_suite("starter")
    row = suite.to_rows("openrlhf")[0]
    prompt = f"<|im_start|>user\n{row['input']}<|im_end|>\n<|im_start|>assistant\n"
    for response in (f"```python\n{suite[0].reference}\n```", "def answer(): return 42"):
        query = f"{prompt}{response}<|im_end|>"
        found = reward_func([query], [prompt], [row["label"]])
        print(f"reward {found['rewards'][0]:.2f}  {found}")


if __name__ == "__main__":
    main()
