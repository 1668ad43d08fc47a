"""Runs answers that are not Python, with their interpreters. This is the program's side, like `program/`."""
