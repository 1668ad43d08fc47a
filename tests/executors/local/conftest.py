"""An executor at each level. A machine that grants less than `full` has nothing to show for it."""

import pytest
from conftest_local import LEVELS, local

from code_env import Program


@pytest.fixture(scope="module", params=LEVELS)
def jail(request):
    with local(request.param) as executor:
        yield executor


@pytest.fixture
def honest(jail):
    """Ten honest programs, run beside and after whatever a test runs; each must give the same result as alone."""
    programs = [
        Program(
            "import math, os\nn = int(input())\nopen('out', 'w').write('x' * n)\nprint(math.factorial(n), os.listdir())",
            stdin=str(n),
            collect=("out",),
        )
        for n in range(10)
    ]
    alone = jail.run_many(programs)
    assert [result.status for result in alone] == ["ok"] * 10
    futures = [jail.submit(program) for program in programs]
    yield
    assert [future.result() for future in futures] == alone
    assert jail.run_many(programs) == alone
