"""The metric that `evaluate.load(code_env.integrations.code_eval.metric_path())` loads.

evaluate copies this file to a cache of its own and imports it there, so it holds no more than evaluate asks for. What
it does is in `code_env.integrations.code_eval`.
"""

from typing import Any

import datasets
import evaluate

from code_env.integrations.code_eval import compute


class CodeEval(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types.
    """pass@k of candidate programs, judged apart from their tests."""

    def _info(self) -> evaluate.MetricInfo:
        features = {
            "predictions": datasets.Sequence(datasets.Value("string")),
            "references": datasets.Value("string"),
        }
        return evaluate.MetricInfo(
            description="pass@k of programs that are run in a sandbox, apart from their tests.",
            citation="",
            inputs_description=compute.__doc__ or "",
            features=datasets.Features(features),
        )

    def _compute(self, predictions: list[list[str]], references: list[str], **options: Any) -> Any:
        return compute(predictions, references, **options)
