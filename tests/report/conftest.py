"""Results and pages for the tests of reports, and the browser that opens them."""

import json
import shutil

import pytest

from code_env import evaluation, load_suite
from code_env.judging.rows import judged_by
from code_env.report import write_report

COMPLETIONS = {
    "davinci": "humaneval.text-davinci-003.reflexion.jsonl",
    "gpt35": "humaneval.gpt-3.5.llm-humaneval-benchmarks.jsonl",
}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Without its sandbox it starts as root and in containers; the page itself is what is tested.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(suite, samples, executor):
    """The lines that `code-env eval` writes for these samples."""
    judged = evaluation.judge_samples(suite, samples, executor)
    about = judged_by(executor)
    return [
        evaluation.sample_row(number, samples[number], suite.task(samples[number].task_id), verdict, about)
        for number, verdict in sorted(judged)
    ]


@pytest.fixture(scope="session")
def results(data, executor, tmp_path_factory):
    """The results of two models on HumanEval, as files."""
    suite = load_suite(data / "humaneval" / "HumanEval.jsonl.gz")
    folder = tmp_path_factory.mktemp("results")
    files = {}
    for name, completions in COMPLETIONS.items():
        samples = evaluation.read_samples(data / "llm_completions" / completions, suite)
        files[name] = write_rows(folder / f"{name}.jsonl", rows_of(suite, samples, executor))
    return files


@pytest.fixture(scope="session")
def report(results, tmp_path_factory):
    """The page that shows both."""
    page = tmp_path_factory.mktemp("page") / "report.html"
    write_report(list(results.values()), page)
    return page


@pytest.fixture(scope="module")
def browser():
    """Chromium. While it is open, Playwright has an event loop running in this thread, which tests elsewhere cannot."""
    if CHROMIUM is None:
        pytest.skip("no Chromium; Debian's package is `chromium`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=600_000)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser):
    """Opens pages from the disk or a server; what a page complains about, or asks for beside itself, is a failure."""
    complaints, contexts = [], []

    def opened(where, hash="", **options):
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(600_000)
        page = context.new_page()
        address = where if isinstance(where, str) else where.as_uri()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request", lambda asked: asked.url.startswith(address.partition("#")[0]) or complaints.append(asked.url)
        )
        page.goto(address + hash)
        page.wait_for_selector("html[data-ready]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
