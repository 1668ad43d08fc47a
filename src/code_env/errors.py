"""Everything this package raises, in one tree.

    CodeEnvError
    ├── TaskError (ValueError)            a task, a test or a row of a suite is malformed
    │   └── RenderModeError (TypeError)       there is no such render mode
    ├── SuiteNotFound (LookupError)       no suite or environment has that name or path
    ├── TaskNotFound (LookupError)        the suite has no task with that id
    ├── EncodingError (ValueError)        an encoding is misconfigured, or given a number that it does not know
    │   └── GrammarError                      a grammar cannot be read, or no program can be written by it
    ├── ExecutorError
    │   ├── ExecutorNotFound (LookupError)    no executor has that name
    │   ├── ExecutorClosed                    it was closed before
    │   ├── ExecutorMisconfigured             it can run no program until its settings are mended
    │   │   └── E2BMisconfigured                  E2B refuses the key, the template or another setting
    │   ├── IsolationUnavailable              this machine does not grant the isolation asked for
    │   ├── SessionBusy                       another thread runs a cell of the session
    │   ├── SessionDied                       the session takes no more cells, or the checkpoint was released
    │   ├── CheckpointRefused                 the session holds something that cannot be kept
    │   ├── TooManySessions                   as many sessions are open as the executor may have
    │   └── UnsupportedProgram                it cannot do what the program asks
    │       ├── PackagesNotPrepared               the packages that a task names are not installed
    │       └── ImageNotPrepared                  the image that a task names is not prepared
    ├── CacheError                        a cache on disk cannot be written
    │   ├── PackageError                      packages cannot be installed
    │   └── ImageError                        an image cannot be read, built or pulled
    ├── NoVerdict                         the sandbox failed, and a caller that must have a number cannot have one
    ├── RolloutError                      a collection of trajectories cannot begin, or go on
    ├── OutputError                       a file of results cannot be written, or is of other work
    ├── ModelError                        a language model gives no answer
    └── RewardError (ValueError)          a reward is unknown, misconfigured or impossible here
        └── DuplicateRewardTerm               two terms would share a name in the ledger

What a program does is never an exception: it is a `Verdict`. Each class can be made from one
message, so that it survives pickling between processes.
"""


class CodeEnvError(Exception):
    """Base of all errors of this package."""


class TaskError(CodeEnvError, ValueError):
    """A task, a test or a row of a suite is malformed."""


class SuiteNotFound(CodeEnvError, LookupError):
    """No suite or environment has that name or path."""


class TaskNotFound(CodeEnvError, LookupError):
    """The suite has no task with that id."""


class RenderModeError(TaskError, TypeError):
    """There is no such render mode. It is a `TypeError` too: then Stable-Baselines3 makes the env without a mode."""


class EncodingError(CodeEnvError, ValueError):
    """An encoding for numeric policies is misconfigured, or given a number that it does not know."""


class GrammarError(EncodingError):
    """A grammar of programs cannot be read, or no program can be written by it."""


class ExecutorError(CodeEnvError):
    """An executor cannot be made, or cannot do what is asked."""


class ExecutorNotFound(ExecutorError, LookupError):
    """No executor has that name."""


class ExecutorClosed(ExecutorError):
    """The executor was closed before."""


class ExecutorMisconfigured(ExecutorError):
    """The executor can run no program until its settings, or the machine that it uses, are mended."""


class E2BMisconfigured(ExecutorMisconfigured):
    """E2B refuses the key, the template or another setting: no program can be run until that is mended."""


class IsolationUnavailable(ExecutorError):
    """This machine does not grant the isolation that was asked for; `code-env doctor` says what it grants."""


class UnsupportedProgram(ExecutorError):
    """The executor cannot do what the program asks; `describe()` says what it can."""


class PackagesNotPrepared(UnsupportedProgram):
    """The packages that a task names are not installed; `code-env prepare SUITE` installs them."""


class ImageNotPrepared(UnsupportedProgram):
    """The image that a task names is not in the cache; `code-env prepare SUITE` puts it there."""


class CacheError(CodeEnvError):
    """A cache on disk cannot be written."""


class PackageError(CacheError):
    """Packages cannot be installed, or their cache cannot be written."""


class ImageError(CacheError):
    """An image cannot be read, built or pulled, or the cache cannot be written."""


class SessionBusy(ExecutorError):
    """Another thread runs a cell of the session."""


class SessionDied(ExecutorError):
    """The session takes no more cells, or the checkpoint was released."""


class TooManySessions(ExecutorError):
    """As many sessions are open as the executor may have; `Executor.max_sessions` sets another number."""


class CheckpointRefused(ExecutorError):
    """The session holds something that cannot be kept, such as a thread; the message names it."""


class RewardError(CodeEnvError, ValueError):
    """A reward is unknown, misconfigured, or impossible over this suite."""


class DuplicateRewardTerm(RewardError):
    """Two reward terms would share a name in the ledger."""


class NoVerdict(CodeEnvError):
    """The sandbox failed, so there is no verdict; raised by functions that can return nothing but a number."""


class RolloutError(CodeEnvError):
    """A collection of trajectories cannot begin, or cannot go on."""


class OutputError(CodeEnvError):
    """A file of results cannot be written, or what is there belongs to other work."""


class ModelError(CodeEnvError):
    """A language model is misconfigured, or gives no answer."""


class ReportError(CodeEnvError):
    """A file is neither a results file of an evaluation nor a file of trajectories."""


class ServingError(CodeEnvError):
    """A server cannot be started."""
