"""Functions that other systems have for running code, with the same names and arguments, over any executor.

There is one module for each system. `docs/migration.md` says what is the same and what differs. `import code_env`
imports none of these modules.
"""
