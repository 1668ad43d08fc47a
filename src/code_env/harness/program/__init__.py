"""Runs answers in Python. A process here is untrusted as soon as it runs the first line of an answer."""
