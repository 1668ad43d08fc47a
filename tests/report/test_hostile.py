"""All text of models and programs is hostile: nothing of it runs in the page, ends an element, or hides what it is."""

from importlib import resources

import pytest

from code_env import CallTest, StdinTest, Task, TaskSuite
from code_env.evaluation import Sample
from code_env.report import write_report
from report.conftest import rows_of, write_rows

ATTACK = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--"
TEXTS = [
    ATTACK,
    "]]>" + ATTACK,
    "javascript:window.hacked=1",
    '"><svg onload=window.hacked=1>',
    "<a href='javascript:window.hacked=1'>click</a>",
    "${window.hacked = 1}`'\"",
    "<style>*{display:none}</style><meta http-equiv=refresh content='0;url=http://example.invalid'>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe><base href=http://example.invalid>",
    "\u202e\u2066\x00\x1b[31m\ud800\ufeff",
]


@pytest.fixture(scope="module")
def hostile(executor, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    tasks = [
        Task(
            f"{number} {text}".replace("\ud800", ""),
            text,
            (StdinTest(text, text), CallTest((text,), expected=text)),
            entry_point="f",
        )
        for number, text in enumerate(text.replace("\ud800", "") for text in TEXTS)
    ]
    suite = TaskSuite("hostile", tasks)
    samples = []
    for task, text in zip(tasks, TEXTS, strict=True):
        shown = ascii(text)
        samples += [
            Sample(
                task.id,
                f"import sys\n# {text}\ndef f(x): return {shown}\nprint({ATTACK!a}); print({shown}, file=sys.stderr)",
            ),
            Sample(task.id, f"def f(x): raise ValueError({shown})"),
            Sample(task.id, f"class {'A'}(Exception): pass\nraise A({shown})"),
            Sample(task.id, text, model=ATTACK, finish_reason="length"),
        ]
    rows = rows_of(suite, samples, executor)
    # The files of others may hold more than ours do.
    for key in ("message", "stdout", "stderr", "executor", "level", "version", "judge", "status", "language"):
        rows.append(rows[0] | {key: ATTACK, "sample": len(rows)})
    file = write_rows(folder / "<img src=x onerror='window.hacked=1'>.jsonl", rows)
    page = folder / "report.html"
    assert write_report([file, file], page, title=ATTACK) == 2 * len(rows)
    return page, len(rows)


def test_nothing_runs_and_all_is_shown(hostile, open_page):
    path, rows = hostile
    page = open_page(path)
    assert page.title() == ATTACK
    for hash in ("#overview", "#compare", *(f"#item-{number}" for number in range(rows))):
        page.evaluate("hash => { location.hash = hash; return show(); }", hash)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, base, a[href^=javascript]").count() == 0
    page.evaluate("location.hash = '#item-0'")
    page.wait_for_selector("h2:has-text('0 ')")
    assert ATTACK in page.locator("#detail").inner_text()


def test_an_answer_that_was_cut_off_says_so_and_names_its_model(hostile, open_page):
    told = "The model stopped at its limit of tokens (finish_reason length)."
    for number, is_cut in ((2, False), (3, True)):
        shown = open_page(hostile[0], f"#item-{number}").locator("#detail").inner_text()
        assert ((told in shown), (f"model\n{ATTACK}" in shown)) == (is_cut, is_cut)
    assert ATTACK in open_page(hostile[0], "#overview").locator("#detail dl").first.inner_text()


def test_signs_that_cannot_be_seen_are_escapes(hostile, open_page):
    path, _ = hostile
    page = open_page(path, "#item-35")
    text = page.locator("#detail").inner_text()
    assert "\\u202e\\u2066\\u0000\\u001b[31m" in text
    assert not set("\u202e\u2066\x00\x1b\ufeff") & set(page.locator("body").inner_text())


def test_a_script_of_the_data_would_not_be_allowed(hostile, browser):
    page = browser.new_context().new_page()
    page.goto(hostile[0].as_uri())
    page.wait_for_selector("html[data-ready]")
    page.evaluate(
        """() => {
            const made = document.createElement('script');
            made.textContent = 'window.hacked = 2';
            document.body.append(made);
            document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hacked = 3">');
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    page.context.close()


def test_the_script_makes_no_html_of_text():
    assets = resources.files("code_env.report") / "assets"
    text = "".join(asset.read_text() for asset in assets.iterdir() if asset.name.endswith(".js"))
    for name in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
    ):
        assert name not in text
