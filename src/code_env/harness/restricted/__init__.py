"""RestrictedPython's policy for programs, inside their jail.

`policy.py` is made once in a server, from options that are plain data, and from then on compiles the texts of programs
and furnishes their modules. `transformer.py` refuses what can be seen in a text, `guards.py` what shows when it runs,
`modules.py` says what of a module a program gets, `names.py` holds the rules' tables. Only servers of the executor
`restricted` import it, and only programs are held to it, never their peers.
"""
