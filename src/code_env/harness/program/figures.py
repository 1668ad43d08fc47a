"""Shows the figures of matplotlib as a notebook does: as PNG images, kept when a program shows them or ends.

A matplotlib backend is a module that matplotlib imports by name. This backend draws like Agg, without a window, and
keeps images where other backends open windows. Matplotlib itself is imported only if a program uses it.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

_NAME = "code_env_figures"
_BACKEND = f"module://{_NAME}"

Keep = Callable[[bytes], None]


class _Finder:
    """Finds the backend's module when matplotlib imports it."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == _NAME else None  # type: ignore[arg-type]

    def create_module(self, _: ModuleSpec) -> None:
        """Return None, for an ordinary module."""

    def exec_module(self, module: Any) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        def show(*_: Any, **__: Any) -> None:
            keep_figures(self._keep)

        module.FigureCanvas, module.show = FigureCanvasAgg, show


def begin(keep: Keep) -> None:
    """Make `plt.show()` pass images to `keep` in this process.

    Args:
        keep: Takes a PNG image.
    """
    sys.meta_path.append(_Finder(keep))
    os.environ["MPLBACKEND"] = _BACKEND
    # A server that has matplotlib loaded has read that variable already.
    matplotlib, pyplot = sys.modules.get("matplotlib"), sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.switch_backend(_BACKEND)
    elif matplotlib is not None:
        matplotlib.rcParams["backend"] = _BACKEND


def keep_figures(keep: Keep) -> None:
    """Pass the open figures to `keep`, in the order of their numbers, and close them.

    Args:
        keep: Takes a PNG image.
    """
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return
    for manager in helpers.Gcf.get_all_fig_managers():
        image = io.BytesIO()
        # A figure that cannot be drawn is left out; the program might have made it so.
        with contextlib.suppress(Exception):
            manager.canvas.figure.savefig(image, format="png", bbox_inches="tight")
            keep(image.getvalue())
    helpers.Gcf.destroy_all()
