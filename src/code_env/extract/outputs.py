"""Tells the output of an example from code, by the words before its fence and by its lines, without parsing.

No sign is certain, so an output is left out only where another fence holds code.
"""

from __future__ import annotations

import re

from .fences import Block

_NOUN = r"(?:inputs?|outputs?|results?|stdin|stdout|stderr|examples?|samples?|runs?|sessions?|transcripts?|traceback)"
_ANNOUNCED = re.compile(
    rf"""(?:here(?:[ ]is|['’]s|[ ]are)[ ])?(?:(?:the|an?|its|your|my)[ ])?(?:[\w'’]+[ ]){{0,2}}{_NOUN}
        (?:$|[ ]?[\d#(:：]|[ ](?:of|for|from|when|with|on|is|are|will|would|should|could|might|may|looks?)\b)
        |.*\b(?:{_NOUN}|prints?|printed|returns?|gives?|produces?|yields?|shows?|displays?|writes?|see|get)
        (?:[ ](?:this|the[ ]following|something[ ]like(?:[ ]this)?|like[ ]this|as[ ]follows))?$
        |.*(?:输出|输入|结果|示例)$""",
    re.VERBOSE | re.IGNORECASE,
)
"""A line that says that an output or an input follows: it begins with such a word, or it ends with one."""

_DECORATION = " \t\r\n#*_~>|:：.-"

_TRANSCRIPT = re.compile(r"\s*(?:>>>[ ]|In[ ]?\[\d+\]:|\$[ ]|Traceback[ ]\(most[ ]recent[ ]call[ ]last\))")

_STATEMENT = re.compile(
    r"""^[ \t]*+(?:
        (?:async[ ]+)?(?:def|class|function\*?)[ ]+\w|import[ ]+[\w{*]|from[ ]+[\w.]+[ ]+import\b
        |(?:if|elif|else|for|while|with|try|except|finally|match|case)\b[^\n]*:[ \t\r]*$|(?:if|for|while|switch)[ ]*\(
        |(?:const|let|var|echo|read|printf)[ ]|(?<=[ \t])(?:return|raise)\b|\#!
        |[^=(\n]*+=(?!=)[^\n]*\w\( )
    |\b(?:print|input|open|exec)[ ]?\(|\b(?:console|sys)\.\w|\blambda\b|\$[({A-Za-z_]|;[ \t\r]*$""",
    re.VERBOSE | re.MULTILINE,
)
"""A line that is hardly ever an output."""

_CALL = re.compile(r"^([a-z_]\w*)\([^\n]*\)[ \t\r]*$", re.MULTILINE)
"""A call of a function on a line of its own. With a capital it can be how an object is printed."""

_PERHAPS = re.compile(
    r"""[A-Za-z_]\w*\(|[\w\])"'][ \t]*(?:[-+*/%|&^@]|//|\*\*)?=(?![=>])|\bfor[ ]+\w+[ ]+in\b
    |^[ \t]*+(?:(?:pass|break|continue)[ \t\r]*$|(?:return|assert|del|yield|await|global|nonlocal)[ ]+\w)""",
    re.VERBOSE | re.MULTILINE,
)
"""A line that looks like a statement, and can be an output too."""

_NAME = re.compile(r"(?<![\w.'\"])[^\W\d]\w*")


def is_output(block: Block, language: str, *, is_tagged: bool, names: set[str]) -> bool:
    """Return whether a block holds what a program reads or writes in an example, rather than code.

    Args:
        block: The block.
        language: The language of the code. In a language such as bash, any words can be a command.
        is_tagged: Whether the block is tagged with the language, so that only announced lines can be an output.
        names: The names that the blocks before it define: an expression of such names is code, and so is a call.

    Example:
        >>> def told(code, before=""):
        ...     return is_output(Block("", code, before=before), "python", is_tagged=False, names={"total"})
        >>> told("YES"), told(">>> f(1)\\n2"), told("x = 5", "For example, it prints:")
        (True, True, True)
        >>> told("print(6)", "Output:"), told("x = 5"), told("total")
        (False, False, False)
    """
    code = block.code
    if _TRANSCRIPT.match(code):
        return True
    if _STATEMENT.search(code) or any(found[1] in names for found in _CALL.finditer(code)):
        return False
    used = set(_NAME.findall(code))
    looks_like_code = (
        language not in ("python", "javascript") or _PERHAPS.search(code) is not None or (bool(used) and used <= names)
    )
    is_announced = _ANNOUNCED.match(block.before.strip(_DECORATION)) is not None
    return is_announced and not looks_like_code if is_tagged else is_announced or not looks_like_code
