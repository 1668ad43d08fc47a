"""The packages that eval-framework's contexts name, installed ahead."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from code_env.module_names import packages_of
from code_env.packages import Prepared, prepare
from code_env.tasks.kinds import AssertTest
from code_env.tasks.task import Task

from .contexts import FUNCTIONS, realtime_fields
from .running import requirements_of

_LIBRARIES = (
    *("PIL", "Crypto", "Levenshtein", "blake3", "bs4", "chardet", "cryptography", "cv2", "dateutil", "django", "docx"),
    *("faker", "flask", "flask_login", "flask_mail", "flask_restful", "flask_wtf", "folium", "gensim", "geopandas"),
    *("geopy", "holidays", "keras", "librosa", "lxml", "matplotlib", "mechanize", "mpl_toolkits", "natsort", "nltk"),
    *("numpy", "openpyxl", "pandas", "prettytable", "psutil", "pyquery", "pytesseract", "python_http_client", "pytz"),
    *("regex", "requests", "rsa", "scipy", "seaborn", "sendgrid", "shapely", "skimage", "sklearn", "soundfile"),
    *("statsmodels", "sympy", "tensorflow", "textblob", "texttable", "werkzeug", "wikipedia", "wordcloud", "wordninja"),
    *("wtforms", "xlwt", "xmltodict", "yaml"),
)
"""The modules that BigCodeBench's programs import and that Python does not have."""

BIG_CODE_BENCH_PACKAGE_MAPPING: dict[str, str | None] = {
    **dict.fromkeys(sorted(sys.stdlib_module_names)),
    **{name: packages_of([name])[0] for name in _LIBRARIES},
}
"""`package_downloads` of BigCodeBench's contexts: for each module the package that installs it; None for those of
Python itself."""


def prepare_packages(
    responses: Iterable[Any], *, python: str | None = None, wheels: str | Path | None = None
) -> Prepared:
    """Install the packages that contexts name for what their completions and tests import, each set once.

    Afterwards `CodeExecutionPassAtOne(packages="prepared")` judges these completions. A package is trusted: it comes
    from `package_downloads`, and a completion only says which of these it imports.

    Args:
        responses: What `calculate` is given: objects with `completion` and `context`.
        python: As in `code_env.packages.prepare`.
        wheels: As there.

    Raises:
        TaskError: If there is no context, or it lacks a field.
        PackageError: If packages cannot be installed.

    Example:
        >>> from code_env.integrations.eval_framework import CodeExecutionPassAtOneContext, Completion
        >>> context = CodeExecutionPassAtOneContext(
        ...     code_prompt="Write f.", test_code="assert f() == '{}'", package_downloads={"json": None}
        ... )
        >>> prepare_packages([Completion(completion="import json\\ndef f(): return json.dumps({})", context=context)])
        Prepared(environments=(), installed=0, tasks=0)
    """
    tasks = []
    for number, response in enumerate(responses):
        fields = realtime_fields(response.context, FUNCTIONS)
        tests = fields["test_code"]
        packages = requirements_of(response.completion, tests, fields["package_downloads"])
        tasks.append(Task(f"response {number}", "", (AssertTest(tests),), packages=packages))
    return prepare(tasks, python=python, wheels=wheels)
