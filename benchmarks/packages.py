"""What a program costs that finds packages of its own, beside a bare fork that has the same packages imported.

The suite has 24 tasks with six sets of packages, among them an old NumPy beside a new one. `prepare` installs them into
a cache: the one that `$CODE_ENV_CACHE` names, so that an empty one shows what the first time takes. Then each task's
reference is judged, and for each set of packages rounds of its programs run on `local` and, in turn, by forks of an
interpreter of the same environment, started with `-I -S`, that has imported the same modules. The last row is for a
program of each set, on average.

    python benchmarks/packages.py
    python benchmarks/packages.py --rounds 7 --json
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from contenders import Contender, Cost, Work, bare_fork, serve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from code_env import TaskSuite

PANDAS = {
    "group": ("import pandas as pd\nf = pd.DataFrame({'k': list('aab'), 'v': [1, 2, 3]})\n"
              "print(f.groupby('k')['v'].sum().to_dict())", "{'a': 3, 'b': 3}"),
    "pivot": ("import pandas as pd\nf = pd.DataFrame({'r': [0, 0, 1], 'c': [0, 1, 0], 'v': [1, 2, 3]})\n"
              "print(f.pivot_table(index='r', columns='c', values='v', fill_value=0).values.tolist())",
              "[[1.0, 2.0], [3.0, 0.0]]"),
    "merge": ("import pandas as pd\na = pd.DataFrame({'k': [1, 2], 'x': [3, 4]})\n"
              "b = pd.DataFrame({'k': [2, 3], 'y': [5, 6]})\nprint(a.merge(b, on='k').values.tolist())", "[[2, 4, 5]]"),
    "csv": ("import io, pandas as pd\nprint(pd.read_csv(io.StringIO('a,b\\n1,2\\n3,4')).sum().to_dict())",
            "{'a': 4, 'b': 6}"),
}  # fmt: skip
LEARN = {
    "line": ("import numpy as np\nfrom sklearn.linear_model import LinearRegression\n"
             "m = LinearRegression().fit(np.arange(4.0).reshape(-1, 1), [1, 3, 5, 7])\n"
             "print(round(float(m.coef_[0]), 6), round(float(m.intercept_), 6))", "2.0 1.0"),
    "scale": ("import numpy as np\nfrom sklearn.preprocessing import MinMaxScaler\n"
              "print(MinMaxScaler().fit_transform(np.array([[1.0], [3.0], [5.0]])).ravel().tolist())",
              "[0.0, 0.5, 1.0]"),
    "tree": ("from sklearn.tree import DecisionTreeClassifier\n"
             "m = DecisionTreeClassifier(random_state=0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])\n"
             "print(m.predict([[0.4], [2.6]]).tolist())", "[0, 1]"),
    "scores": ("from sklearn.metrics import accuracy_score, f1_score\n"
               "print(round(accuracy_score([0, 1, 1], [0, 1, 0]), 3), round(f1_score([0, 1, 1], [0, 1, 1]), 3))",
               "0.667 1.0"),
}  # fmt: skip
SYMPY = {
    "derivative": ("from sympy import diff, sin, symbols\nx = symbols('x')\nprint(diff(x * sin(x), x))",
                   "x*cos(x) + sin(x)"),
    "roots": ("from sympy import solve, symbols\nx = symbols('x')\nprint(sorted(solve(x**2 - 5*x + 6, x)))", "[2, 3]"),
    "factors": ("from sympy import factorint\nprint(factorint(360))", "{2: 3, 3: 2, 5: 1}"),
    "series": ("from sympy import Sum, oo, symbols\nk = symbols('k')\nprint(Sum(1 / k**2, (k, 1, oo)).doit())",
               "pi**2/6"),
}  # fmt: skip
SOUP = {
    "links": ("from bs4 import BeautifulSoup\ns = BeautifulSoup('<a href=x>1</a><a href=y>2</a>', 'html.parser')\n"
              "print([a['href'] for a in s.find_all('a')])", "['x', 'y']"),
    "text": ("from bs4 import BeautifulSoup\nprint(BeautifulSoup('<p>a <b>b</b></p>', 'html.parser').get_text())",
             "a b"),
    "cells": ("from bs4 import BeautifulSoup\ns = BeautifulSoup('<tr><td>1<td>2</tr>', 'html.parser')\n"
              "print(len(s.select('td')))", "2"),
    "rename": ("from bs4 import BeautifulSoup\ns = BeautifulSoup('<i>x</i>', 'html.parser')\ns.i.name = 'em'\nprint(s)",
               "<em>x</em>"),
}  # fmt: skip
NUMPY = {
    "version": ("import numpy\nprint(int(numpy.__version__[0]))", "{major}"),
    "scalar": ("import numpy as np\nprint(repr(np.float64(1.5)))", "{scalar}"),
    "dot": ("import numpy as np\na = np.arange(6).reshape(2, 3)\nprint((a @ a.T).tolist())", "[[5, 14], [14, 50]]"),
    "sort": ("import numpy as np\nprint(np.sort(np.array([3, 1, 2])).tolist())", "[1, 2, 3]"),
}  # fmt: skip
SETS: dict[str, tuple[list[str], dict[str, tuple[str, str]]]] = {
    "pandas": (["pandas==2.3.3"], PANDAS),
    "scikit-learn": (["scikit-learn==1.7.2"], LEARN),
    "sympy": (["sympy==1.14.0"], SYMPY),
    "beautifulsoup": (["beautifulsoup4==4.14.2"], SOUP),
    "old numpy": (["numpy==1.26.4"], NUMPY),
    "new numpy": (["numpy==2.3.5"], NUMPY),
}
SHOWN = {"old numpy": {"{major}": "1", "{scalar}": "1.5"}, "new numpy": {"{major}": "2", "{scalar}": "np.float64(1.5)"}}
"""What the two versions of NumPy print."""

COUNT = 100
"""Programs of a round."""


def suite() -> TaskSuite:
    """The tasks."""
    from code_env import OutputTest, Task, TaskSuite

    return TaskSuite(
        "packages",
        [
            Task(
                f"{name}/{what}",
                "Print what the code in the reference prints.",
                (OutputTest(SHOWN.get(name, {}).get(expected, expected)),),
                reference=code,
                packages=tuple(packages),
            )
            for name, (packages, programs) in SETS.items()
            for what, (code, expected) in programs.items()
        ],
    )


def programs_of(name: str) -> list[str]:
    """The programs of a round."""
    codes = [code for code, _ in SETS[name][1].values()]
    return [codes[number % len(codes)] for number in range(COUNT)]


def local(name: str, workers: int) -> Work:
    """Programs with a set of packages on `local`; returns how many did not end well."""
    from code_env import Program, Status, make_executor

    made = make_executor("local", workers=workers)

    def run(pieces: list[Any]) -> int:
        programs = [Program(piece, packages=tuple(SETS[name][0])) for piece in pieces]
        return sum(result.status is not Status.OK for result in made.run_many(programs))

    return run


def contend(name: str, workers: int) -> None:
    """Be the contender of that name: `local:SET` or `fork:MODULE,...`."""
    kind, _, rest = name.partition(":")
    if kind == "local":
        serve(local(rest, workers))
        return
    for module in rest.split(","):
        importlib.import_module(module)
    serve(bare_fork(workers))


def compare(name: str, rounds: int, workers: int) -> list[tuple[Cost, Cost]]:
    """Rounds of programs with a set of packages; in each what a fork of them costs, and what they cost on `local`."""
    from code_env.packages import PackageCache

    environment = PackageCache().find(tuple(SETS[name][0]), sys.executable)
    floor = Contender(
        "packages",
        f"fork:{','.join(environment.modules)}",
        workers,
        bare=True,
        packages=str(environment.packages),
        python=str(environment.python),
    )
    ours, programs = Contender("packages", f"local:{name}", workers), programs_of(name)
    for one in (floor, ours):
        one.measure(programs[:20])
    costs = []
    for number in range(rounds):
        pair = (floor, ours) if number % 2 == 0 else (ours, floor)
        measured = {one.name: one.measure(programs) for one in pair}
        costs.append((measured[floor.name], measured[ours.name]))
    for one in (floor, ours):
        one.close()
    return costs


def together(sets: list[list[tuple[Cost, Cost]]]) -> list[tuple[Cost, Cost]]:
    """The same for a program of each set, on average."""
    rounds = [zip(*pairs, strict=True) for pairs in zip(*sets, strict=True)]
    return [(_mean(forks), _mean(ours)) for forks, ours in rounds]


def _mean(costs: Iterable[Cost]) -> Cost:
    return Cost(*map(statistics.mean, zip(*costs, strict=True)))


def row_of(name: str, costs: list[tuple[Cost, Cost]]) -> dict[str, Any]:
    """What a fork takes in milliseconds, and the ratios: the median, the lowest and the highest of the rounds."""
    row: dict[str, Any] = {"packages": name, "fork_ms": 1000 * statistics.median(base.wall_s for base, _ in costs)}
    for field in ("wall_s", "cpu_s"):
        ratios = [getattr(mine, field) / getattr(base, field) for base, mine in costs]
        row[f"{field[:-2]}_ratio"] = [statistics.median(ratios), min(ratios), max(ratios)]
    return row


def main() -> None:
    """Prepare, judge, measure, and print a table or JSON."""
    import argparse

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print rows of JSON")
    arguments = parser.parse_args()

    from code_env import judge_many, make_executor
    from code_env.packages import prepare

    tasks, began = suite(), time.perf_counter()
    prepared = prepare(tasks)
    sys.stderr.write(f"{prepared.installed} environments were installed in {time.perf_counter() - began:.1f} s\n")
    with make_executor("local") as executor:
        began = time.perf_counter()
        passed = sum(one.passed for one in judge_many([(task, task.reference or "") for task in tasks], executor))
        sys.stderr.write(f"{passed} of {len(tasks)} references pass, in {time.perf_counter() - began:.1f} s\n")
    if passed < len(tasks):
        raise SystemExit("a reference fails, so nothing is measured")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    costs = {name: compare(name, arguments.rounds, arguments.workers) for name in SETS}
    costs["all"] = together(list(costs.values()))
    for row in itertools.starmap(row_of, costs.items()):
        if arguments.json:
            sys.stdout.write(json.dumps(row) + "\n")
            continue
        wall, cpu = ("{:.2f} ({:.2f} to {:.2f})".format(*row[f"{what}_ratio"]) for what in ("wall", "cpu"))
        sys.stdout.write(f"{row['packages']:>14}  fork {row['fork_ms']:.2f} ms  wall x {wall}  CPU x {cpu}\n")


if __name__ == "__main__":
    main()
