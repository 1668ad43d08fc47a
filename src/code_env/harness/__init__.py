"""What runs inside a sandbox: standard library only, importing nothing else of this package.

A judged run is two processes, each in a sandbox of its own, joined by one channel::

    trainer                 program's sandbox                         judge's sandbox
    ───────                 ─────────────────                         ───────────────
    executor ── starts ───> program/: loads the answer, calls   ◄──►  judge/: holds the tests and the
             ◄─ result ──   it, forks a child for each test           expected values, compares, writes
             ◄─ report ─────────────────────────────────────────────  one record for each case

The judge and its tests are trusted. The program's process is not, from the moment the answer's first line runs.
Whatever it sends is data: bounded, decoded by `wire/plain.py` into builtin values, and compared with values that it
was never given. It can lie about its own results only, and a lie is a wrong answer.

The folder of a file says what its code may know:

    process/      limits, children, watching, sockets: for any process
    wire/         what crosses between the two: the channel, plain data, endings, records
    judge/        trusted; holds tests and expected values
    program/      runs the answer; not trusted once the answer's first line has run
    interpreted/  the same for answers that are not Python
    restricted/   the policy of the executor `restricted`
    boot.py       the first code of a fresh interpreter, whatever it is to become
    shared_suite.py   tests beside the program, for `judge="shared"`: all that both sides import

`wire/` and `process/` import neither side, and no side imports the other: `tests/test_import_rules.py` has the rules.

The host imports this package as `code_env.harness`. Inside a sandbox the same files are loaded under the top-level name
`code_env_harness`, so that nothing of Gymnasium or NumPy is imported there. Hence imports here are relative.
"""
