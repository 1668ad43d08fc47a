"""Tasks in Harbor's folders: an agent works on the files of an image, and a script of the task says what that is worth.

The format is Harbor's (https://harborframework.com), schema version 1.4, as `harbor` 0.25.0 reads it. Nothing of Harbor
is used. The agent works in a box (`executors.local.box`), and the task's verifier in another.
"""

from code_env.field_docs import show_fields
from code_env.tasks.formats.harbor import Collecting, HarborTask, Stage, VerifierEnvironment, read_folder, read_folders

from .env import HarborEnv
from .scoring import Score, TrialOutcome
from .trial import Trial

__all__ = [
    "Collecting",
    "HarborEnv",
    "HarborTask",
    "Score",
    "Stage",
    "Trial",
    "TrialOutcome",
    "VerifierEnvironment",
    "read_folder",
    "read_folders",
]

for _name in __all__:
    show_fields(globals()[_name])
