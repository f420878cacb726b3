"""Multiple kernel learning over exponentially many product kernels.

``MKLRegressor`` and ``MKLClassifier`` learn a predictor together with a combination of all
products of up to D base kernels, without listing them, and say how far from optimal they are;
``MKLRegressorCV`` and ``MKLClassifierCV`` also choose how strongly to penalise. With nothing set,
all of them choose the kind of model from the data.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV
    from .frames import TableEncoder
    from .store import load

__version__ = "0.1.0"

__all__ = [
    "MKLClassifier",
    "MKLClassifierCV",
    "MKLRegressor",
    "MKLRegressorCV",
    "TableEncoder",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is: the command must not take seconds before it begins."""
    if name in __all__:
        home = {"load": ".store", "TableEncoder": ".frames"}.get(name, ".estimators")
        return getattr(import_module(home, __name__), name)
    if not name.startswith("_"):
        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
