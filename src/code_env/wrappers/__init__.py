"""Gymnasium wrappers of this package; `code_env.wrappers.vector` has their twins for vector environments.

There is no `__all__` here, because type checkers accept only a literal list. The modules below have their own.
"""

from .encodings import CandidateActions as CandidateActions
from .encodings import EncodedObservation as EncodedObservation
from .encodings import TemplateActions as TemplateActions
from .encodings import TokenActions as TokenActions
from .rewards import *
from .shaping import *
from .statistics import RecordMetrics as RecordMetrics
from .statistics import RecordPassAtK as RecordPassAtK
