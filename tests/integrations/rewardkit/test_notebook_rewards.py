import pytest

from code_env import NoVerdict, TaskError
from code_env.integrations.rewardkit import advanced_code_evaluation, data_analysis_reward, file_based_code_reward
from support import BrokenExecutor

ADD = "\ndef add_numbers(a, b):\n    return a + b\n"
CASES = [
    {"code": "result = add_numbers(2, 3)", "expected": "5"},
    {"code": "result = add_numbers(-1, 1)", "expected": "0"},
]
OPERATIONS = [{"path": "out/a.txt", "content": "hello"}, {"path": "b.txt", "type": "exists"}]
WRITES = "import os\nos.makedirs('out')\nopen('out/a.txt', 'w').write('hello\\n')\nopen('b.txt', 'w')\n"


@pytest.fixture
def dataset(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("name,price\nA,10\nB,15\n")
    return path


def test_the_example_of_the_guide(executor):
    assert advanced_code_evaluation(ADD, CASES, executor=executor) == 1.0
    assert advanced_code_evaluation(response=f"Sure:\n```python{ADD}```", test_cases=CASES, executor=executor) == 1.0


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("def add_numbers(a, b):\n    return abs(a + b) or 1", 0.5),
        ("def add_numbers(a, b):\n    if a < 0: raise ValueError\n    return a + b", 0.5),
        ("print('5\\n0')", 0.0),
        (ADD + "1 / 0", 0.0),
        ("result = 5\nimport os\nos._exit(0)", 0.0),
        ("", 0.0),
    ],
)
def test_the_share_of_cells_that_give_what_is_expected(executor, answer, score):
    value = advanced_code_evaluation(answer, CASES, executor=executor)
    assert (type(value), value) == (float, score)


def test_cells_share_a_session(executor):
    cases = [{"code": "x = add_numbers(1, 1)\nx", "expected": "2"}, {"code": "print(x + 1)", "expected": "3"}]
    assert advanced_code_evaluation(ADD, cases, executor=executor) == 1.0


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (WRITES, 1.0),
        ("open('b.txt', 'w')", 0.5),
        (WRITES.replace("hello", "hullo"), 0.5),
        (WRITES + "1 / 0", 0.0),
        ("print('hello', True)", 0.0),
        ("import os\nos.makedirs('b.txt')", 0.0),
    ],
)
def test_the_share_of_files_that_are_left(executor, answer, score):
    assert file_based_code_reward(answer, OPERATIONS, executor=executor) == score


ANALYSIS = (
    "import csv\nprices = [float(row['price']) for row in csv.DictReader(open('dataset.csv'))]\n"
    "print(f'Mean price: {sum(prices) / len(prices)}')\n"
)
FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n"
INSIGHTS = ["mean price: 12.5", "most expensive is B"]


@pytest.mark.parametrize(
    ("answer", "options", "score"),
    [
        (ANALYSIS, {}, 0.5),
        (ANALYSIS + FIGURE, {}, 0.75),
        (ANALYSIS + FIGURE, {"plot_bonus": 0.0}, 0.5),
        (ANALYSIS + "print('The most expensive is B.')\n" + FIGURE, {}, 1.0),
        (ANALYSIS + "'The most expensive is B'", {}, 1.0),
        (ANALYSIS + FIGURE + "1 / 0", {}, 0.0),
        ("print('x' * 5000, 'mean price: 12.5, most expensive is B')", {}, 0.0),
        ("print('x' * 5000, 'mean price: 12.5, most expensive is B')", {"find": "rewardkit_substring"}, 1.0),
        ("", {}, 0.0),
    ],
)
def test_insights_and_figures(executor, dataset, answer, options, score):
    assert data_analysis_reward(answer, str(dataset), INSIGHTS, executor=executor, **options) == score


def test_nothing_expected_is_no_success(executor, dataset):
    assert advanced_code_evaluation(ADD, [], executor=executor) == 0.0
    assert file_based_code_reward(ADD, [], executor=executor) == 0.0
    assert data_analysis_reward(ADD, dataset, [], executor=executor) == 0.0


CALLS = {
    advanced_code_evaluation: (ADD, CASES),
    file_based_code_reward: (WRITES, OPERATIONS),
}


@pytest.mark.parametrize("reward", CALLS)
def test_a_failing_sandbox_gives_no_score(executor, reward):
    with pytest.raises(NoVerdict, match="no luck"):
        reward(*CALLS[reward], executor=BrokenExecutor())
    assert reward(*CALLS[reward], executor=BrokenExecutor(executor, failures=2)) == 1.0


def test_a_misspelt_keyword_is_refused(dataset):
    for reward, arguments in [*CALLS.items(), (data_analysis_reward, (ADD, dataset, INSIGHTS))]:
        with pytest.raises(TypeError, match="did you mean 'timeout'"):
            reward(*arguments, timeouts=3)
        with pytest.raises(TypeError, match="no argument 'task_id'; known are response, "):
            reward(*arguments, task_id=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: advanced_code_evaluation(ADD, [{"code": "1"}]), r"test_cases\[0\]: expected must be text; got none"),
        (lambda: advanced_code_evaluation(ADD, [{"code": "1", "expected": 1}]), "expected must be text; got int"),
        (lambda: advanced_code_evaluation(ADD, {"code": "1"}), "test_cases must be a list of objects; got dict"),
        (lambda: advanced_code_evaluation(ADD, ["1"]), r"test_cases\[0\] must be an object; got str"),
        (lambda: file_based_code_reward(ADD, [{"path": "x"}]), "content must be text.*type 'exists'"),
        (lambda: file_based_code_reward(ADD, [{"path": "x", "type": "delete"}]), "type must be create or exists"),
        (lambda: file_based_code_reward(ADD, [{"path": "/etc/x", "type": "exists"}]), "not a path inside"),
        (lambda: data_analysis_reward(ADD, "/nothing.csv", INSIGHTS), "dataset_path: .*No such file"),
        (lambda: data_analysis_reward(ADD, "/nothing.csv", "one"), "expected_insights must be a list of texts"),
    ],
)
def test_misuse_is_an_error(call, message):
    with pytest.raises(TaskError, match=message):
        call()
