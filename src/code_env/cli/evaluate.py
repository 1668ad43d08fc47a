"""`code-env eval`: score a file of completions."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from code_env import evaluation
from code_env.errors import CodeEnvError
from code_env.executors import Executor
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.extract import Extraction
from code_env.judging import Outcome
from code_env.judging.rows import judged_by
from code_env.numbered_lines import NumberedLines, Row
from code_env.output_file import output_path, require_other
from code_env.tasks import TaskSuite, load_suite
from code_env.tasks.loading import suite_path
from code_env.text import clip, printable

from .application import app
from .console import (
    ALL_KS,
    BaseUrlOption,
    ConcurrencyOption,
    ExecutorOption,
    FormatOption,
    JsonOption,
    KsOption,
    MaxTokensOption,
    SamplesPerTaskOption,
    SystemOption,
    TemperatureOption,
    TimeoutOption,
    WorkersOption,
    chat_model,
    limits_of,
    note_isolation,
    open_executor,
    out,
    parse_ks,
    print_json,
    progress_bar,
    refuse_model_options,
    say,
    told_interrupt,
    user_errors,
)
from .generate import answer_suite, samples_line, samples_path

_EXAMPLE_CHARS = 200
_DIFFERS = "sample, task, limit, executor, version or --raw"


@app.command("eval")
def evaluate(
    context: typer.Context,
    suite: Annotated[str, typer.Option("--suite", help="Name of a suite, or path of its file.")],
    samples: Annotated[
        Path | None, typer.Argument(help="File of JSON lines with task_id and completion.", show_default=False)
    ] = None,
    references: Annotated[bool, typer.Option("--references", help="Score the suite's references instead.")] = False,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Have this model answer the suite first, as `generate` does.")
    ] = None,
    base_url: BaseUrlOption = None,
    samples_per_task: SamplesPerTaskOption = 1,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
    system: SystemOption = None,
    concurrency: ConcurrencyOption = 16,
    field: Annotated[str, typer.Option(help="Name of the field that holds the completion.")] = "completion",
    k: KsOption = ALL_KS,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Score only the first N samples.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Results file; by default in this folder, with the name of SAMPLES and _results. With --model, the "
            "answers are in a file of this name and _samples.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an evaluation that was interrupted.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Take completions as code; look for no fences.")] = False,
    as_json: JsonOption = False,
    format: FormatOption = None,
    executor: ExecutorOption = DEFAULT_EXECUTOR,
    workers: WorkersOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Score completions: pass@k with standard errors, and one JSON line per sample.

    Example: code-env eval samples.jsonl --suite HumanEval.jsonl.gz --k 1,10

    Example: code-env eval --suite starter --model Qwen3 --base-url http://127.0.0.1:8000/v1
    """
    with user_errors():
        if [samples is not None, references, model is not None].count(True) != 1:
            raise CodeEnvError("give a file of samples, --references or --model, and only one of them")
        refuse_model_options(context)
        ks = parse_ks(k)
        if output is not None:
            output_path(output)  # It is refused before a model is asked.
        tasks = load_suite(suite, format).with_limits(limits_of(timeout))
        told: dict[str, Any] = {}
        if model is not None:
            samples = samples_path(tasks) if output is None else _named_after(output, "_samples")
        target = output or _named_after(Path(samples.name if samples else f"{tasks.name}_references"), "_results")
        require_other(target, [samples, suite_path(suite, format)])
        if model is not None and samples is not None:
            with chat_model(context) as asked:
                told = answer_suite(tasks, asked, samples, samples_per_task, limit, resume=resume)
        chosen = evaluation.read_samples(samples, tasks, field) if samples else evaluation.reference_samples(tasks)
        wanted = len(chosen[:limit])
        extract: Extraction = "raw" if raw else "fence"
        with open_executor(executor, workers) as runner:
            about = judged_by(runner) | {"extract": extract}
            is_ours = _rows_of(chosen, tasks, about)
            with NumberedLines.opened(target, is_ours, wanted, differs=_DIFFERS, resume=resume) as file:
                _judge(tasks, chosen[:wanted], runner, file, extract, about)
                # The file can have more, of a call with a larger limit.
                summary = evaluation.summarize(tasks, itertools.islice(file.rows(), wanted), ks)
        asked_ks = set() if k == ALL_KS else set(ks)  # The user did not choose what is shown by default.
        missing = asked_ks - {estimate.k for estimate in summary.pass_at_k}
    if as_json:
        print_json(dataclasses.asdict(summary) | {"results": str(target)} | ({"generated": told} if told else {}))
        return
    if told:
        say(samples_line(told))
    _show_summary(summary, missing)
    say(f"one line per sample in {target}")


