import pytest

from code_env import OutputTest, Program, Task, TaskError
from code_env.requirements import MOST, normal_requirements, package_of

ALIKE = [
    (["pandas"], ["Pandas"]),
    (["scikit-learn==1.5"], ["Scikit_Learn == 1.5"]),
    (["numpy<3,>=2"], ["numpy >= 2, < 3"]),
    (["httpx[http2,socks]~=0.27"], ["HTTPX[ socks , http2 ] ~= 0.27"]),
    (["a", "b"], ["b", "a", "A"]),
]

REFUSED = [
    "",
    "-r requirements.txt",
    "--index-url=http://x",
    "numpy @ https://example.com/numpy.whl",
    "./numpy.whl",
    "/numpy",
    "git+https://example.com/x",
    "numpy; python_version < '3.12'",
    "numpy==",
    "numpy 2",
    "numpy=2",
    "numpy[",
    "num py",
    "numpy\n--pre",
    b"numpy",
    None,
    7,
]


@pytest.mark.parametrize(("normal", "written"), ALIKE)
def test_alike_requirements_have_one_form(normal, written):
    assert list(normal_requirements(written)) == normal
    assert normal_requirements(normal) == tuple(normal)


@pytest.mark.parametrize("value", REFUSED, ids=repr)
def test_what_is_no_requirement_is_refused(value):
    with pytest.raises(TaskError, match="a name with versions was expected"):
        normal_requirements([value])


@pytest.mark.parametrize("values", ["numpy", 3, None])
def test_a_list_is_expected(values):
    with pytest.raises(TaskError, match="packages must be a list of texts"):
        normal_requirements(values)


def test_they_are_bounded():
    assert len(normal_requirements(f"p{n}" for n in range(MOST))) == MOST
    with pytest.raises(TaskError, match=f"at most {MOST} requirements"):
        normal_requirements(f"p{n}" for n in range(MOST + 1))


def test_the_package_of_a_requirement():
    assert [package_of(one) for one in ("numpy", "httpx[http2]>=1", "Scikit_Learn==1")] == [
        "numpy",
        "httpx",
        "scikit-learn",
    ]


def test_tasks_and_programs_hold_the_normal_form():
    task = Task("one", "?", (OutputTest("1"),), packages=["NumPy >= 2", "numpy>=2"])
    assert task.packages == Program("1", packages=("numpy >=2",)).packages == ("numpy>=2",)


def test_only_python_has_packages():
    with pytest.raises(TaskError, match="packages are for programs in python, not 'javascript'"):
        Task("one", "?", (OutputTest("1"),), language="javascript", packages=("numpy",))
    with pytest.raises(TaskError, match="packages are for programs in python"):
        Program("1", language="js", packages=("numpy",))


def test_a_peer_has_the_packages_of_its_program_or_none():
    Program("1", packages=("numpy",), peer=Program("2"))
    Program("1", packages=("numpy",), peer=Program("2", packages=("numpy",)))
    with pytest.raises(TaskError, match="a peer has the packages of its program, or none"):
        Program("1", peer=Program("2", packages=("numpy",)))
