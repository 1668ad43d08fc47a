"""Functions of other systems for running code, with their names and arguments, over any executor of this package.

One module for each system; `docs/migration.md` says what is the same and what differs. None is imported by
`import code_env`.
"""
