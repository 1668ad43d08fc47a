"""Encodings for numeric policies: they turn actions into programs, and prompts into numbers.

Nothing here knows Gymnasium's environments; `code_env.wrappers` applies the encodings to environments.
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
