"""`code-env rollout`: collect trajectories."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from code_env import evaluation
from code_env.envs.code_exec_vector import MAX_ENVS
from code_env.envs.rules import EpisodeRules
from code_env.errors import CodeEnvError
from code_env.extract import as_answer
from code_env.importing import named_function
from code_env.models import ModelPolicy
from code_env.rollout import Policy, collect

from .application import app
from .collection_bar import CollectionBar, collection_row, collection_table
from .console import (
    BaseUrlOption,
    ConcurrencyOption,
    JsonOption,
    MaxTokensOption,
    SystemOption,
    TemperatureOption,
    TimeoutOption,
    WorkersOption,
    call_given,
    chat_model,
    err,
    limits_of,
    modules_from_here,
    note_isolation,
    out,
    print_json,
    refuse_model_options,
    say,
    told_interrupt,
    user_errors,
)
from .environments import make_environment


@app.command()
def rollout(
    context: typer.Context,
    output: Annotated[Path, typer.Argument(help="File of JSON lines to write, one for each episode.")],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            help="Who answers: `references`, `blank`, or a function's package.module:name; `references` by default.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Name of the model that answers, as the endpoint knows it.")
    ] = None,
    base_url: BaseUrlOption = None,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
    system: SystemOption = None,
    concurrency: ConcurrencyOption = 16,
    env: Annotated[
        str, typer.Option("--env", help="Name of an environment, a Gymnasium id, or a file of tasks.")
    ] = "starter",
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1, help="How many episodes to collect.")] = 100,
    num_envs: Annotated[
        int, typer.Option("--num-envs", min=1, max=MAX_ENVS, help="How many environments play at once.")
    ] = 32,
    max_turns: Annotated[
        int | None,
        typer.Option(
            "--max-turns", min=1, help="How many answers an episode may have; the environment's own by default."
        ),
    ] = None,
    group_size: Annotated[
        int, typer.Option("--group-size", min=1, help="How many episodes in a row have the same task.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Decides which task each episode has.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an existing file.")] = False,
    alarm_rate: Annotated[
        float, typer.Option(min=0, max=1, help="Warn if a larger share of episodes has no verdict.")
    ] = 0.05,
    executor: Annotated[
        str | None, typer.Option("--executor", "-e", help="Name of the executor; the environment's own by default.")
    ] = None,
    workers: WorkersOption = None,
    timeout: TimeoutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Collect trajectories; a killed collection goes on with --resume.

    The exit code is 1 if the share of episodes without a verdict rose above --alarm-rate.

    Example: code-env rollout episodes.jsonl --env starter --model Qwen3 --base-url http://127.0.0.1:8000/v1
    """
    with user_errors():
        if model is not None and policy is not None:
            raise CodeEnvError("give --policy or --model, and only one of them")
        refuse_model_options(context)
        kwargs = {} if max_turns is None else {"max_turns": max_turns}
        made = make_environment(env, executor, workers, limits_of(timeout), num_envs=num_envs, **kwargs)
        note_isolation(made.unwrapped.executor)
        with (
            contextlib.closing(made),
            CollectionBar(err) as bar,
            told_interrupt(lambda: f"{bar.done} of {episodes} episodes are in {output}"),
            contextlib.ExitStack() as stack,
        ):
            if model is None:
                chosen = _policy(policy or "references", made.unwrapped.rules)
            else:
                chosen = ModelPolicy(stack.enter_context(chat_model(context)))
            summary = collect(
                made,
                chosen,
                episodes,
                output,
                seed=seed,
                group_size=group_size,
                resume=resume,
                alarm_rate=alarm_rate,
                on_progress=bar,
                on_alarm=lambda message: err.print(f"alarm: {message}", style="red", soft_wrap=True),
            )
    tokens = None
    if isinstance(chosen, ModelPolicy):
        tokens = {"prompt_tokens": chosen.prompt_tokens, "completion_tokens": chosen.completion_tokens}
    if as_json:
        print_json(collection_row(summary) | (tokens or {}) | {"file": str(output)})
    else:
        out.print(collection_table(summary))
        if tokens is not None:
            say(f"the model read {tokens['prompt_tokens']} tokens and wrote {tokens['completion_tokens']}")
        say(f"one line per episode in {output}")
    if summary.alarms:
        raise typer.Exit(1)


def _policy(name: str, rules: EpisodeRules) -> Policy:
    """Find the policy with a name.

    Raises:
        CodeEnvError: If the name does not stand for a policy.
    """
    if name == "references":
        samples = evaluation.reference_samples(rules.suite)
        write = as_answer if rules.needs_sessions else str
        references = {sample.task_id: write(sample.completion) for sample in samples}
        return lambda prompts, infos: [references[info["task_id"]] for info in infos]
    if name == "blank":
        return lambda prompts, infos: [""] * len(prompts)
    if ":" not in name:
        raise CodeEnvError(f"--policy is `references`, `blank`, or package.module:function; got {name!r}")
    try:
        with modules_from_here():
            function = named_function(name)
    except LookupError as error:
        raise CodeEnvError(f"--policy: {error}") from None

    return lambda prompts, infos: call_given(f"the policy {name}", function, prompts, infos)