def _judge(
    tasks: TaskSuite,
    samples: list[evaluation.Sample],
    runner: Executor,
    file: NumberedLines,
    extract: Extraction,
    about: dict[str, str],
) -> None:
    """Judge the samples that have no line in the results file yet, and write their lines."""
    note_isolation(runner)
    judged = file.numbers
    with (
        progress_bar() as progress,
        told_interrupt(lambda: f"{len(file.numbers)} of {len(samples)} samples are judged and kept"),
    ):
        bar = progress.add_task("judging", total=len(samples), completed=len(judged))
        for number, verdict in evaluation.judge_samples(tasks, samples, runner, extract, leave_out=judged):
            sample = samples[number]
            file.write(evaluation.sample_row(number, sample, tasks.task(sample.task_id), verdict, about))
            progress.advance(bar)


def _rows_of(samples: list[evaluation.Sample], tasks: TaskSuite, about: dict[str, str]) -> Callable[[Row], bool]:
    """Return what tells whether a line of an interrupted evaluation belongs to this evaluation."""

    def is_ours(row: Row) -> bool:
        sample = samples[row["sample"]]
        return evaluation.is_row_of(row, sample, tasks.task(sample.task_id), about)

    return is_ours


def _named_after(path: Path, ending: str) -> Path:
    """Return the file of JSON lines beside another whose name is that of the other and an ending."""
    return path.parent / f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}{ending}.jsonl"


def _show_summary(summary: evaluation.Summary, missing: set[int]) -> None:
    table = Table("k", "pass@k", "standard error", "tasks", title="pass@k", title_justify="left")
    for estimate in summary.pass_at_k:
        error = f"{estimate.standard_error:.4f}" if estimate.tasks > 1 else "-"
        table.add_row(str(estimate.k), f"{estimate.value:.4f}", error, str(estimate.tasks))
    if summary.pass_at_k:
        out.print(table)
    if missing:
        say(f"no task has samples enough for k = {', '.join(map(str, sorted(missing)))}")
    passed = summary.outcomes.get(Outcome.PASS, 0)
    out.print(f"samples passed: {passed} of {summary.samples}", highlight=False)
    out.print(f"tasks with a passing sample: {summary.tasks_passed} of {summary.tasks}", highlight=False)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(summary.outcomes.items()))
    judges = ", ".join(f"{count} {judge}" for judge, count in sorted(summary.judges.items()))
    out.print(f"outcomes: {outcomes}; judged: {judges or 'none'}", highlight=False)
    out.print(f"time, added up over all samples: {summary.timing}", highlight=False)
    example = summary.without_code_example
    if example is not None:
        shown = printable(clip(example.completion, _EXAMPLE_CHARS))
        count = summary.without_code
        hold = "1 sample holds no code," if count == 1 else f"{count} samples hold no code, for example"
        told = f"{hold} one for {example.task_id}: {shown!r}"
        out.print(told, style="yellow", highlight=False)
    if summary.tasks_missing:
        out.print(f"{summary.tasks_missing} tasks of the suite have no sample", style="yellow", highlight=False)
    left_out = summary.outcomes.get(Outcome.NO_VERDICT, 0)
    if left_out:
        out.print(f"{left_out} samples have no verdict and are left out of pass@k", style="yellow", highlight=False)
        for estimate in summary.pass_at_k:
            between = f"between {estimate.lower:.4f} and {estimate.upper:.4f}"
            out.print(f"with them pass@{estimate.k} would lie {between}", style="yellow", highlight=False)
