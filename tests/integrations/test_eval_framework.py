import base64
import dataclasses
import pickle
from types import SimpleNamespace

import pytest

from code_env import (
    ExecutorMisconfigured,
    ImageNotPrepared,
    NoVerdict,
    PackagesNotPrepared,
    TaskError,
    UnsupportedProgram,
    make_executor,
)
from code_env.images import prepare_images
from code_env.integrations.eval_framework import (
    BIG_CODE_BENCH_PACKAGE_MAPPING,
    CallableSerializer,
    CodeCompletionAssertion,
    CodeExecutionBaseContext,
    CodeExecutionPassAtOne,
    CodeExecutionPassAtOneContext,
    CodeExecutionPassAtOneWithCodebench,
    Completion,
    Error,
    ExecutionResult,
    MetricResult,
    RealtimeCodeExectionContext,
    estimate_pass_at_k,
    execute_python_code_with_tests,
    prepare_packages,
)
from images.rootfs import make_root
from integrations import merging
from packages.wheels import make_wheel
from support import BrokenExecutor

SQUARE = "def f(x): return x * x"
ASSERTS = "assert f(3) == 9\nassert f(-2) == 4"
UNITTEST = (
    "import unittest\nclass TestF(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(3), 9)\n"
    "        self.assertEqual(f(-2), 4)\n"
)


def context(**fields):
    defaults = {"run_env": None, "code_prompt": "Write f.", "test_code": ASSERTS, "package_downloads": {}}
    return CodeExecutionPassAtOneContext(**(defaults | fields))


def calculate(executor, completion=SQUARE, **fields):
    response = Completion(completion=completion, context=context(**fields))
    (result,) = CodeExecutionPassAtOne(executor).calculate(response)
    return result


@pytest.mark.parametrize(
    "tests", [ASSERTS, UNITTEST, UNITTEST + "unittest.main()"], ids=["asserts", "unittest", "main"]
)
def test_a_completion_that_passes_is_worth_one(executor, tests):
    result = calculate(executor, test_code=tests)
    assert (result.metric_name, result.value, result.higher_is_better) == ("code-execution-pass@1", 1.0, True)
    assert result.error is None
    assert "tests passed" in result.code_execution_trace


def test_a_completion_that_fails_is_worth_nothing_and_says_why(executor):
    result = calculate(executor, "def f(x): return 9")
    assert (result.value, result.error) == (0.0, None)
    assert result.code_execution_trace == "1 of 2 tests passed\nassert f(-2) == 4: left is 9, right is 4"


D10 = {
    "print OK and exit": "import sys\nprint('OK')\nsys.exit(0)",
    "print OK in the call": "def f(x):\n    print('Ran 1 test\\n\\nOK')\n    raise SystemExit(0)",
    "print OK to stderr and leave": "import os\nos.write(2, b'Ran 2 tests in 0.001s\\n\\nOK\\n')\nos._exit(0)",
    "a text with TOKEN in it": "print('TOKEN')",
    "unittest patched": (
        "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n"
        "unittest.TestResult.wasSuccessful = lambda self: True\ndef f(x): return 0"
    ),
}


@pytest.mark.parametrize("tests", [ASSERTS, UNITTEST], ids=["asserts", "unittest"])
@pytest.mark.parametrize("completion", D10.values(), ids=D10)
def test_d10_what_a_completion_prints_is_no_success(executor, completion, tests):
    assert calculate(executor, completion, test_code=tests).value == 0.0


FUNCTIONS = {"snippet_merge_fn": "integrations.merging:merge", "output_parse_fn": "integrations.merging:parse"}


def test_functions_of_the_context_are_used_and_believe_what_is_printed(executor):
    assert calculate(executor, test_code=UNITTEST, **FUNCTIONS).value == 1.0
    assert calculate(executor, "def f(x): return 0", test_code=UNITTEST, **FUNCTIONS).value == 0.0
    printed = calculate(executor, D10["print OK and exit"], test_code=UNITTEST, **FUNCTIONS)
    assert (printed.value, printed.code_execution_trace) == (1.0, "OK")


def test_a_program_that_is_ended_fails_whatever_it_printed(executor):
    code = "print('OK', flush=True)\nwhile True: pass"
    result = calculate(executor, code, test_code=UNITTEST, benchmark_timeout=1, **FUNCTIONS)
    assert result.value == 0.0
    assert result.code_execution_trace.startswith("the time limit was reached")


