"""The page in a real browser, opened from the disk: the results of two models on HumanEval."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.shared_data

TASKS = 164


def count(page):
    return page.locator("#count").inner_text()


def detail(page):
    return page.locator("#detail").inner_text()


def options_shown(page):
    return page.locator("#list [role=option]").all_inner_texts()


def test_the_overview_shows_the_figures_of_both_runs(open_page, report):
    text = detail(open_page(report))
    assert "davinci.jsonl" in text
    assert "93 (56.7 %)" in text
    assert "0.5671" in text
    assert "68 of 164" in text
    assert "ok (ended by itself)" in text
    assert "waiting for a worker" in text


def test_filter_search_and_orders(open_page, report):
    page = open_page(report)
    assert count(page) == f"{2 * TASKS} of {2 * TASKS} samples"
    page.select_option("#run", "0")
    page.select_option("#outcome", "pass")
    assert count(page) == f"93 of {2 * TASKS} samples"
    page.select_option("#outcome", "without code")
    assert count(page) == f"68 of {2 * TASKS} samples"
    page.click("text=Show all")
    assert count(page) == f"{2 * TASKS} of {2 * TASKS} samples"
    page.fill("#search", "humaneval/163")
    assert count(page) == f"2 of {2 * TASKS} samples"
    page.fill("#search", "def make_palindrome(string: str)")
    assert count(page) == f"0 of {2 * TASKS} samples"
    page.check("#deep")
    page.wait_for_selector(f"#count:text-is('2 of {2 * TASKS} samples')")
    assert all("HumanEval/10" in shown for shown in options_shown(page))
    page.click("text=Show all")
    page.select_option("#order", "slowest first")
    first = options_shown(page)[0]
    page.select_option("#order", "as in the file")
    assert options_shown(page)[0] != first


def test_a_task_of_the_overview_is_a_filter(open_page, report):
    page = open_page(report)
    page.locator("section[aria-label='davinci.jsonl'] table >> text=/^HumanEval.1$/").click()
    assert count(page) == f"1 of {2 * TASKS} samples"
    assert "only task HumanEval/1" in page.locator("#only").inner_text()


def test_a_sample_says_why_it_failed(open_page, report):
    page = open_page(report)
    page.select_option("#run", "1")
    page.select_option("#outcome", "fail")
    page.locator("#list [role=option]").first.click()
    page.wait_for_selector(".case")
    shown = detail(page)
    assert re.search(r"left is .*, right is ", shown)
    assert "def " in shown
    assert re.search(r"judged by\s+local, level (full|contained)", shown)
    assert "CPU time" in shown
    assert "the same sample in Run A" in shown


def test_stepping_by_keys(open_page, report):
    page = open_page(report)
    page.focus("#list")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:text-is('HumanEval/1')")
    page.keyboard.press("j")
    page.wait_for_selector("h2:text-is('HumanEval/2')")
    page.keyboard.press("k")
    page.wait_for_selector("h2:text-is('HumanEval/1')")
    page.focus("#list")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:text-is('HumanEval/163')")
    page.keyboard.press("o")
    page.wait_for_selector("h2:text-is('Overview')")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.uncheck("#keys-on")
    page.click("#keys button")
    page.keyboard.press("/")
    assert not page.locator("#search").evaluate("field => field === document.activeElement")


def test_two_runs_are_compared_sample_by_sample(open_page, report):
    page = open_page(report, "#compare")
    rows = page.locator("#detail tbody tr").all_inner_texts()
    counts = {name: int(number) for name, number in (row.split("\t") for row in rows)}
    assert sum(counts.values()) == TASKS
    assert counts["passes in both"] + counts["broke"] == 93
    assert counts["mended"] > 0
    page.click("#detail >> text=mended")
    assert count(page) == f"{counts['mended']} of {2 * TASKS} samples"
    page.locator("#list [role=option]").first.click()
    page.wait_for_selector("text=mended: the same sample in Run A")
    page.goto(f"{report.as_uri()}#compare")
    page.wait_for_selector("h2:text-is('Compare two runs')")
    page.select_option("#detail select >> nth=0", "1")
    page.select_option("#detail select >> nth=1", "0")
    swapped = page.locator("#detail tbody tr").all_inner_texts()
    assert dict(row.split("\t") for row in swapped)["broke"] == str(counts["mended"])


@pytest.mark.parametrize("hash", ["#overview", "#compare", "#item-1", "#item-190"])
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_no_accessibility_violation(open_page, report, hash, theme, width):
    page = open_page(report, hash, color_scheme=theme, viewport={"width": width, "height": 800})
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_on_a_phone_list_and_sample_take_turns(open_page, report):
    page = open_page(report, viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#list [role=option]").nth(3).click()
    page.wait_for_selector("h2:text-is('HumanEval/3')")
    assert not page.locator("#list").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("text=list >> visible=true")
    assert page.locator("#list").is_visible()


def test_the_theme_is_that_of_the_system_and_can_be_changed(open_page, report):
    page = open_page(report, color_scheme="dark")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.click("#theme")
    assert page.locator("html").get_attribute("data-theme") == "light"


def test_a_page_says_what_is_missing_without_its_script(open_page, report, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert "needs JavaScript" in page.locator("body").inner_text()
    context.close()
