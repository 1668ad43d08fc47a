from concurrent.futures import Future

from code_env import ErrorInfo, ExecutionResult, Executor, Isolation, Status


class BrokenExecutor(Executor):
    """Its sandbox fails, always or the first few times; then another executor runs the programs."""

    def __init__(self, executor=None, failures=0):
        self._executor, self._failures = executor, failures
        self.programs = 0

    def submit(self, program):
        self.programs += 1
        if self._executor is not None and self.programs > self._failures:
            return self._executor.submit(program)
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR, error=ErrorInfo("SandboxError", "no luck")))
        return future

    def describe(self):
        return Isolation(level="none", peer="same_machine")

    def close(self):
        pass
