"""Finds the code that a policy means in the text that it wrote.

The functions take text and return text: nothing is parsed or compiled here. A policy can write a response of any
length, so every step takes only linear time. If a response holds no code in the task's language, the result is an empty
text, and is judged as an answer without code: other text is never run just because it might be code.
"""

from .answer import Extraction, answer_fence, as_answer, extract_code, has_fence

__all__ = ["Extraction", "answer_fence", "as_answer", "extract_code", "has_fence"]
