"""An executor whose programs run in an image."""

import dataclasses

from code_env import Program
from code_env.executors.local import LocalExecutor


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
