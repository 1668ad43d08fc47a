"""What runs inside a sandbox: standard library only, importing nothing else of this package.

A judged run is two processes, each in a sandbox of its own, joined by one channel::

    trainer                 program's sandbox                     peer's sandbox
    ───────                 ─────────────────                     ──────────────
    executor ── starts ───> serving.py: compiles the answer, ◄──► judge.py: holds the tests and
             ◄─ result ──   forks a child for each test           the expected values, compares,
             ◄─ report ────────────────────────────────────────── writes one record for each case

Who is trusted: the peer and its test code are; the program's process is not, from the moment
the answer's first line runs. Whatever it sends is data: bounded, decoded by `plain.py` into
builtin values, and compared with values that it was never given. It can lie about its own
results only, and a lie is a wrong answer.

The host imports this package as `code_env.harness` (for its codec and its comparison rules);
inside a sandbox the same files are loaded under the top-level name `code_env_harness`, so that
nothing of Gymnasium or NumPy is imported there. Hence relative imports only.
"""
