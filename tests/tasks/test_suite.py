import dataclasses

import numpy as np
import pytest

from code_env.errors import TaskError, TaskNotFound
from code_env.tasks import OutputTest, Task, TaskOrder, TaskSuite, load_suite


def suite(count=10, name="numbers"):
    return TaskSuite(name, [Task(f"n/{i}", f"Print {i}.", (OutputTest(str(i)),)) for i in range(count)])


def ids(tasks):
    return [task.id for task in tasks]


def draws(order, count, seed=0, tasks=10):
    drawn, rng = TaskOrder(suite(tasks), order), np.random.default_rng(seed)
    return [drawn.draw(rng).id for _ in range(count)]


def test_a_suite_is_a_sequence():
    tasks = suite(3)
    assert len(tasks) == 3
    assert ids(tasks) == ["n/0", "n/1", "n/2"]
    assert (tasks[0].id, tasks[-1].id) == ("n/0", "n/2")
    assert tasks[1] in tasks
    assert tasks.index(tasks[2]) == 2
    assert ids(reversed(tasks)) == ["n/2", "n/1", "n/0"]
    with pytest.raises(IndexError):
        tasks[3]


def test_a_slice_of_a_suite_is_a_suite():
    part = suite(5)[1:4:2]
    assert isinstance(part, TaskSuite)
    assert (part.name, ids(part)) == ("numbers", ["n/1", "n/3"])


def test_suites_are_equal_by_name_and_tasks():
    assert suite() == suite()
    assert suite() != suite(name="other")
    assert suite(3) != suite(4)
    assert suite(1) != list(suite(1))


def test_a_suite_shows_name_and_size():
    assert repr(suite(3)) == "<TaskSuite 'numbers', 3 tasks>"


def test_a_suite_without_tasks_is_refused():
    with pytest.raises(TaskError, match=r"^suite 'empty' has no tasks$"):
        TaskSuite("empty", [])
    with pytest.raises(TaskError, match="has no tasks"):
        suite()[5:5]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TaskSuite("rows", [suite(1)[0], {}]), r"tasks\[1\] must be a Task; got dict; load_suite\(rows\)"),
        (lambda: TaskSuite("one", suite(1)[0]), "suite 'one' takes a list of tasks; got Task"),
        (lambda: TaskSuite([suite(1)[0]], "name"), "the name of a suite is text.* got list"),
    ],
)
def test_what_is_no_task_is_refused(make, words):
    with pytest.raises(TaskError, match=words):
        make()


def test_two_tasks_with_one_id_are_refused():
    with pytest.raises(TaskError, match=r"^suite 'twice' has two tasks with id 'n/1'$"):
        TaskSuite("twice", [*suite(3), suite(3)[1]])


def test_a_task_is_found_by_its_id():
    assert suite().task("n/7") is not None
    assert suite().task("n/7").prompt == "Print 7."


@pytest.mark.parametrize(
    ("task_id", "hint"), [("n/77", "; did you mean 'n/7'?"), ("zzzz", ""), (7, ""), ([], ""), (None, "")], ids=repr
)
def test_an_unknown_id_is_an_error_with_a_near_one(task_id, hint):
    with pytest.raises(TaskNotFound) as caught:
        suite().task(task_id)
    assert str(caught.value) == f"suite 'numbers' has no task {task_id!r}{hint}"


def test_a_filter_keeps_tasks_in_order():
    kept = suite().filter(lambda task: int(task.id[2:]) % 3 == 0)
    assert (kept.name, ids(kept)) == ("numbers", ["n/0", "n/3", "n/6", "n/9"])


def test_a_filter_that_leaves_nothing_is_an_error():
    with pytest.raises(TaskError, match="has no tasks"):
        suite().filter(lambda task: False)


@pytest.mark.parametrize(("fraction", "sizes"), [(0.5, (5, 5)), (0.8, (8, 2)), (0.06, (1, 9)), (0.94, (9, 1))])
def test_a_split_is_two_disjoint_parts_in_order(fraction, sizes):
    first, second = suite().split(fraction)
    assert (len(first), len(second)) == sizes
    assert sorted(ids(first) + ids(second)) == ids(suite())
    assert ids(first) == sorted(ids(first))
    assert ids(second) == sorted(ids(second))
    assert first.name != second.name


def test_a_split_is_drawn_by_its_seed():
    assert suite().split(0.5, seed=3) == suite().split(0.5, seed=3)
    assert len({tuple(ids(suite().split(0.5, seed=seed)[0])) for seed in range(20)}) > 5


@pytest.mark.parametrize("fraction", [0, 1, 0.01, 0.99, -0.5, 1.5, float("nan"), float("inf")])
def test_a_split_that_leaves_a_side_empty_is_an_error(fraction):
    with pytest.raises(TaskError, match=f"^a fraction of {fraction} "):
        suite().split(fraction)


def test_sequential_goes_round_in_order():
    assert draws("sequential", 7, tasks=3) == ["n/0", "n/1", "n/2", "n/0", "n/1", "n/2", "n/0"]


def test_shuffle_gives_each_task_once_per_epoch():
    drawn = draws("shuffle", 50)
    assert [sorted(drawn[start : start + 10]) for start in range(0, 50, 10)] == [ids(suite())] * 5


def test_shuffle_gives_each_epoch_an_order_of_its_own():
    drawn = draws("shuffle", 50)
    assert len({tuple(drawn[start : start + 10]) for start in range(0, 50, 10)}) == 5


@pytest.mark.parametrize("order", ["shuffle", "random", "sequential"])
def test_the_same_seed_gives_the_same_order(order):
    assert draws(order, 35, seed=7) == draws(order, 35, seed=7)


@pytest.mark.parametrize("order", ["shuffle", "random"])
def test_another_seed_gives_another_order(order):
    assert draws(order, 35, seed=7) != draws(order, 35, seed=8)


def test_random_gives_every_task_at_any_time():
    drawn = draws("random", 500)
    assert set(drawn) == set(ids(suite()))
    assert len(set(drawn[:10])) < 10 or len(set(drawn[10:20])) < 10


@pytest.mark.parametrize("order", ["shuffle", "random", "sequential"])
def test_a_restart_forgets_the_epoch_under_way(order):
    drawn = TaskOrder(suite(), order)
    first = [drawn.draw(rng).id for rng in [np.random.default_rng(5)] for _ in range(4)]
    drawn.restart()
    rng = np.random.default_rng(5)
    assert [drawn.draw(rng).id for _ in range(4)] == first


@pytest.mark.parametrize("order", ["shuffled", "", None, ["random"]], ids=repr)
def test_an_unknown_order_is_refused(order):
    with pytest.raises(TaskError, match=r"^order must be one of shuffle, sequential, random; got "):
        TaskOrder(suite(), order)


def test_limits_of_all_tasks_can_be_replaced():
    suite = load_suite("starter")
    quick = suite.with_limits({"cpu_s": 1})
    assert [task.limits for task in quick] == [dataclasses.replace(task.limits, cpu_s=1) for task in suite]
    assert suite.with_limits(None) is suite
    with pytest.raises(TaskError, match="did you mean 'wall_s'"):
        suite.with_limits({"wal_s": 1})
