"""Requirements: which packages a program finds, as texts that pip and uv read too.

Only names, extras and versions are allowed. A path or a URL would mean something else on each machine, and its content
can change. An environment is for one interpreter, so conditions (`; python_version < "3.12"`) have no use.
"""

from __future__ import annotations

from collections.abc import Iterable

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from code_env.errors import TaskError

MOST = 200
"""The most requirements of one environment."""


def package_of(requirement: str) -> str:
    """The name of the package in a requirement, as indexes compare it.

    >>> package_of("Scikit_Learn>=1.5")
    'scikit-learn'
    """
    return canonicalize_name(Requirement(requirement).name)


def normal_requirements(values: Iterable[str]) -> tuple[str, ...]:
    """Requirements in their normal form: sorted, each once, names and extras in lower case, without spaces.

    Args:
        values: Texts such as `pandas`, `numpy==1.26.4`, `httpx[http2] >= 0.27, < 1`.

    Raises:
        TaskError: If a value is no requirement.

    Example:
        >>> normal_requirements(["Pandas >= 2, <3", "numpy==1.26.4", "pandas<3,>=2"])
        ('numpy==1.26.4', 'pandas<3,>=2')
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TaskError(f'packages must be a list of texts, such as ["pandas>=2"]; got {values!r:.100}')
    found = {_normal(value) for value in values}
    if len(found) > MOST:
        raise TaskError(f"packages: at most {MOST} requirements are allowed; got {len(found)}")
    return tuple(sorted(found))


def _normal(value: object) -> str:
    try:
        if not isinstance(value, str):
            raise InvalidRequirement(f"a text was expected, not {type(value).__name__}")
        one = Requirement(value)
        if one.url or one.marker:
            raise InvalidRequirement("paths, URLs and conditions after ';' are not allowed")
    except InvalidRequirement as error:
        reason = str(error).partition("\n")[0]
        raise TaskError(
            "packages: a name with versions was expected, such as 'pandas', 'numpy==1.26.4' or 'httpx[http2]>=0.27'; "
            f"got {value!r:.100}: {reason}"
        ) from None
    extras = ",".join(sorted(map(canonicalize_name, one.extras)))
    return canonicalize_name(one.name) + (f"[{extras}]" if extras else "") + str(one.specifier)