def test_a_realtime_context_holds_the_functions_themselves(executor):
    realtime = RealtimeCodeExectionContext.from_context(context(test_code=UNITTEST, **FUNCTIONS))
    assert (realtime.snippet_merge_fn, realtime.output_parse_fn) == (merging.merge, merging.parse)
    assert (realtime.code_prompt, realtime.test_code, realtime.benchmark_timeout) == ("Write f.", UNITTEST, 60)
    (result,) = CodeExecutionPassAtOne(executor).calculate(Completion(completion=SQUARE, context=realtime))
    assert result.value == 1.0


def test_contexts_are_frozen_and_have_the_original_s_fields():
    names = [field.name for field in dataclasses.fields(CodeExecutionBaseContext)]
    assert names == ["run_env", "code_prompt", "test_code", "benchmark_timeout", "package_downloads"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        context().run_env = "image"


def test_an_error_upstream_is_passed_through(executor):
    error = Error("Timeout", "the model did not answer")
    (result,) = CodeExecutionPassAtOne(executor).calculate(Completion(completion="", error=error))
    assert result == MetricResult(metric_name="code-execution-pass@1", value=None, error=error)


def test_a_failing_sandbox_gives_no_value(executor):
    result = calculate(BrokenExecutor())
    assert (result.value, result.error.error_class) == (None, "NoVerdict")
    assert "no luck" in result.error.message
    assert "Traceback" in result.error.traceback
    assert calculate(BrokenExecutor(), **FUNCTIONS).error.error_class == "NoVerdict"
    assert calculate(BrokenExecutor(executor, failures=2), test_code=UNITTEST, **FUNCTIONS).value == 1.0
    with pytest.raises(NoVerdict):
        execute_python_code_with_tests(SQUARE, ASSERTS, {}, executor=BrokenExecutor())


def test_a_function_of_the_context_that_raises_gives_no_value(executor):
    realtime = RealtimeCodeExectionContext(
        code_prompt="", test_code=ASSERTS, package_downloads={}, output_parse_fn=lambda output: output["success"]
    )
    (result,) = CodeExecutionPassAtOne(executor).calculate(Completion(completion=SQUARE, context=realtime))
    assert (result.value, result.error.error_class) == (None, "TypeError")


class Bomb:
    def __reduce__(self):
        return exec, ("raise RuntimeError('unpickled')",)


@pytest.mark.parametrize("field", FUNCTIONS)
def test_nothing_is_unpickled(executor, field):
    text = base64.b64encode(pickle.dumps(Bomb())).decode()
    with pytest.raises(TaskError, match=r"pickled function.*Nothing is unpickled here.*top level of a module"):
        calculate(executor, **{field: text})


def test_functions_as_text_and_back():
    assert CallableSerializer.encode(merging.parse) == "integrations.merging:parse"
    assert CallableSerializer.decode("integrations.merging:parse") is merging.parse
    for function in (lambda: 1, pytest.raises(ValueError).__enter__):
        with pytest.raises(TaskError, match="top level of a module"):
            CallableSerializer.encode(function)
    with pytest.raises(TaskError, match="no function at 'merging:nothing'"):
        CallableSerializer.decode("merging:nothing")


def test_a_merge_function_alone_decides_nothing(executor):
    with pytest.raises(TaskError, match="give both, or neither"):
        calculate(executor, snippet_merge_fn="integrations.merging:merge")


def test_an_image_is_never_left_out_unsaid(executor):
    with pytest.raises(ImageNotPrepared, match=r"prepare_images\(\['python:3\.12'\]\) once.*image='ignore'"):
        calculate(executor, run_env="python:3.12")
    with (
        make_executor("subprocess") as other,
        pytest.raises(UnsupportedProgram, match=r"'python:3\.12' needs the executor 'container' or 'local'"),
    ):
        calculate(other, run_env="python:3.12")
    with pytest.raises(ExecutorMisconfigured, match=r"localhost/no-such.*image='ignore'\) runs"):
        calculate(None, run_env="localhost/no-such:1")
    with pytest.raises(TaskError, match="give an image or a dockerfile, not both"):
        execute_python_code_with_tests(SQUARE, ASSERTS, {}, image="a", dockerfile="b", executor=executor)


def test_a_build_file_is_run_on_local(tmp_path, monkeypatch):
    monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path / "cache"))
    make_root(tmp_path / "context/root")
    path = tmp_path / "context/Dockerfile"
    path.write_text("FROM ./root\nENV SIDE=3\n")
    code = "import os, of_the_image\ndef f(x): return x * int(os.environ['SIDE']) + of_the_image.ANSWER"
    asked = {"test_code": "assert f(2) == 48\nassert f(0) == 42", "package_mapping": {"of_the_image": "any"}}
    with make_executor("local", min_isolation="full", workers=1) as local:
        with pytest.raises(ImageNotPrepared, match="prepare_images"):
            execute_python_code_with_tests(code, **asked, dockerfile=str(path), executor=local)
        prepare_images([str(path)])
        right = execute_python_code_with_tests(code, **asked, dockerfile=str(path), executor=local)
        wrong = execute_python_code_with_tests(SQUARE, **asked, image=str(path), executor=local)
        assert (right.success, wrong.success) == (True, False)
        with pytest.raises(UnsupportedProgram, match=r"numpy cannot be imported in the image .* must have it"):
            execute_python_code_with_tests(
                "import numpy", ASSERTS, {"numpy": "numpy"}, dockerfile=str(path), executor=local
            )


