"""Metrics in TensorBoard, W&B and MLflow, written and read back by their own clients; no network is used."""

import builtins
import json
import math

import gymnasium as gym
import pytest

from code_env import RecordMetrics, RewardError
from code_env.integrations import trackers
from code_env.registration import make_code_exec, make_code_exec_vec
from code_env.wrappers import vector
from envs.small_suite import GOOD, HALF, SUITE
from support import BrokenExecutor, ImportedLate

event_accumulator = ImportedLate("tensorboard.backend.event_processing.event_accumulator")
summary = ImportedLate("tensorboard.summary")
tensor_util = ImportedLate("tensorboard.util.tensor_util")

ADD = {"task_id": "add"}
REWARDS = {"pass@1": 0.5, "tests": 1.0}


class Log(list):
    """Keeps what is logged."""

    def __call__(self, metrics, step):
        self.append((step, dict(metrics)))

    def of(self, key):
        return [(step, metrics[key]) for step, metrics in self]


def play(env, answers):
    for answer in answers:
        env.reset(seed=0, options=ADD)
        env.step(answer)


def logged_by(executor, log):
    """What is logged, by a tracker's `log` and by one that keeps it, of four steps of two environments, by two."""
    kept = Log()
    env = make_code_exec_vec(2, SUITE, executor, REWARDS)
    env = vector.RecordMetrics(vector.RecordMetrics(env, kept, every=2), log, every=2)
    play(env, [(GOOD, HALF), (HALF, HALF), (GOOD, GOOD), (GOOD, GOOD)])
    env.close()
    assert kept.of("passed") == [(2, 0.25), (4, 1)]
    assert kept.of("reward/pass@1") == [(2, 0.125), (4, 0.5)]
    return kept


def same(found, kept):
    return [step for step, _ in found] == [step for step, _ in kept] and [value for _, value in found] == pytest.approx(
        [value for _, value in kept], nan_ok=True
    )


# The wrapper


def test_one_environment_logs_the_mean_of_its_steps(executor):
    log = Log()
    env = RecordMetrics(make_code_exec(SUITE, executor, REWARDS), log, every=2)
    play(env, [GOOD, HALF, GOOD])
    assert log.of("passed") == [(2, 0.5)]
    env.close()
    env.close()
    assert log.of("passed") == [(2, 0.5), (3, 1)]


def test_steps_without_a_verdict_log_nan_and_steps_without_an_answer_nothing():
    log = Log()
    env = vector.RecordMetrics(make_code_exec_vec(2, SUITE, BrokenExecutor(), REWARDS), log)
    play(env, [(None, None), (GOOD, GOOD), (None, None)])
    env.close()
    ((step, found),) = log
    assert (step, found["valid"]) == (2, 0)
    assert math.isnan(found["passed"])


def test_it_is_part_of_a_spec(executor, tmp_path):
    log = trackers.tensorboard(tmp_path)
    env = RecordMetrics(gym.make("CodeExec-v0", suite="starter"), log, every=3)
    env = gym.wrappers.TimeLimit(env, 5)  # It copies the spec inside.
    recorded = [one for one in env.spec.additional_wrappers if one.name == "RecordMetrics"]
    assert [one.kwargs for one in recorded] == [{"log": log, "every": 3}]
    again = gym.make(env.spec)
    assert isinstance(again, RecordMetrics)
    env.close()
    again.close()


@pytest.mark.parametrize(
    ("log", "every", "message"),
    [
        ("tensorboard", 1, "log must be a function"),
        (print, 0, "every must be a whole"),
        (print, 1.5, "every must be a whole"),
    ],
)
def test_arguments_are_checked(executor, log, every, message):
    for env, wrapper in (
        (make_code_exec(SUITE, executor), RecordMetrics),
        (make_code_exec_vec(2, SUITE, executor), vector.RecordMetrics),
    ):
        with pytest.raises(RewardError, match=message):
            wrapper(env, log, every)
        env.close()


def test_it_wraps_environments_of_this_package():
    env = gym.make("CartPole-v1")
    with pytest.raises(RewardError, match="RecordMetrics wraps a CodeExecEnv"):
        RecordMetrics(env, print)
    env.close()


# TensorBoard


def events_of(folder):
    events = event_accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return events


