"""TensorBoard, W&B and MLflow: functions that log the metrics of an environment by the tracker's own client.

Each function here returns a callable `log(metrics, step)`, for `code_env.metrics` in a loop of your own, or for
`code_env.RecordMetrics`. This module imports no client; TensorBoard's and MLflow's are imported when they are used. The
extra `trackers` has all three.

A value that is NaN, because nothing is known, is logged as NaN: all three show a gap.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["mlflow", "tensorboard", "wandb"]

Log = Callable[[Mapping[str, float], int], None]
"""Logs metrics, given the number of steps so far."""

_NOT_IN_MLFLOW = re.compile(r"[^\w.\-/: ]")
"""Characters that MLflow refuses in names of metrics, as in `pass@1`."""


def tensorboard(writer: Any, prefix: str = "code/") -> Log:
    """Log to TensorBoard.

    Args:
        writer: A folder, or a writer with `add_scalar` and `flush`: `SummaryWriter` of `torch.utils.tensorboard` or
            `tensorboardX`, or `tensorboard.summary.Writer`.
        prefix: The beginning of each tag.

    Raises:
        ImportError: If a folder is given and TensorBoard is not installed.
        TypeError: If `writer` is neither.

    Example:
        >>> log = tensorboard(getfixture("tmp_path"))
        >>> log({"passed": 0.5, "reward/tests": 0.75}, step=1)
    """
    if isinstance(writer, str | os.PathLike):
        try:
            from tensorboard.summary import Writer
        except ImportError as error:
            raise _missing("a folder", "TensorBoard", "tensorboard", error) from error
        writer = Writer(os.fspath(writer))
    elif not hasattr(writer, "add_scalar"):
        raise TypeError(f"writer must be a folder, or a writer with add_scalar; got {type(writer).__name__}")

    def log(metrics: Mapping[str, float], step: int) -> None:
        for key, value in metrics.items():
            writer.add_scalar(prefix + key, value, step)
        writer.flush()  # So nothing is lost if the run is killed, and nobody has to close the writer of a folder.

    return log


def wandb(run: Any, prefix: str = "code/") -> Log:
    """Log to a run of Weights & Biases.

    The number of steps is logged as `code/step`, and the charts use it as their axis. W&B's own step only goes up, and
    W&B drops what comes later with a lower step. So if you log with `run.log(..., step=...)` yourself, log the metrics
    in the same call instead: `run.log({"loss": loss, **code_env.metrics(info)}, step=step)`.

    Args:
        run: The run that `wandb.init()` has returned.
        prefix: The beginning of each name.

    Raises:
        TypeError: If `run` is not a run.
    """
    if not hasattr(run, "define_metric"):
        raise TypeError(f"run must be what wandb.init() has returned (pip install wandb); got {type(run).__name__}")
    axis = f"{prefix}step"
    run.define_metric(axis, hidden=True)
    run.define_metric(f"{prefix}*", step_metric=axis)

    def log(metrics: Mapping[str, float], step: int) -> None:
        run.log({axis: step, **{prefix + key: value for key, value in metrics.items()}})

    return log


def mlflow(client: Any = None, run_id: str | None = None, prefix: str = "code/") -> Log:
    """Log to a run of MLflow.

    A character that MLflow refuses in names is replaced by `_`: `pass@1` becomes `pass_1`. MLflow's store in a folder
    (`./mlruns`), which MLflow no longer recommends, cannot keep `reward` beside `reward/tests`. Use a database
    (`sqlite:///mlflow.db`) or a server.

    Args:
        client: An `MlflowClient`; None for a new client.
        run_id: The id of the run; None for the active run of `mlflow.start_run()`.
        prefix: The beginning of each name.

    Raises:
        ImportError: If MLflow is not installed.
        ValueError: If `run_id` is None and no run is active.
    """
    try:
        from mlflow import MlflowClient, active_run
        from mlflow.entities import Metric
    except ImportError as error:
        raise _missing("code_env.integrations.trackers.mlflow", "MLflow", "mlflow-skinny", error) from error
    if run_id is None:
        run = active_run()
        if run is None:
            raise ValueError("no run of MLflow is active; call mlflow.start_run() first, or give run_id")
        run_id = run.info.run_id
    client = MlflowClient() if client is None else client

    def log(metrics: Mapping[str, float], step: int) -> None:
        now_ms = time.time_ns() // 1_000_000
        names = {_NOT_IN_MLFLOW.sub("_", prefix + key): value for key, value in metrics.items()}
        client.log_batch(run_id, metrics=[Metric(name, value, now_ms, step) for name, value in names.items()])

    return log


def _missing(what: str, client: str, package: str, error: ImportError) -> ImportError:
    return ImportError(
        f"{what} needs {client}: pip install {package}, or code-exec-env[trackers] for all three trackers ({error})"
    )
