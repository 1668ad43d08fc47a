"""Prints how many distinct programs the tests hold, by kind: what attacks, imitates or exercises the product.

python tests/count_programs.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from adversarial.loading import escapes, hacks, javascript_abuses, javascript_answers, javascript_hacks
from adversarial.test_hacks import twins_of
from code_env.abuses import ABUSES
from code_env.testing import CHECKS, LIFE_CHECKS
from conformance.idioms import IDIOMS
from conformance.idioms.failing import FAILING
from conformance.test_ordinary_programs import ORDINARY
from harness.judge.test_comparing_bounds import BOUNDED
from judging.crossings import crossings
from judging.test_peer_defects import RIGHT, WRONG


def counts() -> dict[str, int]:
    """How many programs there are of each kind."""
    return {
        "hacks in Python": len(hacks()),
        "honest twins of hacks": len(twins_of(hacks())),
        "hacks in JavaScript": len(javascript_hacks()),
        "honest answers in JavaScript": len(javascript_answers()),
        "abuses": len(ABUSES),
        "abuses in JavaScript": len(javascript_abuses()),
        "escapes from RestrictedPython": len(escapes()),
        "idioms of reading and writing": len(IDIOMS),
        "ordinary programs": len(ORDINARY),
        "ways to fail": len(FAILING),
        "right answers that peers refused": len(RIGHT),
        "wrong answers that peers passed": len(WRONG),
        "honest answers whose values cross": len(crossings()),
        "their wrong twins": sum(len(one.wrong) for one in crossings()),
        "comparisons with a bound": len(BOUNDED),
        "conformance checks": len(CHECKS) + len(LIFE_CHECKS),
    }


if __name__ == "__main__":
    counted = counts()
    for kind, count in {**counted, "together": sum(counted.values())}.items():
        print(f"{count:6} {kind}")