def test_a_missing_package_is_named_by_what_to_install(executor):
    packages = {"numpy": "numpy", "no_such_package": "no-such-package==1.0", "unused_one": "unused", "json": None}
    with pytest.raises(UnsupportedProgram, match=r"^no_such_package cannot be .* install no-such-package==1\.0 into"):
        calculate(executor, "from no_such_package import x\n" + SQUARE, package_downloads=packages)
    code = "import json, numpy as np\ndef f(x): return int(np.square(x))"
    assert calculate(executor, code, package_downloads=packages).value == 1.0


MISSES = {
    "behind another statement": "x = 1; import no_such_package",
    "in a compound statement": "try: import no_such_package\nexcept ValueError: pass",
    "in a function": "def f(x): import no_such_package; return x * x",
    "in two lines": "import os, \\\n  no_such_package",
    "by a function": "import importlib\nimportlib.import_module('no_such_package')",
    "by a name that is made": "__import__('no_such_' + 'package')",
    "and goes on without it": "try:\n    import no_such_package\nexcept ImportError:\n    pass",
}
NEEDS_NOTHING = {
    "a comment": f"import os  # no no_such_package needed\n{SQUARE}",
    "a docstring": "def f(x):\n    '''Take it\n    from no_such_package or elsewhere.'''\n    return x * x",
    "a substitute": f"try:\n    import no_such_package\nexcept ImportError:\n    import json\n{SQUARE}",
    "an attribute": f"from os import path as no_such_package\n{SQUARE}",
}
MAPPING = {"no_such_package": "no-such-package", "os": None}


@pytest.mark.parametrize("fields", [{}, {"test_code": UNITTEST}, {"test_code": UNITTEST, **FUNCTIONS}])
def test_a_missing_package_is_found_in_any_form_of_import(executor, fields):
    for code in MISSES.values():
        with pytest.raises(UnsupportedProgram, match=r"^no_such_package cannot be imported where programs run"):
            calculate(executor, code, package_downloads=MAPPING, **fields)
    for code in NEEDS_NOTHING.values():
        assert calculate(executor, code, package_downloads=MAPPING, **fields).value == 1.0
    wrong = "def f(x): return 9  # import no_such_package"
    assert calculate(executor, wrong, package_downloads=MAPPING, **fields).value == 0.0


def test_tests_that_miss_a_package_are_told_too(executor):
    with pytest.raises(UnsupportedProgram, match="no_such_package cannot be imported where programs run"):
        calculate(executor, test_code=f"import no_such_package\n{ASSERTS}", package_downloads=MAPPING)


def test_who_only_says_that_a_package_is_missing_fails(executor):
    lies = "def f(x): raise ModuleNotFoundError(\"No module named 'numpy'\")"
    assert calculate(executor, lies, package_downloads={"numpy": "numpy"}).value == 0.0


def test_the_result_is_a_tuple_of_two(executor):
    success, output = execute_python_code_with_tests(SQUARE, ASSERTS, {}, executor=executor)
    assert (success, output) == (True, "2 of 2 tests passed")
    assert ExecutionResult(True, "x")._fields == ("success", "output")


def test_tests_that_patch_run_beside_the_completion_if_told_so(executor):
    tests = (
        "import unittest\nfrom unittest.mock import patch\nclass T(unittest.TestCase):\n    def test_f(self):\n"
        "        with patch('random.random', return_value=2.0):\n            self.assertEqual(f(1), 2.0)\n"
    )
    code = "import random\ndef f(x): return x * random.random()"
    response = Completion(completion=code, context=context(test_code=tests))
    values = [CodeExecutionPassAtOne(executor, mode).calculate(response)[0].value for mode in ("blind", "shared")]
    assert values == [0.0, 1.0]


