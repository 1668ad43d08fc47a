import asyncio
import math

import pytest

from code_env import Limits, Program, TaskError, make_executor
from code_env.executors.capture import HeadAndTail


@pytest.mark.parametrize(
    "kwargs",
    [
        {"cpu_s": 0},
        {"cpu_s": -1},
        {"cpu_s": math.nan},
        {"wall_s": math.inf},
        {"wall_s": "5"},
        {"memory_bytes": 0},
        {"memory_bytes": 1.5},
        {"output_bytes": True},
        {"processes": -1},
    ],
    ids=str,
)
def test_a_limit_out_of_range_names_itself(kwargs):
    (name,) = kwargs
    with pytest.raises(TaskError, match=f"limits.{name}"):
        Limits(**kwargs)


@pytest.mark.parametrize("imports", ["csv", ["csv"], (1,)])
def test_hints_of_imports_are_a_tuple_of_names(imports):
    with pytest.raises(TaskError, match="imports must be a tuple of names"):
        Program("", imports=imports)


def test_an_unknown_limit_names_the_known_ones():
    with pytest.raises(TaskError, match="unknown limit 'cpu'; known are cpu_s"):
        Limits.from_dict({"cpu": 1})


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "", ".", "x\0y"])
def test_a_path_out_of_the_working_directory_is_refused(path):
    with pytest.raises(TaskError, match="relative"):
        Program("", files={path: b""})
    with pytest.raises(TaskError, match="relative"):
        Program("", collect=(path,))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"code": 3},
        {"code": b"x"},
        {"code": "", "stdin": b"x"},
        {"code": "", "argv": ["x"]},
        {"code": "", "limits": {"cpu_s": 1}},
        {"code": "", "peer": "pass"},
        {"code": "", "argv": ("x\0",)},
        {"code": "", "files": ["x"]},
        {"code": "", "files": {"x": "text"}},
        {"code": "", "files": {"main.py": b""}},
        {"code": "", "files": {"a": b"", "a/b": b""}},
        {"code": "", "files": {"\ud800": b""}},
    ],
    ids=str,
)
def test_a_malformed_program_is_refused(kwargs):
    with pytest.raises(TaskError):
        Program(**kwargs)


def test_a_peer_has_no_peer():
    with pytest.raises(TaskError, match="peer"):
        Program("", peer=Program("", peer=Program("")))


@pytest.mark.parametrize("pieces", [[b""], [b"abc"], [b"abcdef"], [b"abcdefg"], [b"a"] * 100, [b"ab" * 50, b"c"]])
def test_head_and_tail_are_those_of_the_whole(pieces):
    kept = HeadAndTail(3)
    for piece in pieces:
        kept.take(piece)
    whole = b"".join(pieces).decode()
    assert kept.total == len(whole)
    assert kept.truncated == (len(whole) > 6)
    assert kept.text().startswith(whole[:3])
    assert kept.text().endswith(whole[-3:])
    assert kept.truncated or kept.text() == whole


def test_numbers_of_numpy_become_plain_ones():
    import numpy as np

    limits = Limits(cpu_s=np.float64(2), memory_bytes=1 << 30)
    assert type(limits.cpu_s) is float
    assert limits == Limits(cpu_s=2.0, memory_bytes=1 << 30)


def test_a_name_that_no_file_system_takes_is_refused():
    with pytest.raises(TaskError, match="255"):
        Program("", files={"a" * 256: b""})


def test_limits_replace_those_that_are_named():
    limits = Limits(memory_bytes=1 << 20)
    assert limits.with_values({"cpu_s": 1}) == Limits(cpu_s=1, memory_bytes=1 << 20)
    assert limits.with_values(None) is limits
    for values, told in (
        ({"cpus": 1}, "unknown limit 'cpus'.*did you mean 'cpu_s'"),
        ({"memory_byte": 1}, "did you mean 'memory_bytes'"),
        ({"cpu_s": -1}, "limits.cpu_s must be a number of seconds"),
        ([("cpu_s", 1)], "limits must be a mapping, such as {'cpu_s': 1}; got list"),
        (5, "limits must be a mapping"),
    ):
        with pytest.raises(TaskError, match=told):
            limits.with_values(values)


@pytest.mark.parametrize("name", ["local", "subprocess", "restricted"])
def test_what_is_no_program_is_refused(name):
    with make_executor(name) as executor:
        for misused in (
            lambda: executor.submit("print(1)"),
            lambda: executor.run("print(1)"),
            lambda: executor.run_many("print(1)"),
            lambda: asyncio.run(executor.arun("print(1)")),
        ):
            with pytest.raises(TypeError, match=r"^an executor runs a Program; got str; .*: Program\(code\)$"):
                misused()
        with pytest.raises(TypeError, match="list of programs; got one Program"):
            executor.run_many(Program("print(1)"))
