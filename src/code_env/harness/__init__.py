"""The code that runs inside a sandbox. It imports only the standard library, and nothing else of this package.

A judged run is two processes, each in a sandbox of its own, joined by one channel::

    trainer                 program's sandbox                         judge's sandbox
    ───────                 ─────────────────                         ───────────────
    executor ── starts ───> program/: loads the answer, calls   ◄──►  judge/: holds the tests and the
             ◄─ result ──   it, forks a child for each test           expected values, compares, writes
             ◄─ report ─────────────────────────────────────────────  one record for each case

The judge and its tests are trusted. The program's process is not trusted from the moment when the answer's first line
runs. Everything that it sends is data: bounded, decoded by `wire/plain.py` into builtin values, and compared with
values that it never receives. It can lie only about its own results, and a lie is a wrong answer.

The folder of a file says what its code may know:

    process/      limits, children, watching, sockets: for any process
    wire/         what crosses between the two sides: the channel, plain data, endings, records
    judge/        trusted; holds tests and expected values
    program/      runs the answer; not trusted once the answer's first line has run
    interpreted/  the same for answers that are not Python
    restricted/   the policy of the executor `restricted`
    boot.py       the first code of a new interpreter, whatever its role
    shared_suite.py   runs tests in the program's process, for `judge="shared"`; the only file that joins both sides

`wire/` and `process/` import neither side. Except through `shared_suite.py`, the program's side and the judge's side do
not import each other: `tests/test_import_rules.py` has the rules.

The host imports this package as `code_env.harness`. Inside a sandbox, the same files are loaded under the top-level
name `code_env_harness`, so that nothing of Gymnasium or NumPy is imported there. Therefore imports here are relative.
"""
