"""From what a policy wrote to the code it means.

Text in, text out: nothing is parsed or compiled here, and every step takes time in proportion to
the response, which is as long as a policy likes. What is no code of the task's language comes back
as nothing, and is judged as such: it is never run in the hope that it might be.
"""

from .answer import Extraction, extract_code, has_fence

__all__ = ["Extraction", "extract_code", "has_fence"]