@pytest.mark.parametrize("kind", [str, lambda path: path, lambda path: summary.Writer(str(path))])
def test_tensorboard_by_its_own_writer(executor, tmp_path, kind):
    kept = logged_by(executor, trackers.tensorboard(kind(tmp_path)))
    events = events_of(tmp_path)
    assert set(events.Tags()["tensors"]) == {f"code/{key}" for key in kept[0][1]}
    for key in kept[0][1]:
        found = [(one.step, tensor_util.make_ndarray(one.tensor_proto).item()) for one in events.Tensors(f"code/{key}")]
        assert same(sorted(found), kept.of(key))


@pytest.mark.filterwarnings("ignore::UserWarning:torch")
def test_tensorboard_by_the_writer_of_torch(executor, tmp_path):
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        kept = logged_by(executor, trackers.tensorboard(writer, prefix="eval/"))
        for key in ("passed", "reward", "reward/tests", "status/timeout"):
            found = [(one.step, one.value) for one in events_of(tmp_path).Scalars(f"eval/{key}")]
            assert same(found, kept.of(key))


def test_tensorboard_takes_no_other_writer():
    with pytest.raises(TypeError, match="a folder, or a writer with add_scalar; got NoneType"):
        trackers.tensorboard(None)


# W&B


def records_of(path):
    """The records in a file of W&B, by W&B's own messages; its form is that of LevelDB's log, in blocks of 32 KiB."""
    from wandb.proto import wandb_internal_pb2

    data, place, found, part = path.read_bytes(), 7, [], b""
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        part += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # A whole record, or the last part of one.
            found.append(wandb_internal_pb2.Record.FromString(part))
            part = b""
    return found


def test_wandb_offline(executor, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="W&B is not installed: pip install wandb")
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"WANDB_{kind}_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    with wandb.init(mode="offline", dir=str(tmp_path), project="test", settings={"silent": True}) as run:
        kept = logged_by(executor, trackers.wandb(run))
        assert {key: run.summary[f"code/{key}"] for key in ("passed", "reward/pass@1")} == {
            "passed": 1,
            "reward/pass@1": 0.5,
        }
    wandb.teardown()  # Until then its service may still write.
    (path,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    records = records_of(path)
    rows = [
        {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    for key in kept[0][1]:
        assert same([(row["code/step"], float(row[f"code/{key}"])) for row in rows], kept.of(key))
    axes = {record.metric.glob_name or record.metric.name: record.metric.step_metric for record in records}
    assert axes["code/*"] == "code/step"


def test_wandb_takes_runs_only():
    with pytest.raises(TypeError, match=r"wandb.init\(\) has returned .*; got NoneType"):
        trackers.wandb(None)


# MLflow


@pytest.fixture(scope="module")
def mlflow_client(tmp_path_factory):
    """A client over a new database, which takes seconds to make."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DO_NOT_TRACK", "true")  # MLflow would report by the network that it is used.
        mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install mlflow-skinny")
        pytest.importorskip("alembic", reason="MLflow's database needs more than mlflow-skinny: pip install alembic")
        mlflow.set_tracking_uri(f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db")
        yield mlflow.MlflowClient()
        mlflow.set_tracking_uri(None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # SQLAlchemy's, about how MLflow uses it.
@pytest.mark.parametrize("given", ["client and run", "active run"])
def test_mlflow(executor, mlflow_client, given):
    import mlflow

    if given == "active run":
        with mlflow.start_run() as run:
            kept = logged_by(executor, trackers.mlflow())
        run_id = run.info.run_id
    else:
        run_id = mlflow_client.create_run("0").info.run_id
        kept = logged_by(executor, trackers.mlflow(mlflow_client, run_id))
    for key in kept[0][1]:
        history = mlflow_client.get_metric_history(run_id, f"code/{key.replace('@', '_')}")
        assert same([(one.step, one.value) for one in history], kept.of(key))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mlflow_needs_a_run(mlflow_client):
    with pytest.raises(ValueError, match=r"call mlflow.start_run\(\) first, or give run_id"):
        trackers.mlflow(mlflow_client)


# Where a client is not installed


@pytest.mark.parametrize(
    ("package", "make", "install"),
    [
        ("tensorboard", lambda: trackers.tensorboard("runs"), "pip install tensorboard"),
        ("mlflow", trackers.mlflow, "pip install mlflow-skinny"),
    ],
)
def test_an_absent_client_is_named(monkeypatch, package, make, install):
    original = builtins.__import__

    def absent(name, *args, **kwargs):
        if name.partition(".")[0] == package:
            raise ImportError(f"No module named {name!r}")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=rf"{install}, or code-exec-env\[trackers\]"):
        make()
