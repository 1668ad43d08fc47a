"""Idioms: programs that read, write, end and run in ordinary ways, which must work as in plain Python."""

from conformance.idioms.ending import ENDING
from conformance.idioms.reading import READING
from conformance.idioms.running import RUNNING
from conformance.idioms.writing import WRITING

IDIOMS = {**READING, **WRITING, **ENDING, **RUNNING}
