import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_env.errors import RewardError
from code_env.executors.result import ExecutionResult, Status
from code_env.judging import judge
from code_env.judging.verdict import CaseResult, Outcome, Stage, Verdict
from code_env.rewards.economy import brevity
from code_env.rewards.similarity import similarity
from code_env.rewards.terms import execution, output_similarity, pass_fraction, well_formed
from code_env.tasks import CallTest, OutputTest, StdinTest, Task

MEASURES = ("tokens", "lines", "characters", "edit", "numbers", "exact")
TEXT = st.text("ab \n", max_size=20) | st.text(st.characters(exclude_categories=[]), max_size=10)


def case(test, actual="", passed=False, tested=True, index=0):
    return CaseResult(
        test=test, case=index, passed=passed, hidden=True, weight=1.0, tested=tested, status=Status.OK, actual=actual
    )


def verdict(*cases, outcome=Outcome.FAIL, fraction=0.0, status=Status.OK):
    return Verdict(outcome, cases, fraction, "blind", "response", "code", ExecutionResult(status))


def task(*tests):
    return Task("t", "Prompt", tests, entry_point="f")


@pytest.mark.parametrize(
    ("outcome", "status", "value"),
    [
        (Outcome.PASS, Status.OK, 1.0),
        (Outcome.FAIL, Status.OK, 1.0),
        (Outcome.POLICY_ERROR, Status.OK, 0.0),
        (Outcome.POLICY_ERROR, Status.ERROR, 0.0),
        *((Outcome.FAIL, status, 0.0) for status in Status if status is not Status.OK),
    ],
)
def test_execution_is_one_if_tests_ran_without_a_fault(outcome, status, value):
    got = execution(task(OutputTest("1")), verdict(case(0), outcome=outcome, status=status))
    assert (type(got), got) == (float, value)


@pytest.mark.parametrize(("fraction", "value"), [(0.0, 0.0), (0.25, 0.25), (1.0, 1.0), (None, 0.0)])
def test_pass_fraction_is_the_verdict_s(fraction, value):
    got = pass_fraction(task(OutputTest("1")), verdict(case(0), fraction=fraction))
    assert (type(got), got) == (float, value)


TESTS = (StdinTest(stdin="", stdout="1 2"), CallTest((1,), {}, 2), OutputTest("a b c d"))


@pytest.mark.parametrize(
    ("cases", "value"),
    [
        pytest.param(
            [case(0, "1 2", passed=True), case(1, "2", passed=True), case(2, "a b c d", passed=True)], 1.0, id="all"
        ),
        pytest.param([case(0, "1 3"), case(1, "5"), case(2, "a b c x")], (0.5 + 0.75) / 2, id="part"),
        pytest.param([case(0, "1 2", passed=True), case(1), case(2, "")], 0.5, id="half"),
        pytest.param([case(0, "1 2", tested=False), case(1, tested=False), case(2, tested=False)], 0.0, id="untested"),
        pytest.param(
            [case(0, "head ... tail", passed=True), case(1), case(2, "x")], 0.5, id="passed-with-clipped-output"
        ),
        pytest.param([], 0.0, id="no-cases"),
    ],
)
def test_output_similarity_is_the_mean_over_tests_that_expect_an_output(cases, value):
    assert output_similarity(task(*TESTS), verdict(*cases)) == pytest.approx(value)


def test_output_similarity_of_a_task_without_outputs_is_zero():
    assert output_similarity(task(CallTest((1,), {}, 2)), verdict(case(0, "2", passed=True))) == 0.0


def test_output_similarity_takes_a_measure():
    outputs = task(OutputTest("abcd")), verdict(case(0, "abxd"))
    assert [output_similarity(*outputs, measure) for measure in MEASURES] == [0.0, 0.0, 0.75, 0.75, 0.0, 0.0]


def test_an_unknown_measure_is_an_error_that_names_the_known_ones():
    with pytest.raises(
        RewardError, match="tokens, lines, characters, edit, numbers, exact, rewardkit_words; got 'words'"
    ):
        similarity("a", "b", "words")


