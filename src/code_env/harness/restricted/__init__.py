"""RestrictedPython's policy for programs, inside their jail.

A server makes the policy (`policy.py`) once, from options that are plain data. The policy then compiles the texts of
programs and gives their modules the builtin names. `transformer.py` refuses violations that a text shows, and
`guards.py` refuses violations at run time. `modules.py` decides what programs get of a module. `names.py` holds the
tables of the rules. Only servers of the executor `restricted` and `check.py` import this package. The policy applies
only to programs, never to their peers.
"""
