"""The options of `restricted`, and what a policy of one's own does."""

import contextlib
import keyword
import shutil
import textwrap
import venv
from pathlib import Path

import pytest
import RestrictedPython

from code_env import (
    AssertTest,
    CallTest,
    ExecutorError,
    Outcome,
    Program,
    Status,
    StdinTest,
    Task,
    UnsupportedProgram,
    judge,
    judge_many,
    load_suite,
    make_executor,
)
from code_env.harness.restricted.guards import Guards
from code_env.harness.restricted.modules import Modules


@pytest.fixture(scope="module")
def run():
    """Runs a program with some options; programs with the same options share an executor, as each starts a server."""
    with contextlib.ExitStack() as stack:
        made = {}

        def run(code, **options):
            key = repr(options)
            if key not in made:
                made[key] = stack.enter_context(make_executor("restricted", workers=1, **options))
            return made[key].run(Program(code))

        yield run


ACTING = {
    "use_safe_builtins": ("print(len('a'))", {}, {"use_safe_builtins": False}),
    "use_limited_builtins range": ("print(len(range(5000)))", {"use_limited_builtins": False}, {}),
    "use_limited_builtins list": ("print(list('ab'))", {"use_limited_builtins": False}, {}),
    "use_limited_builtins tuple": ("print(tuple('ab'))", {"use_limited_builtins": False}, {}),
    "use_limited_builtins by type": ("print(len(type(range(2))(5000)))", {"use_limited_builtins": False}, {}),
    "use_utility_builtins": (
        "print(string.digits, math.pi, same_type(1, 2), set(), test(1, 2))",
        {},
        {"use_utility_builtins": False},
    ),
    "additional_globals": ("print(a['k'], b)", {"additional_globals": {"a": {"k": (1, {2})}, "b": b"x"}}, {}),
    "additional_locals": ("print(a)", {"additional_locals": {"a": [None, 1.5]}}, {}),
    "allowed_imports": ("from math import gcd\nprint(gcd(4, 6))", {"allowed_imports": ["math"]}, {}),
    "allow_str_format": ("print('{0:>3}{x[k]!r}'.format(1, x={'k': 'v'}))", {"allow_str_format": True}, {}),
    "allow_str_format map": ("print('{x.real}'.format_map({'x': 2}))", {"allow_str_format": True}, {}),
    "allow_str_format unbound": ("print(str.format('{}-{}', 1, 2))", {"allow_str_format": True}, {}),
    "allow_underscore_variable_names": (
        "def f(_x): return _x\n_y = f(1)\nprint(_y)",
        {"allow_underscore_variable_names": True},
        {},
    ),
}


@pytest.mark.parametrize(("code", "having", "lacking"), ACTING.values(), ids=ACTING)
def test_an_option_acts(run, code, having, lacking):
    with_it, without = run(code, **having), run(code, **lacking)
    assert with_it.status is Status.OK, with_it.stderr
    assert with_it.stdout
    assert without.status in (Status.ERROR, Status.REFUSED)
    assert without.stdout == ""


@pytest.mark.parametrize("name", ["_getattr_", "_x_", "__x", "__x__", "_write_"])
def test_no_option_allows_the_names_of_guards(run, name):
    assert run(f"{name} = 1", allow_underscore_variable_names=True).status is Status.REFUSED


def test_format_that_is_allowed_asks_the_policy(run):
    result = run("print('{0.__class__}'.format(1))", allow_str_format=True)
    assert (result.status, result.stdout) == (Status.REFUSED, "")


