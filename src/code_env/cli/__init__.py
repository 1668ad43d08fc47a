"""The command `code-env`: one file for each of its commands."""

from . import (
    conformance,
    doctor,
    evaluate,
    export,
    generate,
    harbor,
    harden,
    listing,
    new,
    prepare,
    report,
    reward,
    rollout,
    run,
    serve,
    validate,
    view,
)  # Each module adds its command to the application.
from .application import app

__all__ = [
    "app",
    "conformance",
    "doctor",
    "evaluate",
    "export",
    "generate",
    "harbor",
    "harden",
    "listing",
    "new",
    "prepare",
    "report",
    "reward",
    "rollout",
    "run",
    "serve",
    "validate",
    "view",
]
