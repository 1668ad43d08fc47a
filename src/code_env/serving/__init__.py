"""Serves an executor over HTTP: to trainers that call a sandbox, and to `remote` executors.

`application.py` lists the routes; `guard.py` says who is let in; `work.py` has the one queue in front of the executor.
"""
