"""The command `code-env`: play episodes, score completions, prove suites."""

from __future__ import annotations

import contextlib
import difflib
import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import gymnasium as gym
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

import code_env
from code_env import evaluation
from code_env.envs.code_exec_vector import MAX_ENVS
from code_env.errors import CodeEnvError, ExecutorError, TaskError
from code_env.executors import executor_names, make_executor
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.extract import Extraction
from code_env.importing import named_function
from code_env.judging import Outcome, Validation, validate
from code_env.registration import DEFAULT_REWARDS, ENTRY_POINT, environment_id
from code_env.report.ansi import step_panels
from code_env.report.collecting import CollectionBar, collection_table
from code_env.rollout import Policy, collect
from code_env.tasks import TaskSuite, load_suite, row_from_task, save_suite
from code_env.tasks.definitions import environment_names, load_definition
from code_env.text import printable
from code_env.wrappers.applying import REWARDS

if TYPE_CHECKING:
    from code_env.doctor import Examination  # Linux only

app = typer.Typer(
    name="code-env",
    help="A Gymnasium environment for reinforcement learning on code.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_WIDE = 10_000
"""Width of a table that is not shown on a terminal, in characters."""

_DEFAULT_KS = "1,10,100"

_out = Console()
_err = Console(stderr=True)

_Executor = Annotated[str, typer.Option("--executor", "-e", help="Name of the executor; see `code-env list`.")]
_Workers = Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Programs run at once; cores by default.")]
_Format = Annotated[
    str | None, typer.Option("--format", help="Format of the suite, see docs/formats.md; found out if left out.")
]


@contextlib.contextmanager
def _user_errors() -> Iterator[None]:
    """Errors that a user can mend end the command with one line and exit code 2."""
    try:
        yield
    except (CodeEnvError, gym.error.Error) as error:
        _err.print(f"error: {printable(str(error))}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=_err, transient=True, disable=not _err.is_terminal)


def _say(text: str, style: str | None = None) -> None:
    """Print a line that may hold foreign text; it is never cut or broken."""
    _out.print(printable(text), style=style, markup=False, highlight=False, soft_wrap=True)


def _show_version(asked: bool) -> None:
    if asked:
        _say(f"code-env {code_env.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A Gymnasium environment for reinforcement learning on code."""


@app.command()
def run(
    env: Annotated[str, typer.Argument(help="Name of an environment (`starter`), a Gymnasium id, or a file of tasks.")],
    samples: Annotated[
        Path | None, typer.Option("--samples", "-s", help="Play completions from this file of JSON lines.")
    ] = None,
    episodes: Annotated[int | None, typer.Option("--episodes", "-n", min=1, help="All by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first reset.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Show prompt, program and every case.")] = False,
    executor: Annotated[
        str | None, typer.Option("--executor", "-e", help="Name of the executor; the environment's own by default.")
    ] = None,
    workers: _Workers = None,
) -> None:
    """Play episodes with the reference solutions, or with completions from a file."""
    with _user_errors(), contextlib.closing(_make(env, executor, workers)) as made:
        suite: TaskSuite = made.get_wrapper_attr("suite")
        chosen = evaluation.read_samples(samples, suite) if samples else evaluation.reference_samples(suite)
        rewards = []
        for number, sample in enumerate(itertools.islice(chosen, episodes)):
            made.reset(seed=seed if number == 0 else None, options={"task_id": sample.task_id})
            rewards.append(_play(made, sample.completion, full))
    count = "1 episode" if len(rewards) == 1 else f"{len(rewards)} episodes"
    _say(f"{count}, mean reward {sum(rewards) / len(rewards):.3f}")


def _make(env: str, executor: str | None, workers: int | None, **kwargs: Any) -> Any:
    """The environment that a name, an id or a path stands for; with `num_envs`, many of it.

    Raises:
        CodeEnvError: If it stands for none of this package.
    """
    make = gym.make_vec if "num_envs" in kwargs else gym.make
    kwargs["order"] = "sequential"
    if executor is not None:
        kwargs["executor"] = executor
    if workers is not None:
        kwargs["executor_kwargs"] = {"workers": workers}
    if Path(env).is_file():
        return make("CodeExec-v0", suite=env, **kwargs)
    env_id = environment_id(env) if env in environment_names() else env
    spec = gym.registry.get(env_id)
    if spec is None or spec.entry_point != ENTRY_POINT:
        known = ", ".join([*environment_names(), "CodeExec-v0", "CodeRepair-v0"])
        near = difflib.get_close_matches(env, environment_names(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise CodeEnvError(f"{env!r} is neither an environment of this package ({known}) nor a file of tasks{hint}")
    return make(env_id, **kwargs)


def _play(env: gym.Env[Any, Any], completion: str, full: bool) -> float:
    """Play one episode with one completion, given anew each turn, and show each step."""
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(completion)
        total, over = total + float(reward), terminated or truncated
        task = env.get_wrapper_attr("suite").task(info["task_id"])
        if full:
            _out.print(step_panels(task, info))
            continue
        terms = " + ".join(f"{name} {value:.3f}" for name, value in info["reward_terms"].items())
        cases = f"{info['tests_passed']}/{info['tests_total']}"
        _say(f"{task.id:<28} {info['outcome']:<12} {cases:>7}  reward {reward:.3f} = {terms or '0'}")
    return total


@app.command("eval")
def evaluate(
    suite: Annotated[str, typer.Option("--suite", help="Name of a suite, or path of its file.")],
    samples: Annotated[
        Path | None, typer.Argument(help="File of JSON lines with task_id and completion.", show_default=False)
    ] = None,
    references: Annotated[bool, typer.Option("--references", help="Score the suite's references instead.")] = False,
    field: Annotated[str, typer.Option(help="Field of a sample that holds the completion.")] = "completion",
    k: Annotated[str, typer.Option("--k", help="Values of k, separated by commas.")] = _DEFAULT_KS,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Results file; SAMPLES with _results by default.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Take completions as code; look for no fences.")] = False,
    format: _Format = None,
    executor: _Executor = DEFAULT_EXECUTOR,
    workers: _Workers = None,
) -> None:
    """Score completions: pass@k with standard errors, and one JSON line per sample."""
    with _user_errors():
        if (samples is None) == (not references):
            raise CodeEnvError("give either a file of samples or --references")
        ks = _parse_ks(k)
        tasks = load_suite(suite, format)
        rows = evaluation.read_samples(samples, tasks, field) if samples else evaluation.reference_samples(tasks)
        target = output or _results_path(samples or Path(f"{tasks.name}_references.jsonl"))
        if samples is not None and target.resolve() == samples.resolve():
            raise CodeEnvError(f"the results would replace the samples in {samples}; give another --output")
        extract: Extraction = "raw" if raw else "fence"
        results = []
        with (
            make_executor(executor, **({"workers": workers} if workers else {})) as runner,
            _results_file(target) as file,
            _progress() as progress,
        ):
            bar = progress.add_task("judging", total=len(rows))
            for sample, verdict in evaluation.judge_samples(tasks, rows, runner, extract):
                evaluation.write_row(file, evaluation.sample_row(sample, verdict))
                results.append((sample, verdict))
                progress.advance(bar)
        summary = evaluation.summarize(tasks, results, ks)
        _show_summary(summary, missing=set(ks) - {estimate.k for estimate in summary.pass_at_k})
    _say(f"one line per sample in {target}")


@contextlib.contextmanager
def _results_file(target: Path) -> Iterator[TextIO]:
    """A file that takes its name when it is complete; until then, or after an interrupt, it is `.partial`."""
    partial = target.with_name(target.name + ".partial")
    try:
        file = partial.open("w", encoding="utf-8")
    except OSError as error:
        raise CodeEnvError(f"the results cannot be written: {error}") from None
    with file:
        try:
            yield file
        except KeyboardInterrupt:
            _err.print(f"interrupted; what was judged so far is in {partial}", highlight=False, soft_wrap=True)
            raise
    partial.replace(target)


def _parse_ks(text: str) -> list[int]:
    try:
        ks = [int(part) for part in text.split(",")]
    except ValueError:
        ks = []
    if not ks or min(ks) < 1:
        raise CodeEnvError(f"--k takes whole numbers of at least 1, separated by commas; got {text!r}")
    return ks


def _results_path(samples: Path) -> Path:
    name = samples.name.removesuffix(".gz").removesuffix(".jsonl")
    return samples.with_name(f"{name}_results.jsonl")


def _show_summary(summary: evaluation.Summary, missing: set[int]) -> None:
    table = Table("k", "pass@k", "standard error", "tasks", title="pass@k", title_justify="left")
    for estimate in summary.pass_at_k:
        table.add_row(str(estimate.k), f"{estimate.value:.4f}", f"{estimate.standard_error:.4f}", str(estimate.tasks))
    if summary.pass_at_k:
        _out.print(table)
    if missing:
        _say(f"no task has samples enough for k = {', '.join(map(str, sorted(missing)))}")
    passed = summary.outcomes.get(Outcome.PASS, 0)
    _out.print(f"samples passed: {passed} of {summary.samples}", highlight=False)
    _out.print(f"tasks with a passing sample: {summary.tasks_passed} of {summary.tasks}", highlight=False)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(summary.outcomes.items()))
    judges = ", ".join(f"{count} {judge}" for judge, count in sorted(summary.judges.items()))
    _out.print(f"outcomes: {outcomes}; judged: {judges or 'none'}", highlight=False)
    if summary.tasks_missing:
        _out.print(f"{summary.tasks_missing} tasks of the suite have no sample", style="yellow", highlight=False)
    left_out = summary.outcomes.get(Outcome.NO_VERDICT, 0)
    if left_out:
        _out.print(f"{left_out} samples have no verdict and are left out of pass@k", style="yellow", highlight=False)
        for estimate in summary.pass_at_k:
            between = f"between {estimate.lower:.4f} and {estimate.upper:.4f}"
            _out.print(f"with them pass@{estimate.k} would lie {between}", style="yellow", highlight=False)


@app.command()
def rollout(
    output: Annotated[Path, typer.Argument(help="File of JSON lines to write, one for each episode.")],
    policy: Annotated[
        str,
        typer.Option("--policy", "-p", help="Who answers: `references`, `blank`, or a function's package.module:name."),
    ] = "references",
    env: Annotated[
        str, typer.Option("--env", help="Name of an environment, a Gymnasium id, or a file of tasks.")
    ] = "starter",
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1)] = 100,
    num_envs: Annotated[int, typer.Option("--num-envs", min=1, max=MAX_ENVS, help="Environments side by side.")] = 32,
    max_turns: Annotated[
        int | None, typer.Option("--max-turns", min=1, help="Answers in an episode; the environment's own by default.")
    ] = None,
    group_size: Annotated[int, typer.Option("--group-size", min=1, help="Episodes in a row with the same task.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Decides which task each episode has.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a file that is there.")] = False,
    alarm_rate: Annotated[
        float, typer.Option(min=0, max=1, help="Share of episodes without a verdict above which an alarm is raised.")
    ] = 0.05,
    executor: Annotated[
        str | None, typer.Option("--executor", "-e", help="Name of the executor; the environment's own by default.")
    ] = None,
    workers: _Workers = None,
) -> None:
    """Collect trajectories; a killed collection goes on with --resume. Exit code 1 if the alarm was raised."""
    with _user_errors():
        kwargs = {} if max_turns is None else {"max_turns": max_turns}
        made = _make(env, executor, workers, num_envs=num_envs, **kwargs)
        with contextlib.closing(made), CollectionBar(_err) as bar:
            summary = collect(
                made,
                _policy(policy, made.unwrapped.suite),
                episodes,
                output,
                seed=seed,
                group_size=group_size,
                resume=resume,
                alarm_rate=alarm_rate,
                on_progress=bar,
                on_alarm=lambda message: _err.print(f"alarm: {message}", style="red", markup=False, soft_wrap=True),
            )
    _out.print(collection_table(summary))
    _say(f"one line per episode in {output}")
    if summary.alarms:
        raise typer.Exit(1)


def _policy(name: str, suite: TaskSuite) -> Policy:
    """The policy that a name stands for.

    Raises:
        CodeEnvError: If it stands for none.
    """
    if name == "references":
        references = {sample.task_id: sample.completion for sample in evaluation.reference_samples(suite)}
        return lambda prompts, infos: [references[info["task_id"]] for info in infos]
    if name == "blank":
        return lambda prompts, infos: [""] * len(prompts)
    if ":" not in name:
        raise CodeEnvError(f"--policy is `references`, `blank`, or package.module:function; got {name!r}")
    sys.path.insert(0, "")  # For modules in the directory where one is, as with `python -m`.
    try:
        return named_function(name)
    except LookupError as error:
        raise CodeEnvError(f"--policy: {error}") from None


@app.command("validate")
def validate_suite(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or path of its file.")],
    repetitions: Annotated[int, typer.Option("--repetitions", "-n", min=1, help="Judge each reference so often.")] = 3,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Set time limits by what references take on this host.")
    ] = False,
    write: Annotated[
        Path | None, typer.Option("--write", help="Save the suite as proven: all tasks, with modes and limits set.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    format: _Format = None,
    executor: _Executor = DEFAULT_EXECUTOR,
    workers: _Workers = None,
) -> None:
    """Prove a suite: references pass, answers that solve nothing do not. Exit code 1 if there are errors."""
    with _user_errors():
        tasks = load_suite(suite, format)
        if write is not None:
            _check_target(write, suite, tasks)
        with make_executor(executor, **({"workers": workers} if workers else {})) as runner, _progress() as progress:
            bar = progress.add_task("validating", total=len(tasks))
            found = validate(
                tasks,
                runner,
                repetitions=repetitions,
                calibrate=calibrate,
                progress=lambda done: progress.update(bar, completed=done),
            )
        if write is not None:
            _write_suite(found.suite, write)
    if as_json:
        typer.echo(json.dumps(_validation_row(found)))
    else:
        _show_validation(found)
        if write is not None:
            _say(f"the suite as proven is in {write}")
    if not found.sound:
        raise typer.Exit(1)


def _check_target(target: Path, source: str, tasks: TaskSuite) -> None:
    """Find out before the work whether its result can be written.

    Raises:
        CodeEnvError: If it cannot, or would replace what it was made from.
        TaskError: If a task holds what the package's own format has no form for.
    """
    path = load_definition(source).suite_path if source in environment_names() else Path(source)
    if target.exists() and target.samefile(path):
        raise CodeEnvError(
            f"the proven suite would replace the one it was made from; give another --write than {target}"
        )
    if target.is_dir() or not target.parent.is_dir():
        raise CodeEnvError(f"the proven suite cannot be written: {target} is no path of a file in a directory")
    for task in tasks:
        try:
            row_from_task(task)
        except TaskError as error:
            raise TaskError(f"the proven suite cannot be written: task {task.id!r}: {error}") from None


def _write_suite(suite: TaskSuite, target: Path) -> None:
    try:
        save_suite(suite, target)
    except OSError as error:
        raise CodeEnvError(f"the proven suite cannot be written: {error}") from None


def _validation_row(found: Validation) -> dict[str, Any]:
    return {
        "suite": found.suite.name,
        "tasks": len(found.suite),
        "sound_tasks": found.sound_tasks,
        "sound": found.sound,
        "errors": len(found.errors),
        "warnings": len(found.warnings),
        "findings": [
            {"task_id": finding.task_id, "level": finding.level, "kind": finding.kind, "problem": finding.problem}
            for finding in found.findings
        ],
    }


def _show_validation(found: Validation) -> None:
    if found.findings:
        table = Table("task", "level", "kind", "problem")
        for finding in (*found.errors, *found.warnings):
            style = "red" if finding.level == "error" else "yellow"
            cells = (Text(printable(finding.task_id)), Text(finding.level, style), finding.kind.value)
            table.add_row(*cells, Text(" ".join(printable(finding.problem).split("\n")), overflow="fold"))
        # In a file or a pipe each finding keeps to its line.
        (_out if _out.is_terminal else Console(width=_WIDE)).print(table)
    sound = f"{found.sound_tasks} of {len(found.suite)} tasks are sound"
    _out.print(f"{sound}; {len(found.errors)} errors, {len(found.warnings)} warnings", highlight=False)


@app.command("doctor")
def doctor(
    min_isolation: Annotated[str, typer.Option(help="The least level to be content with: contained or full.")] = (
        "contained"
    ),
    python: Annotated[str | None, typer.Option(help="Interpreter that runs programs.")] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Also run programs that try what they must not, and show what held.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what this machine grants the local executor. Exit code 1 below the least level, or if it did not hold."""
    with _user_errors():
        if sys.platform != "linux":
            raise ExecutorError(f"the local executor needs Linux, not {sys.platform}; there is nothing to examine")
        from code_env.abuses import SELECTION, Finding
        from code_env.doctor import examine

        def probing(findings: Iterable[Finding]) -> Iterator[Finding]:
            with _progress() as progress:
                yield from progress.track(findings, total=len(SELECTION), description="programs that try the jail")

        found = examine(min_isolation, python, probing if probe else None)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        _show_examination(found)
    if not found.passed:
        raise typer.Exit(1)


def _show_examination(found: Examination) -> None:
    _out.print(found.system, highlight=False)
    table = Table("layer", "granted", "needed for", "detail")
    for layer in found.layers:
        table.add_row(layer.name, "yes" if layer.granted else "no", layer.needed_for, Text(layer.detail))
    _out.print(table)
    for layer in found.layers:
        if layer.remedy:
            _out.print(Text(f"{layer.name} would need: {layer.remedy}"))
    _out.print(f"level: {found.level or 'none'} (at least {found.min_isolation} was asked for)", highlight=False)
    if found.why_not_full:
        _out.print(Text(f"why not full: {found.why_not_full}"))
    if found.timing:
        times = ", ".join(f"{name} {value} ms" for name, value in found.timing.items())
        _out.print(f"timing: {times}", highlight=False)
    if found.probe:
        table = Table("kind", "a program that", "held", "how it went")
        for finding in found.probe:
            table.add_row(finding.kind, finding.name, "yes" if finding.held else "NO", Text(printable(finding.detail)))
        _out.print(table)
        held = sum(finding.held for finding in found.probe)
        _out.print(f"probe: {held} of {len(found.probe)} held", highlight=False)


@app.command("list")
def list_all() -> None:
    """List environments, executors and rewards."""
    with _user_errors():
        table = Table("environment", "Gymnasium id", "tasks", "rewards", title="environments", title_justify="left")
        for name in environment_names():
            rewards = ", ".join(
                f"{key} {value}" for key, value in (load_definition(name).rewards or DEFAULT_REWARDS).items()
            )
            table.add_row(name, environment_id(name), str(len(load_suite(name))), rewards)
        _out.print(table)
        table = Table("executor", "isolation", "peer", "enforces", title="executors", title_justify="left")
        for name in executor_names():
            with make_executor(name) as executor:
                isolation = executor.describe()
            default = " (default)" if name == DEFAULT_EXECUTOR else ""
            table.add_row(name + default, isolation.level, isolation.peer, ", ".join(sorted(isolation.enforces)))
        _out.print(table)
        table = Table("reward", "wrapper", "what it does", title="rewards", title_justify="left")
        for name, wrapper in REWARDS.items():
            summary = (wrapper.__doc__ or "").partition("\n")[0]
            table.add_row(name, wrapper.__name__, summary)
        _out.print(table)


if __name__ == "__main__":
    app()
