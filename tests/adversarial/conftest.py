import pytest

from code_env import make_executor


@pytest.fixture(scope="module", params=["local", "subprocess"])
def executor(request):
    """The verdict must not depend on where a hack runs."""
    with make_executor(request.param, workers=2) as made:
        yield made
