"""No comparison takes long or much memory, whatever a program has sent.

Done the slow way these take minutes of CPU time, or gigabytes.
"""

import subprocess
import sys

import pytest

ALIKE = 2**61 - 1
"""Integers that are multiples of this have the same hash."""

BOUNDED = {
    "multiset of ints that hash alike": "v('multiset', hashed, hashed[::-1])",
    "multiset of texts and ints that hash alike": "v('multiset', ['a', *hashed], [*hashed, 'a'])",
    "unordered ints that hash alike": "v('unordered', [hashed, hashed], [hashed[::-1], hashed])",
    "unordered pairs that hash alike": "v('unordered', [[k, 1] for k in hashed], [[1, k] for k in hashed])",
    "exact ints that hash alike": "v('exact', hashed, list(hashed))",
    "sets that hash alike": "v('equal', set(hashed[:4000]), set(hashed[4000:0:-1])) is False",
    "keys that hash alike": "v('equal', dict.fromkeys(hashed[:4000], 1), dict.fromkeys(hashed[3999::-1], 1))",
    "tuples that hash alike": "v('multiset', [(k,) for k in hashed], [(k,) for k in hashed[::-1]])",
    "huge int and huge decimal": "not v('equal', Decimal('1' * 10**6), 1 << 60_000_000)",
    "huge int and a decimal far from 1": "not v('equal', Decimal('1e999999999'), 1 << 60_000_000)",
    "huge decimals": "v('equal', Decimal('1' * 10**6 + '00'), Decimal('1' * 10**6 + 'e2'))",
    "decimal and float": "not v('close', Decimal('1e-999999999'), 1.0)",
    "fraction and decimal": "not v('close', Fraction(1, 3), Decimal('1e999999999'))",
    "huge fractions": "not v('close', Fraction(10**100_000, 7), Fraction(10**100_001, 9))",
    "huge ints": "v('close', 1 << 60_000_000, (1 << 60_000_000) + 1)",
    "huge int and float": "not v('close', 1 << 60_000_000, 1e308)",
    "decimals that are alike": "v('multiset', [Decimal('1e999999999')] * N, [Decimal('10e999999998')] * N)",
    "fractions to sort": "v('multiset', [Fraction(k, 7) for k in range(N)], [Fraction(k, 7) for k in range(N)][::-1])",
    "many ints": "v('equal', [1] * 2 * M, [1] * 2 * M)",
    "many ints in any order": "v('multiset', list(range(2 * M)), list(range(2 * M))[::-1])",
    "many ints in any order at any depth": "v('unordered', list(range(2 * M)), list(range(2 * M))[::-1])",
    "long lists deep down": "v('unordered', deep([*range(M), 1]), deep([1, *range(M)]))",
    "long texts": "not v('equal', 'a' * 10 * M, 'a' * 10 * M + 'b')",
    "one long line": "t('lines', 'a' * 16 * M, 'a' * 16 * M + 'b')",
    "one long line of white space": "not t('lines', 'a', 'a' + ' ' * 16 * M)",
    "long lines that agree": "not t('unordered', ('a' * M + '\\n') * 16, ('a' * M + ' \\n') * 16)",
    "many lines": "not t('lines', 'ab\\n' * M, 'ab \\n' * M)",
    "many lines in any order": "not t('unordered', 'ab\\ncd\\n' * M, 'cd\\nab\\n' * M)",
    "lines that end in white space": "t('lines', 'b', (' ' * 1000 + '\\n') * 10_000 + 'a')",
    "an int of many digits": "t('numbers', '7', '7' * 10 * M)",
    "ints of many digits": "t('numbers', '6' * 10 * M, '7' * 10 * M)",
    "a real of many digits": "not t('numbers', '0.1', '0.1' + '0' * 10 * M)",
    "almost a number": "t('numbers', '1', '7' * 10 * M + 'x')",
    "many long numbers": "not t('numbers', ('7' * 999 + ' ') * 1000, ('7' * 999 + '. ') * 1000)",
    "many exponents": "not t('numbers', '1e999 ' * 10_000, '10e998 ' * 10_000)",
    "many words": "not t('numbers', '1 ' * M, '1.0 ' * M)",
    "many words too much": "t('tokens', 'a', 'a ' * 8 * M)",
}


SETTING = f"""
import resource
from decimal import Decimal
from fractions import Fraction
from code_env.harness.judge.comparing import compare_text, compare_values
resource.setrlimit(resource.RLIMIT_DATA, (3 << 28, 3 << 28))
def v(rule, a, b): return compare_values(a, b, rule, 1e-6, 1e-6)
def t(rule, a, b): return compare_text(a, b, rule, 1e-6, 1e-6)
def deep(value):
    for _ in range(180): value = [value, 0]
    return value
M, N, ALIKE = 200_000, 50_000, {ALIKE}
hashed = [k * ALIKE for k in range(N)]
def check(name, comparison):
    print(name, flush=True)
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 10, resource.RLIM_INFINITY))
    if not comparison():
        raise SystemExit("this one came out wrong")
"""


@pytest.mark.parametrize("part", range(4))
def test_a_comparison_ends_in_time_whatever_came_back(part, some):
    """In a process of its own, as one long step of a built-in function cannot be interrupted."""
    names = some(BOUNDED, 16)[part::4]
    lines = [SETTING, *(f"check({name!r}, lambda: {BOUNDED[name]})" for name in names)]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    told = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, ""), told[-1:]
    assert told == names
