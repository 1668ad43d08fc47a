"""The quick tier leaves out no part of the package, and its lists name tests that there are."""

import subprocess
import sys
from types import SimpleNamespace

from support import PATIENCE_S, ROOT
from tiers import LEFT_OUT, LONGEST, SAMPLED_CASES, SAMPLED_TESTS, holds_quick_tests, quick_part, sample

LINES = (*LEFT_OUT, *SAMPLED_CASES, *SAMPLED_TESTS, *LONGEST)


def collected():
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


def files(tests):
    return {test.partition("::")[0] for test in tests}


def test_the_quick_tier_is_a_part_of_everything_and_leaves_out_what_its_lines_name():
    # One test, because each process of the tests that has one of several would collect everything.
    everything = collected()
    # Processes that share the tests out must have the same names for them.
    assert [name for name in everything if " at 0x" in name] == []
    quick = [test.nodeid for test in quick_part(SimpleNamespace(nodeid=test) for test in everything)]
    assert set(quick) < set(everything)
    assert files(quick) <= {name for name in files(everything) if holds_quick_tests(ROOT / name)}
    left_out = {name for name in files(everything) if name.startswith(LEFT_OUT)}
    assert {name for name in files(everything) - files(quick) - left_out if name.startswith("tests/")} == set()
    # A folder without tests is named so that its modules are not loaded to look for examples.
    lines = [name for name in LINES if not (ROOT / name).is_dir()]
    assert [name for name in lines if not any(test.startswith(name) for test in everything)] == []


def test_the_lists_name_files_that_there_are():
    assert [line for line in LINES if not list(ROOT.glob(f"{line.partition('::')[0]}*"))] == []


def test_a_sample_depends_on_names_alone_and_is_not_empty():
    names = [f"test {number}" for number in range(200)]
    chosen = sample(names, 10)
    assert 5 <= len(chosen) <= 40
    assert sample(names[::-1], 10) == chosen[::-1]
    assert set(sample(names[:100], 10)) == set(chosen) & set(names[:100])
    assert 1 <= len(sample(sample([f"test {number}" for number in range(1000)], 10), 5)) <= 50
    assert len(sample(names, 10**9)) == 1
    assert sample([], 10) == []