WRONG = {
    "a flag": ({"use_safe_builtins": 1}, "use_safe_builtins must be True or False"),
    "an import that is a text": ({"allowed_imports": "math"}, "allowed_imports must be a list"),
    "an import that is no name": ({"allowed_imports": ["a b"]}, "allowed_imports must be a list"),
    "an import that leads out": ({"allowed_imports": ["os"]}, "'os' leads to files"),
    "one below it": ({"allowed_imports": ["importlib.util"]}, "leads to modules"),
    "frames": ({"allowed_imports": ["inspect"]}, "leads to code and frames"),
    "arrays": ({"allowed_imports": ["numpy"]}, "'numpy' cannot be used under the policy"),
    "what evaluates texts": ({"allowed_imports": ["typing_extensions"]}, "leads to code and frames"),
    "what makes environments": ({"allowed_imports": ["venv"]}, "leads to modules"),
    "an import of no package": ({"allowed_imports": ["math.foo"]}, "'math' is not a package; there is no such module"),
    "a private variable": ({"output_variable": "_x"}, "without an underscore in front"),
    "an import that is not there": ({"allowed_imports": ["no_such_module"]}, "No module named"),
    "an object": ({"additional_globals": {"a": object()}}, r"additional_globals\['a'\] is not plain data"),
    "an object in a list": ({"additional_locals": {"a": [len]}}, r"additional_locals\['a'\] is not plain data"),
    "a guard's name": ({"additional_globals": {"_getattr_": 1}}, "'_getattr_' is not a name"),
    "no mapping": ({"additional_globals": [1]}, "must be a mapping"),
    "too much": ({"additional_globals": {"a": "x" * 200_000}}, "is the most"),
    "a variable": ({"output_variable": "a.b"}, "output_variable must be the name"),
    "a policy without a class": ({"policy": "a.py"}, 'policy must be "file.py:Name"'),
    "a policy that is not there": ({"policy": "no_such.py:Policy"}, "no_such.py cannot be read"),
    "a module that is not there": ({"policy": "no_such_package:Policy"}, "No module named"),
    "a class that is no policy": ({"policy": "decimal:Decimal"}, "must be a class derived from"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_option_is_told(options, message):
    with pytest.raises(ExecutorError, match=message):
        make_executor("restricted", **options)


def test_without_restricted_python_the_extra_is_named(tmp_path):
    venv.create(tmp_path / "bare", with_pip=False)
    with pytest.raises(ExecutorError, match=r"RestrictedPython is missing; pip install 'code-exec-env\[restricted\]'"):
        make_executor("restricted", python=str(tmp_path / "bare" / "bin" / "python"))


def test_an_old_one_is_refused(tmp_path):
    venv.create(tmp_path / "old", with_pip=False)
    (packages,) = (tmp_path / "old" / "lib").glob("python*/site-packages")
    shutil.copytree(Path(RestrictedPython.__file__).parent, packages / "RestrictedPython")
    (packages / "restrictedpython-8.3.dist-info").mkdir()
    (packages / "restrictedpython-8.3.dist-info" / "METADATA").write_text("Name: RestrictedPython\nVersion: 8.3\n")
    with pytest.raises(ExecutorError, match=r"RestrictedPython 8.3 has known ways out; 8.4 or newer.*pip install"):
        make_executor("restricted", python=str(tmp_path / "old" / "bin" / "python"))


def test_what_it_is():
    with make_executor("restricted", workers=1) as executor:
        told = executor.describe()
        assert (told.policy, told.languages, told.notebooks) == ("RestrictedPython", {"python"}, False)
        with pytest.raises(UnsupportedProgram, match="notebooks"):
            executor.submit(Program("1", notebook=True))
        with pytest.raises(UnsupportedProgram, match="javascript"):
            executor.submit(Program("1", language="javascript"))


SHOWN = {
    "data": ("output = {'a': [1, (2, None)]}", {"application/json": '{"a": [1, [2, null]]}', "text/plain": "{'a': [1, (2, None)]}"}),
    "an object": (
        "class A:\n    def __repr__(self): return 'mine'\noutput = A()",
        {"text/plain": "<A object>"},
    ),
    "an int of one's own": ("class N(int): pass\noutput = N(3)", {"text/plain": "<N object>"}),
    "what has no text": ("class A:\n    def __repr__(self): return 1 / 0\noutput = A()", {"text/plain": "<A object>"}),
    "what holds itself": ("output = []\noutput.append(output)", {"text/plain": "[[...]]"}),
    "a text that would never come": (
        "class A:\n    def __repr__(self):\n        print('x')\n        while True: pass\noutput = [A(), A, {1: (2,)}, set()]",
        {"text/plain": "[<A object>, <class 'A'>, {1: (2,)}, set()]"},
    ),
    "a number that JSON has not": ("output = [float('nan')]", {"text/plain": "[nan]"}),
    "a number that is too large": ("output = 10 ** 5000", {}),
    "what is too deep": ("output = []\nfor i in range(900): output = [output]", {}),
    "what is too long": ("output = 'x' * 9000", {"application/json": '"' + "x" * 9000 + '"', "text/plain": "'" + "x" * 7999 + "... (1002 characters left out)"}),
    "after an error": ("output = 1\n1 / 0", {"application/json": "1", "text/plain": "1"}),
}  # fmt: skip


@pytest.mark.parametrize(("code", "shown"), SHOWN.values(), ids=SHOWN)
def test_the_output_variable_comes_back(run, code, shown):
    assert run(code, return_output=True).results == (shown,)


def test_no_output_variable_is_no_result(run):
    assert run("x = 1", return_output=True).results == ()
    assert run("output = 1").results == ()
    assert run("x = 1", return_output=True, output_variable="x").results[0]["application/json"] == "1"


POLICY = """
from RestrictedPython import RestrictingNodeTransformer
from code_env_harness.restricted.transformer import ProgramTransformer

class NoLoops(ProgramTransformer):
    builtins = {"answer": 42}

    def visit_While(self, node):
        self.error(node, "while is not allowed.")
        return node

class Stock(RestrictingNodeTransformer):
    guards = {"_getitem_": lambda ob, key: "guarded"}

not_one = 3
"""


def test_a_policy_of_ones_own(tmp_path):
    file = tmp_path / "policies.py"
    file.write_text(POLICY)
    with make_executor("restricted", workers=1, policy=f"{file}:NoLoops", allowed_imports=["math"]) as executor:
        assert executor.run(Program("import math\nprint(answer, math.pi > 3)")).stdout == "42 True\n"
        result = executor.run(Program("while False: pass"))
        assert (result.status, result.error.message) == (Status.REFUSED, "Line 1: while is not allowed.")
        assert executor.run(Program("().__class__")).status is Status.REFUSED
    with make_executor("restricted", workers=1, policy=f"{file}:Stock") as executor:
        code = "x = 1\nx += 2\nfor a, b in [(1, 2)]: print(x, a, b, [5][0])\nclass A:\n    def f(self): return 3\nprint(A().f())"
        assert executor.run(Program(code)).stdout == "3 1 2 guarded\n3\n"
        assert executor.run(Program("import os\nprint(os)")).status is Status.REFUSED
    with pytest.raises(ExecutorError, match="must be a class derived from"):
        make_executor("restricted", policy=f"{file}:not_one")


BROKEN = {
    "no arguments": ("class P(T):\n    def __init__(self): pass", "policy: P of policies.py raised TypeError"),
    "no tree": ("class P(T):\n    def visit_Module(self, node): return None", "policy: P of policies.py raised"),
    "an exit": ("raise SystemExit(3)", "policies.py cannot be loaded: SystemExit: 3"),
    "another name": ("class Q(T): pass", "policies.py has no class 'P'"),
    "a guard without underscore": ("class P(T): guards = {'name': 1}", "must have names with an underscore in front"),
}
BASE = "from code_env_harness.restricted.transformer import ProgramTransformer as T\n"


@pytest.mark.parametrize(("source", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_policy_is_told_when_the_executor_is_made(tmp_path, source, message):
    file = tmp_path / "policies.py"
    file.write_text(BASE + source)
    with pytest.raises(ExecutorError, match=message) as error:
        make_executor("restricted", policy=f"{file}:P")
    assert "bin/python" not in str(error.value)


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """With a policy that raises what a program asks it for."""
    file = tmp_path_factory.mktemp("failing") / "policies.py"
    visit = "    def visit_While(self, node): raise getattr(builtins, node.test.id)('x')\n"
    file.write_text(f"import builtins\n{BASE}class P(T):\n{visit}")
    with make_executor("restricted", workers=1, policy=f"{file}:P") as executor:
        yield executor


@pytest.mark.parametrize("raised", ["KeyError", "ValueError", "RecursionError", "SyntaxError", "SystemExit"])
def test_a_policy_that_fails_at_a_program_is_no_fault_of_the_program(failing, raised):
    looping = f"x = 0\nwhile {raised}: pass"
    task = Task("one", "One.", (CallTest(args=(), expected=1),), entry_point="f")
    result, verdict = failing.run(Program(looping)), judge(task, f"def f(): return 1\n{looping}", failing)
    assert failing.run(Program("print(1)")).stdout == "1\n"
    if raised == "RecursionError":  # A text that is too deep, as far as anybody can tell.
        assert (result.status, result.error.message) == (Status.ERROR, "Line 2: nested too deeply for the policy")
        return
    assert (result.status, result.stderr) == (Status.SANDBOX_ERROR, "")
    told = "'x'" if raised == "KeyError" else "x"
    assert f"P of policies.py raised {raised}: {told} at line 2" in result.error.message
    assert (verdict.outcome, verdict.valid) == (Outcome.NO_VERDICT, False)
    assert "harness" not in verdict.execution.error.message


def test_what_a_policy_prints_is_no_programs_output(run, tmp_path):
    file = tmp_path / "policies.py"
    file.write_text(f"{BASE}print('loaded')\nclass P(T): pass\n")
    assert run("print(1)", policy=f"{file}:P").stdout == "1\n"


@pytest.mark.parametrize("name", ["_secret", "__secret", "__version__"])
def test_a_guard_of_ones_own_is_out_of_reach(run, tmp_path, name):
    file = tmp_path / "policies.py"
    file.write_text(f"{BASE}class P(T): guards = {{{name!r}: 'SECRET'}}\n")
    for code in (f"print({name})", f"{name} = 1", f"def {name}(): pass", f"from math import pi as {name}"):
        result = run(code, policy=f"{file}:P", allowed_imports=["math"], allow_underscore_variable_names=True)
        assert (result.status, result.stdout) == (Status.REFUSED, ""), code


def test_a_policy_that_is_derived_from_the_librarys_tells_what_may_be_imported(run, tmp_path):
    file = tmp_path / "policies.py"
    file.write_text(
        "from RestrictedPython import RestrictingNodeTransformer\nclass P(RestrictingNodeTransformer): pass\n"
    )
    result = run("x = 1\nimport os", policy=f"{file}:P", allowed_imports=["math"])
    assert result.error.message == 'Line 2: the import of "os" is not allowed; allowed_imports are math.'


def test_a_librarys_own_list_stays_as_it_is():
    guards = Guards({}, allow_format=False, stand_ins={}, known=set(), writable=set())
    given = Modules(["keyword"], guards).view("keyword").kwlist
    assert given == keyword.kwlist
    assert given is not keyword.kwlist


LIST_NODE = "class ListNode:\n    def __init__(self, val, next=None):\n        self.val, self.next = val, next\n"
BESIDE = f"{LIST_NODE}node = reverse(ListNode(1, ListNode(2)))\nassert node.val == 2 and node.next.val == 1\n"
DERIVED = "class Sub(Base): pass\nsub = Sub()\nfill(sub)\nassert sub.x == 7\n"
ANSWER = (
    "class Base: pass\ndef fill(ob): ob.x = 7\ndef poke(ob):\n    ob.x = 7\n    return True\n"
    "def reverse(head):\n    done = None\n    while head:\n        rest, head.next = head.next, done\n"
    "        done, head = head, rest\n    return done\n"
)


def test_an_answer_changes_objects_of_the_tests_beside_it(restricted):
    task = Task("beside", "Reverse.", (AssertTest(code=BESIDE + DERIVED),), entry_point="reverse", judge="shared")
    verdict = judge(task, ANSWER, restricted)
    assert verdict.passed, verdict.cases
    library = AssertTest(code="import types\nassert poke(types)")
    verdict = judge(Task("library", "Poke.", (library,), entry_point="poke", judge="shared"), ANSWER, restricted)
    assert "a program may not change this module" in verdict.cases[0].message


TASKS = {
    "call": (CallTest(args=(1, 2), expected=3),),
    "assert": (AssertTest(code="assert add(1, 2) == 3\nimport os\nassert os.getpid()"),),
    "stdin": (StdinTest(stdin="1 2", stdout="3"),),
}


@pytest.fixture(scope="module")
def restricted():
    with make_executor("restricted", workers=1) as made:
        yield made


@pytest.mark.parametrize("tests", TASKS.values(), ids=TASKS)
def test_answers_are_judged_under_the_policy_and_tests_are_not(restricted, tests):
    task = Task("add", "Add.", tests, entry_point=None if tests[0].kind == "stdin" else "add")
    good = "def add(a, b): return a + b\nif __name__ == '__main__': print(add(*map(int, input().split())))"
    assert judge(task, good, restricted).passed
    refused = judge(task, "import os\n" + good, restricted)
    assert (refused.outcome, refused.execution.status) == (Outcome.POLICY_ERROR, Status.REFUSED)
    assert refused.execution.error.name == "PolicyViolation"
    assert "harness" not in refused.execution.error.traceback
    assert 'Line 1: the import of "os"' in refused.cases[0].message
    late = textwrap.dedent("""
        def add(a, b): return getattr(a, "__add__")(b)
        if __name__ == '__main__': print(add(*map(int, input().split())))
    """)
    failed = judge(task, late, restricted)
    assert failed.outcome is Outcome.FAIL
    assert "Line 2: " in failed.cases[0].message


def test_rewards_are_those_of_local(restricted, executor):
    answers = [
        (task, answer) for task in load_suite("starter")[::2] for answer in (task.reference, "def nothing(): pass")
    ]
    ours, theirs = judge_many(answers, restricted), judge_many(answers, executor)
    kept = [(one, other) for one, other in zip(ours, theirs, strict=True) if one.execution.status is not Status.REFUSED]
    assert len(kept) > len(answers) / 2
    for one, other in kept:
        assert (one.fraction, one.outcome, one.stage) == (other.fraction, other.outcome, other.stage), one.code


HUMANEVAL_MODULES = ["collections", "copy", "functools", "hashlib", "itertools", "math", "re", "string", "typing"]


@pytest.mark.shared_data
def test_humaneval_on_restricted(data, executor):
    suite = load_suite(data / "humaneval" / "HumanEval.jsonl.gz")
    stubs = [(task, "    return None\n") for task in suite[::8]]
    references = [(task, task.reference) for task in suite]
    theirs = judge_many(stubs, executor)  # That all references pass there is another test's.
    with make_executor(
        "restricted", workers=2, use_limited_builtins=False, allowed_imports=HUMANEVAL_MODULES
    ) as restricted:
        ours = judge_many(references + stubs, restricted)
    stopped = {one.code: one.execution.error.message for one in ours if one.execution.status is Status.REFUSED}
    assert list(stopped.values()) == ['Line 30: "eval" is not available to programs.']
    assert sum(one.passed for one in ours[: len(suite)]) == 163
    for one, other in zip(ours[len(suite) :], theirs, strict=True):
        if one.code not in stopped:
            assert (one.fraction, one.outcome) == (other.fraction, other.outcome), one.code