@pytest.mark.parametrize(("n", "c", "k", "value"), [(1, 1, 1, 1.0), (1, 0, 1, 0.0), (5, 2, 1, 0.4), (4, 3, 2, 1.0)])
def test_pass_at_k(n, c, k, value):
    assert estimate_pass_at_k(n, c, k) == pytest.approx(value)


def test_pass_at_k_of_too_few_samples_is_an_error():
    with pytest.raises(ValueError, match="1 <= k <= n"):
        estimate_pass_at_k(1, 0, 5)


def test_what_is_no_context_is_an_error(executor):
    with pytest.raises(TaskError, match=r"context must have .*; got dict without code_prompt"):
        CodeExecutionPassAtOne(executor).calculate(Completion(completion="x", context={"test_code": ASSERTS}))


PICKLED = base64.b64encode(pickle.dumps(merging.merge)).decode()
FOREIGN = {
    "run_env": "python:3.12",
    "code_prompt": "Write f.",
    "test_code": UNITTEST,
    "benchmark_timeout": 30,
    "package_downloads": {},
    "snippet_merge_fn": PICKLED,
    "output_parse_fn": PICKLED,
}
"""As eval-framework's own tasks make it, of a class of its own."""


def foreign(**fields):
    return SimpleNamespace(**{**FOREIGN, **fields})


class TestContextsOfOtherClasses:
    def test_one_with_the_fields_is_judged(self, executor):
        own = foreign(run_env=None, snippet_merge_fn=None, output_parse_fn=None)
        for code, value in ((SQUARE, 1.0), ("def f(x): return 9", 0.0)):
            (result,) = CodeExecutionPassAtOne(executor).calculate(Completion(completion=code, context=own))
            assert result.value == value

    def test_functions_and_image_are_ignored_on_demand_only(self, executor):
        response = Completion(completion=SQUARE, context=foreign())
        with pytest.raises(TaskError, match="functions='ignore'"):
            CodeExecutionPassAtOne(executor).calculate(response)
        with pytest.raises(UnsupportedProgram, match="image='ignore'"):
            CodeExecutionPassAtOne(executor, functions="ignore").calculate(response)
        metric = CodeExecutionPassAtOne(executor, functions="ignore", image="ignore")
        assert metric.calculate(response)[0].value == 1.0
        claims = "print('OK')\nimport sys\nsys.exit(0)"
        assert metric.calculate(Completion(completion=claims, context=foreign()))[0].value == 0.0

    def test_one_without_the_fields_names_them(self, executor):
        with pytest.raises(TaskError, match="got SimpleNamespace without test_code, package_downloads"):
            CodeExecutionPassAtOne(executor).calculate(
                Completion(completion=SQUARE, context=SimpleNamespace(code_prompt=""))
            )

    @pytest.mark.parametrize("switch", [{"functions": "ignored"}, {"image": True}, {"packages": "all"}])
    def test_a_switch_has_two_positions(self, switch):
        with pytest.raises(ValueError, match=r"must be one of \w+, \w+; got"):
            CodeExecutionPassAtOne(**switch)


def test_a_misspelt_choice_of_packages_is_not_taken_for_another(executor):
    with pytest.raises(ValueError, match=r"packages must be one of installed, prepared; got 'prepard'; did you mean"):
        execute_python_code_with_tests(SQUARE, ASSERTS, {}, executor=executor, packages="prepard")


SHELF = "import shelf\ndef f(x): return shelf.VERSION"


