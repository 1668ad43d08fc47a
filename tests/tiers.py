"""Two tiers: `scripts/test` runs the quick one, `scripts/test --all` everything.

The quick tier is chosen by folder and by sample, not by marks at single tests. It touches every part of the package:
what is cheap runs in full, what is dear by a sample, which stays the same from run to run.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from support import ROOT

LEFT_OUT = (
    # They install the package, run what the documents say, train, or take minutes by their nature.
    "src/code_env/testing/",
    "tests/conformance/test_executors.py::test_all_checks_hold_for_e2b",
    "tests/conformance/test_executors.py::test_one_command_prints_the_table",
    "tests/conformance/test_executors.py::test_sessions_by_replay",
    "tests/conformance/test_same_verdicts.py",
    "tests/envs/test_code_exec_vector.py::test_native_sync_and_single_are_the_same",
    "tests/envs/test_code_exec_vector.py::test_thousands_of_steps",
    "tests/envs/test_feedback_and_rendering.py::test_a_policy_that_copies_all",
    "tests/executors/e2b/test_faults.py",
    "tests/executors/e2b/test_judged.py::test_time_on_the_line_is_not_the_programs",
    "tests/executors/e2b/test_loopback_server.py::test_many_sandboxes_at_once",
    "tests/executors/e2b/test_soak.py",
    "tests/executors/local/sessions/test_session.py::test_more_branches_than_rooms",
    "tests/executors/local/test_faults.py",
    "tests/executors/local/test_levels.py",
    "tests/executors/local/test_load.py",
    "tests/executors/remote/test_remote.py::test_a_server_that_freezes",
    "tests/executors/remote/test_remote.py::test_servers_are_killed",
    "tests/executors/test_ray",
    "tests/executors/test_subprocess.py::test_waiting_for_a_worker_counts_against_no_limit",
    "tests/harness/wire/test_not_plain.py::test_shared_references_that_double",
    "tests/harbor/test_answers.py::test_no_cheat",
    "tests/harbor/test_answers.py::test_references",
    "tests/harbor/test_in_harbor.py",
    "tests/harbor/test_trial.py::test_no_cheat",
    "tests/harbor/test_trial.py::test_nothing_else",
    "tests/harbor/test_trials_with_pytest.py::test_tests_run_as",
    "tests/harbor/test_trial.py::test_the_solution",
    "tests/hardening/test_score.py::test_who_loops",
    "tests/images/test_builds.py::test_a_build_that_is_killed",
    "tests/images/test_builds.py::test_an_image_of_an_engine",
    "tests/images/test_debian.py",
    "tests/images/test_languages.py::test_no_",
    "tests/images/test_programs.py::test_it_conforms",
    "tests/integrations/test_agentfly.py::test_d9_failing_code_gets_no_reward[while",
    "tests/integrations/test_code_eval.py::test_humaneval_s_own_answers",
    "tests/integrations/test_code_eval.py::test_options_act",
    "tests/integrations/test_eval_framework_imports.py::test_hostile_texts",
    "tests/integrations/test_openrlhf.py::test_servers_killed_in_mid_batch",
    "tests/integrations/test_sb3.py::test_in_processes_of_its_own",
    "tests/integrations/test_sb3.py::test_servers_killed_in_mid_batch",
    "tests/integrations/test_trackers.py::test_mlflow[",
    "tests/integrations/trl/test_reward_functions.py::test_servers_killed_in_mid_batch",
    "tests/integrations/trl/test_trainer.py::test_a_trainer_runs_cells_that_keep_their_state",
    "tests/integrations/test_verifiers.py",
    "tests/integrations/test_verl.py::test_servers_killed_in_mid_batch",
    "tests/integrations/test_verl_tool.py::test_its_own_loop",
    "tests/judging/test_benchmarks.py",
    "tests/judging/test_hostile_answers.py::test_sabotage_of_the_judge_buys_nothing[a huge exponent]",
    "tests/judging/test_kinds_of_test.py::test_a_checker_that_takes_too_long",
    "tests/judging/test_looping_answers.py::test_tests_that_stay_below",
    "tests/validating/test_validation.py::test_an_endless_reference",
    "tests/validating/test_validation.py::test_many_tests_are_slow_together",
    "tests/rewards/test_training_for_pass_at_k.py",
    "tests/serving/test_guard.py::test_a_killed_jail",
    "tests/serving/test_guard.py::test_many_clients",
    "tests/serving/test_open_env.py::test_its_own_client",
    "tests/serving/test_sandbox_fusion.py::test_humaneval",
    "tests/serving/test_sandbox_fusion.py::test_verl",
    "tests/tasks/formats/test_humaneval_x.py::test_references_pass_and_trivial_answers_do_not",
    "tests/tasks/formats/test_kattis.py::test_the_reference_of_a_real_problem",
    "tests/test_benchmark_commands.py",
    "tests/test_doctor.py::test_it_shows_what_held",
    "tests/test_examples.py",
    "tests/test_graders.py::test_a_step",
    "tests/test_graders.py::test_ours",
    "tests/report/test_page.py",
    "tests/report/test_pictures.py",
    "tests/packages/test_preparing.py::test_bigcodebench",
    "tests/test_packaging.py",
    "tests/test_rollout.py::test_no_episode_is_lost_or_doubled_by_three_kills",
    "tests/test_site.py::test_the_site_is_built",
    "tests/test_tiers.py::test_the_quick_tier",
    "tests/test_tutorials.py",
)
"""Where the tests begin that the quick tier leaves out, as pytest names them."""

LONGEST = (
    "tests/test_examples.py::test_a_policy_learns",
    "tests/test_packaging.py::test_a_wheel",
    "tests/test_examples.py::test_a_model_learns",
    "tests/conformance/test_ordinary_programs.py",
    "tests/executors/test_ray_nodes.py::test_nodes_die",
    "tests/integrations/test_verifiers.py",
    "tests/serving/test_open_env.py::test_its_own_client",
    "tests/conformance/test_executors.py::test_all_checks_hold_for_e2b",
    "tests/test_tutorials.py",
    "tests/test_tiers.py::test_the_quick_tier",
)
"""The tests that take a minute and more. They begin before all others: at the end each would run alone."""

SAMPLED_CASES = {
    "tests/adversarial/test_hacks.py": 2,
    "tests/adversarial/test_javascript_hacks.py::test_no_hack_earns_anything[full]": 1,
    "tests/adversarial/test_session_branches.py": 8,
    "tests/cli/test_exit_codes.py": 1,
    "tests/conformance/test_executors.py": 6,
    "tests/conformance/test_signals.py": 2,
    "tests/envs/test_code_exec.py": 3,
    "tests/envs/test_code_exec_vector.py": 6,
    "tests/envs/test_code_repl": 6,
    "tests/executors/e2b/test_api_key.py": 6,
    "tests/executors/e2b/test_loopback_server_faults.py": 6,
    "tests/executors/local/test_interpreter.py": 4,
    "tests/executors/local/test_isolation.py": 4,
    "tests/executors/local/test_system_calls.py": 4,
    "tests/executors/machines/test_shell.py": 4,
    "tests/executors/restricted/test_restricted_programs.py": 6,
    "tests/executors/test_container.py": 8,
    "tests/executors/test_languages.py": 32,
    "tests/extract/": 4,
    "tests/harness/judge/test_comparing_bounds.py": 3,
    "tests/integrations/test_agentfly.py": 3,
    "tests/integrations/test_code_interpreter.py": 3,
    "tests/integrations/test_openrlhf.py": 4,
    "tests/integrations/test_same_number_everywhere.py": 12,
    "tests/integrations/test_verl.py": 3,
    "tests/integrations/trl/test_environments.py": 8,
    "tests/integrations/trl/test_reward_functions.py": 8,
    "tests/judging/test_as_a_program.py": 3,
    "tests/judging/test_calls_together.py": 18,
    "tests/judging/test_javascript.py::test_honest_programs_pass": 1,
    "tests/judging/test_judge.py": 2,
    "tests/judging/test_kinds_of_test.py": 8,
    "tests/judging/test_peer_defects.py": 8,
    "tests/serving/test_guard.py": 5,
    "tests/serving/test_judging.py": 3,
    "tests/serving/test_open_env.py": 4,
    "tests/serving/test_sandbox_fusion.py": 10,
    "tests/serving/test_sessions.py": 3,
    "tests/sessions/test_keeping.py": 3,
    "tests/sessions/test_replay.py": 12,
    "tests/tasks/test_drawing.py::test_the_share_of_what_is_drawn": 4,
    "tests/test_extending.py": 8,
    "tests/test_rollout.py": 2,
}
"""Of the cases of each test, the quick tier runs one in so many, and at least one."""

SAMPLED_TESTS = {
    "src/": 3,
    "tests/abuses/test_probe.py": 2,
    "tests/adversarial/test_javascript_hacks.py": 3,
    "tests/cli/": 6,
    "tests/conformance/test_io_idioms.py": 4,
    "tests/environments/test_environments.py": 5,
    "tests/environments/test_scaffolding.py": 6,
    "tests/envs/test_hidden.py::test_what_a_policy_is_told": 4,
    "tests/executors/e2b/test_arguments.py": 6,
    "tests/executors/e2b/test_judged.py": 8,
    "tests/executors/e2b/test_life.py": 6,
    "tests/executors/e2b/test_loopback_server.py": 6,
    "tests/executors/e2b/test_notebook.py": 20,
    "tests/executors/e2b/test_outcomes.py": 12,
    "tests/executors/local/test_environments.py": 8,
    "tests/executors/local/test_file_and_output_limits.py": 8,
    "tests/executors/local/test_file_locks.py": 4,
    "tests/executors/local/test_held_files.py": 3,
    "tests/executors/local/test_kernel_memory.py": 4,
    "tests/executors/local/test_leftovers.py": 4,
    "tests/executors/local/test_life.py": 12,
    "tests/executors/local/test_memory_limits.py": 8,
    "tests/executors/local/test_own_paths.py": 3,
    "tests/executors/local/test_time_and_process_limits.py": 8,
    "tests/executors/remote/test_remote.py": 4,
    "tests/executors/restricted/test_restricted_options.py": 8,
    "tests/executors/test_notebook.py": 10,
    "tests/executors/test_pickling.py": 4,
    "tests/executors/test_subprocess.py": 8,
    "tests/harbor/test_answers.py": 17,
    "tests/harbor/test_commands.py": 3,
    "tests/harbor/test_env.py": 4,
    "tests/harbor/test_trial.py": 6,
    "tests/harbor/test_trials_with_pytest.py": 9,
    "tests/harbor/test_verifier_environment.py": 6,
    "tests/hardening/test_answers.py": 2,
    "tests/hardening/test_harden.py": 2,
    "tests/hardening/test_score.py": 6,
    "tests/images/test_builds.py": 8,
    "tests/images/test_languages.py": 3,
    "tests/images/test_programs.py": 7,
    "tests/integrations/_common/test_scoring.py": 4,
    "tests/integrations/_common/test_shared_executor.py": 3,
    "tests/integrations/rewardkit/test_rewardkit.py": 2,
    "tests/integrations/test_code_eval.py": 5,
    "tests/integrations/test_eval_framework.py": 3,
    "tests/integrations/test_limits_everywhere.py": 16,
    "tests/integrations/test_sb3.py": 12,
    "tests/integrations/test_trackers.py": 6,
    "tests/integrations/trl/test_trainer.py": 8,
    "tests/judging/test_case_times.py": 5,
    "tests/judging/test_crossings.py": 2,
    "tests/judging/test_javascript.py": 10,
    "tests/judging/test_javascript_flows.py": 3,
    "tests/judging/test_javascript_names.py": 4,
    "tests/judging/test_javascript_runner.py": 3,
    "tests/judging/test_javascript_suites.py": 4,
    "tests/judging/test_javascript_text.py": 3,
    "tests/judging/test_looping_answers.py": 28,
    "tests/judging/test_runner_tests.py": 2,
    "tests/judging/test_session.py": 8,
    "tests/models/test_commands.py": 6,
    "tests/packages/test_preparing.py": 4,
    "tests/report/test_exports.py": 4,
    "tests/report/test_failures.py": 8,
    "tests/report/test_hostile.py": 5,
    "tests/report/test_server.py": 3,
    "tests/serving/test_mcp_tools.py": 6,
    "tests/test_doctor.py": 4,
    "tests/test_logging.py": 2,
    "tests/validating/test_validation.py": 8,
    "tests/wrappers/test_encodings.py": 12,
    "tests/wrappers/test_wrapped_terms.py": 2,
}
"""Where tests are dear: of all of them and their cases, the quick tier runs one in so many."""

Item = TypeVar("Item")


def sample(items: Iterable[Item], one_in: int, name: Callable[[Item], str] = str) -> list[Item]:
    """About one item in so many, and at least one where there are any.

    Which ones depends on their names alone, so that an item stays chosen when others come or go.
    """
    # With the rate in it, a sample of a sample is as small as it should be.
    numbered = [(zlib.crc32(f"{one_in} {name(item)}".encode()), item) for item in items]
    least = min((number for number, _ in numbered), default=0)
    return [item for number, item in numbered if number % one_in == 0] or [
        item for number, item in numbered if number == least
    ]


def longest_first(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """The tests as they are dealt out: each worker gets a part, and begins with what takes longest."""
    long = [item for item in items if item.nodeid.startswith(LONGEST)]
    rest = [item for item in items if not item.nodeid.startswith(LONGEST)]
    size = -(-len(rest) // workers)
    return [
        item
        for number in range(workers)
        for item in [*long[number::workers], *rest[number * size : (number + 1) * size]]
    ]


def holds_quick_tests(path: Path) -> bool:
    """Whether anything below a path belongs to the quick tier."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return not f"{name}/".startswith(LEFT_OUT) and not name.startswith(LEFT_OUT)


def quick_part(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The tests that belong to the quick tier."""
    groups: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if not item.nodeid.startswith(LEFT_OUT):
            groups.setdefault(_group(item.nodeid), []).append(item)
    return [item for (_, one_in), group in groups.items() for item in sample(group, one_in, lambda item: item.nodeid)]


def _group(name: str) -> tuple[str, int]:
    """What a test is sampled together with, and at which rate."""
    for start, one_in in SAMPLED_CASES.items():
        if name.startswith(start):
            return name.partition("[")[0], one_in
    return next(((start, one_in) for start, one_in in SAMPLED_TESTS.items() if name.startswith(start)), ("", 1))
