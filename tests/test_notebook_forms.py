"""How objects show themselves in notebooks, and what `help()` says of their fields."""

import dataclasses
import importlib
import pydoc

import pytest

import code_env
from code_env import StdinTest, Task, TaskSuite, judge, validate

ATTACK = "</pre><script>alert(1)</script>"
TASK = Task(
    f"t{ATTACK}", f"Print it.{ATTACK}", (StdinTest("", ATTACK), StdinTest("", f"{ATTACK}x")), reference="print(1)"
)
MODULES = [importlib.import_module(f"code_env{name}") for name in ("", ".harbor", ".hardening", ".models", ".rollout")]
PUBLIC = [getattr(module, name) for module in MODULES for name in module.__all__]
DATACLASSES = [cls for cls in PUBLIC if dataclasses.is_dataclass(cls)]


def test_a_verdict_says_why_it_failed(executor):
    shown = judge(TASK, f"print({ATTACK!r} + 'x')", executor)._repr_html_()
    assert "fail: 1 of 2 cases passed, judged blind" in shown
    assert "<td>0.0</td><td>ok</td><td>line 1: expected" in shown
    assert "NoProgram: the answer holds no code" in judge(TASK, "", executor)._repr_html_()


def test_text_is_escaped_everywhere(executor):
    suite = TaskSuite(ATTACK, [TASK])
    shown = [
        judge(TASK, f"print({ATTACK!r} + 'x')", executor)._repr_html_(),
        TASK._repr_html_(),
        suite._repr_html_(),
        validate(suite, executor)._repr_html_(),
    ]
    for one in shown:
        assert "<script>" not in one
        assert "&lt;script&gt;" in one


def test_tables_say_how_much_more_there_is():
    suite = TaskSuite("many", [Task(str(number), "", (StdinTest("", "1"),)) for number in range(25)])
    assert "many: 25 tasks" in suite._repr_html_()
    assert "15 more" in suite._repr_html_()


def test_a_validation_shows_its_findings(executor):
    shown = validate(TaskSuite("s", [TASK]), executor)._repr_html_()
    assert "s: 0 of 1 tasks are sound" in shown
    assert "reference_fails" in shown


@pytest.mark.parametrize("cls", DATACLASSES, ids=lambda cls: cls.__name__)
def test_help_says_what_every_field_means(cls):
    shown = " ".join(pydoc.plain(pydoc.render_doc(cls)).split())
    for field in dataclasses.fields(cls):
        if not field.name.startswith("_"):
            assert f" {field.name}: " in shown.partition("Fields:")[2], field.name


def test_the_meaning_is_that_of_the_source():
    assert "cpu_s: CPU time of all its processes together, in seconds." in code_env.Limits.__doc__
    assert code_env.Limits.__doc__.startswith("The limits of one run of a program.")
