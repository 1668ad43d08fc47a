"""Numbers for text: programs out of the actions of numeric policies, and numbers out of prompts.

Nothing here knows Gymnasium's environments; `code_env.wrappers` puts it around them.
"""

from .actions import ActionEncoding, CandidateEncoding, TemplateEncoding, TokenEncoding
from .grammar import Grammar, load_grammar
from .text import TextEncoding

__all__ = [
    "ActionEncoding",
    "CandidateEncoding",
    "Grammar",
    "TemplateEncoding",
    "TextEncoding",
    "TokenEncoding",
    "load_grammar",
]
