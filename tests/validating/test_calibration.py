"""Limits by what a reference took: bounds, order, steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_env import Limits
from code_env.executors.limits import MAX_SECONDS
from code_env.validating.calibration import FACTOR, LEAST_CPU_S, WALL_PER_CPU, calibrated, rounded_up

SECONDS = st.floats(0, 1000)
LIMITS = st.builds(Limits, cpu_s=st.floats(0.01, 1000), wall_s=st.floats(0.01, 3000))


@given(st.floats(1e-6, 1e6))
def test_rounding_goes_up_by_half_at_most(seconds):
    assert seconds <= rounded_up(seconds) <= 1.5 * seconds * (1 + 1e-9)
    assert rounded_up(rounded_up(seconds)) == rounded_up(seconds)


@pytest.mark.parametrize("power", range(-3, 7))
def test_a_power_of_ten_stays(power):
    assert rounded_up(10.0**power) == float(f"1e{power}")


@given(LIMITS, SECONDS, SECONDS, SECONDS, st.booleans())
def test_who_takes_more_gets_no_less(limits, one_s, other_s, wall_s, suffice):
    less, more = (calibrated(limits, cpu_s, wall_s, suffice=suffice) for cpu_s in sorted((one_s, other_s)))
    assert less.cpu_s <= more.cpu_s
    less, more = (calibrated(limits, wall_s, w, suffice=suffice) for w in sorted((one_s, other_s)))
    assert less.wall_s <= more.wall_s


@given(LIMITS, SECONDS, SECONDS)
def test_what_was_stated_is_the_most_if_it_suffices(limits, cpu_s, wall_s):
    found = calibrated(limits, cpu_s, wall_s)
    assert found.cpu_s <= limits.cpu_s
    assert found.cpu_s >= min(limits.cpu_s, LEAST_CPU_S, FACTOR * cpu_s)
    assert found == limits or found.wall_s >= WALL_PER_CPU * found.cpu_s - 0.001
    assert found.wall_s >= min(limits.wall_s, FACTOR * wall_s) - 0.001


@given(LIMITS, SECONDS, SECONDS)
def test_what_does_not_suffice_is_no_bound(limits, cpu_s, wall_s):
    found = calibrated(limits, cpu_s, wall_s, suffice=False)
    assert found.cpu_s >= max(LEAST_CPU_S, FACTOR * cpu_s)
    assert found.wall_s >= max(WALL_PER_CPU * found.cpu_s, FACTOR * wall_s) - 0.001


@given(LIMITS, SECONDS, SECONDS)
def test_calibrating_again_changes_no_cpu_time(limits, cpu_s, wall_s):
    once = calibrated(limits, cpu_s, wall_s)
    assert calibrated(once, cpu_s, wall_s).cpu_s == once.cpu_s


def test_there_is_an_upper_end():
    found = calibrated(Limits(), 0.9 * MAX_SECONDS, 0.9 * MAX_SECONDS, suffice=False)
    assert (found.cpu_s, found.wall_s) == (MAX_SECONDS, MAX_SECONDS)


def test_the_other_limits_stay():
    limits = Limits(memory_bytes=1 << 30, processes=3)
    assert calibrated(limits, 0.01, 0.01) == Limits(cpu_s=1.0, wall_s=3.0, memory_bytes=1 << 30, processes=3)
