"""An executor whose programs run in an image."""

import dataclasses
from functools import partial

from adversarial.batches import breaches
from code_env import Program
from code_env.abuses import ABUSES, Canaries, settle
from code_env.executors.local import LocalExecutor
from support import HONEST
from tiers import sample

KINDS_OF_ABUSE = ("files", "heap", "contamination", "kernel", "network", "processes")


class InImage(LocalExecutor):
    """Runs all programs in some languages in an image."""

    def __init__(self, image, languages=("python",), **kwargs):
        super().__init__(min_isolation="full", workers=2, **kwargs)
        self._image, self._languages = image, languages

    def _there(self, program):
        fits = program.language in self._languages and not program.packages
        return dataclasses.replace(program, image=self._image) if fits else program

    def submit(self, program):
        return super().submit(self._there(program) if isinstance(program, Program) else program)

    def _new_session(self, first):
        return super()._new_session(self._there(first))


def breaches_of_kind(executor, kind, some, place, leave_out=()):
    """What abuses of a kind get at, of a sample, by their names."""
    of_kind = [abuse for abuse in ABUSES if abuse.kind == kind and abuse.name not in leave_out]
    if kind != "files":  # Which an image has of its own.
        of_kind = sample(of_kind, 4, lambda one: one.name)
    programs = {abuse.name: partial(Canaries.program, abuse=abuse) for abuse in some(of_kind, 12, lambda one: one.name)}
    return breaches(executor, programs, place, executor.run_many(HONEST), settle(executor))
