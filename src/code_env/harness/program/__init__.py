"""Runs answers in Python: not trusted from the first line of the answer on."""
