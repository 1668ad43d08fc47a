"""What a context of eval-framework names by its import path."""

from code_env.integrations.eval_framework import ExecutionResult


def merge(code, test_code):
    return f"{code}\n\n{test_code}\n\nif __name__ == '__main__':\n    unittest.main()"


def parse(output):
    return ExecutionResult("OK" in output and "FAILED" not in output, output)