@pytest.mark.parametrize("measure", MEASURES)
@given(left=TEXT, right=TEXT)
def test_similarity_is_symmetric_and_between_zero_and_one(measure, left, right):
    value = similarity(left, right, measure)
    assert type(value) is float
    assert 0.0 <= value <= 1.0
    assert value == similarity(right, left, measure)


@pytest.mark.parametrize("measure", MEASURES)
@given(text=TEXT)
def test_similarity_of_equal_texts_is_one(measure, text):
    assert similarity(text, text, measure) == 1.0
    assert similarity(text, f" {text}\n", measure) == 1.0


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=8)


@pytest.mark.parametrize(("measure", "between"), [("tokens", " "), ("lines", "\n"), ("characters", "")])
@given(expected=WORDS, more=WORDS)
def test_printing_more_than_expected_scores_less_than_the_exact_output(measure, between, expected, more):
    right, padded = between.join(expected), between.join(expected + more)
    assert similarity(right, padded, measure) == pytest.approx(2 * len(expected) / (2 * len(expected) + len(more)))


@pytest.mark.parametrize(("measure", "between"), [("tokens", " "), ("lines", "\n"), ("characters", "")])
@pytest.mark.parametrize("length", [1_000, 20_000, 30_000])
def test_printing_more_or_less_than_a_long_output_scores_less_than_the_exact_one(measure, between, length):
    right = between.join(["x"] * length)
    more, less = between.join(["x"] * length + ["y"] * length), between.join(["x"] * (length // 2))
    assert similarity(right, more, measure) < 0.8
    assert similarity(more, right, measure) < 0.8
    assert similarity(right, less, measure) < 0.8


@pytest.mark.parametrize("measure", ["tokens", "lines"])
def test_a_reversed_list_scores_low(measure):
    numbers = [str(i) for i in range(100)]
    between = "\n" if measure == "lines" else " "
    assert similarity(between.join(numbers), between.join(reversed(numbers)), measure) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("expected", "actual", "measure", "value"),
    [
        ("", "", "tokens", 1.0),
        ("", "a", "tokens", 0.0),
        ("a", "", "tokens", 0.0),
        ("1 2 3", "1 2 4", "tokens", 2 / 3),
        ("1 2 3", "3 2 1", "tokens", 1 / 3),
        ("1  2", "1 2", "tokens", 1.0),
        ("1 2", "12", "tokens", 0.0),
        ("a\nb", "a\nc", "lines", 0.5),
        ("a b", "a  b", "lines", 0.0),
        ("abc", "abd", "characters", 2 / 3),
        ("abc", "abd", "exact", 0.0),
        ("abc", " abc\n", "exact", 1.0),
        ("a b", "a  b", "exact", 0.0),
        ("\ud800", "\udfff", "characters", 0.0),
    ],
)
def test_similarity_is_the_share_in_the_longest_common_subsequence(expected, actual, measure, value):
    assert similarity(expected, actual, measure) == pytest.approx(value)


@pytest.mark.parametrize("measure", MEASURES)
def test_huge_outputs_are_compared(measure):
    drawn = random.Random(0)
    left, right = ("\n".join(str(drawn.random()) for _ in range(200_000)) for _ in range(2))
    assert 0.0 <= similarity(left, right, measure) < 1.0


def test_a_long_output_is_scored_by_its_ends_and_its_length():
    expected = "\n".join(map(str, range(80_000)))
    almost = expected.replace("\n40\n", "\nx\n")
    problem = Task("t", "p", (OutputTest(expected),))

    def score(actual):
        from code_env.harness.wire.shown import ends

        one = CaseResult(0, 0, False, True, 1.0, True, Status.OK, actual=ends(actual, 32_768), actual_chars=len(actual))
        verdict = Verdict(Outcome.FAIL, (one,), 0.0, "blind", "", "", ExecutionResult(Status.OK))
        return output_similarity(problem, verdict)

    assert 0.99 < score(almost) < 1.0
    assert score(almost + "\n" + "junk\n" * 100_000) < 0.7
    assert score(expected[:40_000] + "junk\n" * 1_000_000 + expected[-40_000:]) < 0.2


@pytest.mark.parametrize(
    ("expected", "actual", "value"),
    [
        ("1 2 3", "1 2 3", 1.0),
        ("1 2 3", "3 2 1", 1 / 3),
        ("0.5", ".50", 1.0),
        ("x = 100", "1e2 apples", 1.0),
        ("3.1415926", "3.1415927", 1.0),
        ("3.14", "3.15", 0.0),
        ("-1", "1", 0.0),
        ("1", "1 2 3", 0.5),
        ("no number", "none", 0.0),
        ("no number", "no number", 1.0),
        ("1", "", 0.0),
        ("1" * 400, "1" * 400 + "0", 1.0),  # Both beyond any float.
    ],
)
def test_numbers_are_compared_to_six_digits(expected, actual, value):
    assert similarity(expected, actual, "numbers") == pytest.approx(value)


@pytest.mark.parametrize(
    ("expected", "actual", "value"),
    [("abc", "abc", 1.0), ("abc", "abd", 2 / 3), ("abc", "", 0.0), ("", "abc", 0.0), ("kitten", "sitting", 4 / 7)],
)
def test_edit_is_one_less_the_distance_in_relation_to_the_longer(expected, actual, value):
    assert similarity(expected, actual, "edit") == pytest.approx(value)


@pytest.mark.parametrize(
    ("expected", "actual", "value"),
    [
        ("Hello World", "world HELLO", 1.0),
        ("a b c d", "a b", 0.5),
        ("", "", 1.0),
        ("", "x", 0.0),
        ("   ", " ", 1.0),
        ("a", "a all the words that there are", 1.0),
        ("a a b", "a", 0.5),
    ],
)
def test_rewardkit_words_are_those_of_rewardkit(expected, actual, value):
    assert similarity(expected, actual, "rewardkit_words") == value


ADD = Task("add", "", (CallTest((1, 2), {}, 3),), entry_point="add", reference="def add(a, b):\n    return a + b\n")
ECHO = Task("echo", "", (StdinTest("1\n", "1\n"),), reference="print(input())")


@pytest.mark.parametrize(
    ("given", "code", "stage", "value"),
    [
        (ADD, "", Stage.NOTHING, 0.0),
        (ADD, "def add(", Stage.CODE, 0.0),
        (ADD, "def sub(a, b): return 0", Stage.PARSED, 0.5),
        (ADD, "1 / 0", Stage.PARSED, 0.5),
        (ADD, "def add(a, b): return 0", Stage.TESTED, 1.0),
        (ECHO, "print(", Stage.CODE, 0.0),
        (ECHO, "1 / 0", Stage.TESTED, 1.0),
    ],
)
def test_well_formed_is_what_the_sandbox_found(given, code, stage, value, executor):
    got = judge(given, code, executor)
    assert (got.stage, well_formed(given, got, ("parses", "defines"))) == (stage, value)


def test_a_fence_is_part_of_the_form(executor):
    fenced = f"So:\n```python\n{ADD.reference}```"
    assert well_formed(ADD, judge(ADD, ADD.reference, executor, response=fenced)) == 1.0
    assert well_formed(ADD, judge(ADD, ADD.reference, executor)) == pytest.approx(2 / 3)
    thought = f"<think>```python\nx\n```</think>{ADD.reference}"
    assert well_formed(ADD, judge(ADD, ADD.reference, executor, response=thought), ("fence",)) == 0.0


@pytest.mark.parametrize(("times", "value"), [(0.5, 1.0), (1.0, 1.0), (2.0, 0.5), (3.0, 0.0), (50.0, 0.0)])
def test_brevity_falls_with_the_length_of_a_right_answer(times, value):
    passed = Verdict(
        Outcome.PASS, (), 1.0, "blind", "", "x" * round(times * len(ADD.reference)), ExecutionResult(Status.OK)
    )
    assert brevity(ADD, passed) == pytest.approx(value, abs=0.02)


def test_leaving_things_out_brings_nothing(executor):
    assert brevity(ADD, judge(ADD, "", executor)) == 0.0
    assert brevity(ADD, judge(ADD, "def add(a, b): 0", executor)) == 0.0