class TestPreparedPackages:
    @pytest.fixture
    def response(self, tmp_path, monkeypatch):
        monkeypatch.setenv("CODE_ENV_CACHE", str(tmp_path / "cache"))
        make_wheel(tmp_path / "wheels", "shelf", "2.0")
        make_wheel(tmp_path / "wheels", "box", "1.0")
        tests = "import box\nassert f(1) == '2.0' and box.VERSION == '1.0'"
        packages = {"shelf": "shelf", "box": "box==1.0", "unused": "no-such-package", "json": None}
        return Completion(completion=SHELF, context=context(test_code=tests, package_downloads=packages))

    def test_they_are_found_once_they_are_prepared(self, response, tmp_path):
        with make_executor("local") as executor:
            metric = CodeExecutionPassAtOne(executor, packages="prepared", judge="shared")
            with pytest.raises(PackagesNotPrepared, match=r"box==1\.0, shelf are not.*prepare_packages\(responses\)"):
                metric.calculate(response)
            done = prepare_packages([response, response], wheels=tmp_path / "wheels")
            assert [one.requirements for one in done.environments] == [("box==1.0", "shelf")]
            assert metric.calculate(response)[0].value == 1.0
            wrong = dataclasses.replace(response, completion=SHELF + " + 'x'")
            assert metric.calculate(wrong)[0].value == 0.0

    def test_only_what_is_imported_is_required(self, response, tmp_path):
        prepare_packages([response], wheels=tmp_path / "wheels")
        code = "x = 1; import shelf  # and not: import unused\ndef f(x): return shelf.VERSION"
        with make_executor("local") as executor:
            metric = CodeExecutionPassAtOne(executor, packages="prepared", judge="shared")
            assert metric.calculate(dataclasses.replace(response, completion=code))[0].value == 1.0

    def test_functions_of_a_context_find_them_too(self, response, tmp_path):
        tests = "import box\nprint(f(1), 'OK')"
        asking = dataclasses.replace(response.context, test_code=tests, output_parse_fn=FUNCTIONS["output_parse_fn"])
        with make_executor("local") as executor:
            prepare_packages([response], wheels=tmp_path / "wheels")
            metric = CodeExecutionPassAtOne(executor, packages="prepared")
            (result,) = metric.calculate(dataclasses.replace(response, context=asking))
        assert (result.value, result.code_execution_trace) == (1.0, "2.0 OK")

    def test_bigcodebench_s_metric_needs_no_image(self, response, tmp_path):
        own = foreign(test_code=response.context.test_code, package_downloads=response.context.package_downloads)
        theirs = Completion(completion=SHELF, context=own)
        prepare_packages([theirs], wheels=tmp_path / "wheels")
        with make_executor("local") as executor:
            (result,) = CodeExecutionPassAtOneWithCodebench(executor, functions="ignore").calculate(theirs)
        assert (result.metric_name, result.value) == ("code-execution-pass@1-codebench", 1.0)

    def test_bigcodebench_s_packages(self):
        mapping = BIG_CODE_BENCH_PACKAGE_MAPPING
        assert (mapping["sklearn"], mapping["PIL"], mapping["pandas"]) == ("scikit-learn", "pillow", "pandas")
        assert mapping["json"] is None


CHECK = "def check(candidate):\n    assert candidate(3) == 9\n    assert candidate(-2) == 4\n"


def of_human_eval(code):
    """As eval-framework's HumanEval puts it together."""
    end = "try:\n  check(f)\n  print(True)\nexcept Exception as e:\n  print(e)\n  print(False)\n"
    own = SimpleNamespace(prompt="", test=CHECK, entry_point="f")
    return SimpleNamespace(completion=f"\n\n{code}\n{CHECK}\n{end}", context=own, error=None)


def of_mbpp(code):
    """As eval-framework's MBPP puts it together."""
    lines = "".join(f"    {line}\n" for line in ASSERTS.splitlines())
    end = f"try:\n{lines}    score = True\nexcept:\n    score = False\nprint(score)"
    return SimpleNamespace(completion=f"{code}\n{end}", context=SimpleNamespace(tests_code=ASSERTS), error=None)


CLAIMS = "def f(x): return 0\nprint(True)\nraise SystemExit"


class TestCodeCompletionAssertion:
    @pytest.mark.parametrize("form", [of_human_eval, of_mbpp])
    @pytest.mark.parametrize(
        ("code", "value"), [(SQUARE, 1.0), ("def f(x): return 9", 0.0), (CLAIMS, 0.0), (f"{SQUARE}\n{CHECK}", 1.0)]
    )
    def test_known_tests_run_apart(self, executor, form, code, value):
        (result,) = CodeCompletionAssertion(executor).calculate(form(code))
        assert (result.metric_name, result.value) == ("Code Completion Accuracy", value)

    def test_without_a_context_the_last_word_decides(self, executor):
        metric = CodeCompletionAssertion(executor, limits={"cpu_s": 1})
        programs = {"print('so', True)": 1.0, "print(True, 'not')": 0.0, "print(True)\nwhile True: pass": 0.0}
        for code, value in programs.items():
            (result,) = metric.calculate(SimpleNamespace(completion=code, error=None))
            assert result.value == value

    def test_what_prevented_a_completion_or_a_verdict_gives_no_value(self):
        error = Error("ValueError", "x")
        (result,) = CodeCompletionAssertion().calculate(SimpleNamespace(completion="", error=error))
        assert (result.value, result.error) == (None, error)
        (result,) = CodeCompletionAssertion(BrokenExecutor()).calculate(of_mbpp(SQUARE))
        assert (result.value, result.error.error_class) == (None, "NoVerdict")
