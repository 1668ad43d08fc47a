"""Runs answers that are not Python, by their interpreters: the side of the program, as `program/`."""
