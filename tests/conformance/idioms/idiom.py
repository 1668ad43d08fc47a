"""What an idiom is."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Idiom:
    """A program, what it reads and what it must write, to the character."""

    code: str
    stdin: str = ""
    stdout: str = ""
    limits: dict = field(default_factory=dict)
    needs: str = ""
