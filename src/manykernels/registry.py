"""Every name that a parameter, a command or a model file may hold, and what it stands for.

The modules imported here keep tables of their own (``losses.BY_NAME``, ``feature_maps.MAPS``,
``solvers.match.SOLVERS``, ..): a new loss, feature map or solver gets its name there. Classes whose
objects model files may hold are listed in ``STORED`` by the modules that have them, which are not
imported before they are asked for.
"""

from __future__ import annotations

from importlib import import_module

from .families import IndexSet, Interactions, Monomials, Tuples
from .feature_maps import MAPS
from .kernels import KERNEL_NAMES
from .losses import BY_NAME
from .solvers import NAMES

AUTO = "auto"
"""Name that leaves a choice to the library."""

CLASS_LOSSES = (*(name for name, loss in BY_NAME.items() if loss().classification), "squared")
"""Names of the losses for classes."""

REAL_LOSSES = tuple(name for name, loss in BY_NAME.items() if not loss().classification)
"""Names of the losses for real targets."""

SOLVER_NAMES = NAMES
"""Names of solvers."""

INDEX_SETS: dict[str, type[IndexSet]] = {
    "tuples": Tuples,
    "monomials": Monomials,
    "interactions": Interactions,
}
"""Index sets of products by name."""

COLUMN_KERNELS = (AUTO, "widths", *MAPS, "linear")
"""Names of kernels that any column of a table can have."""

TABLE_KERNELS = ("best", "both", *COLUMN_KERNELS)
"""Names of kernels that a table can be fitted with; ``"best"`` chooses."""

KERNELS = KERNEL_NAMES
"""Names in the ``kernels`` argument of kernels of one kind."""

TASKS = ("regression", "classification")
"""Kinds of targets of tables."""

GAP_RULES = ("impute", "refuse")
"""What can be done about missing values of tables."""

EXPORTS = ("python", "sql", "latex")
"""What a model can be exported to."""

EXPERIMENTS = ("convergence", "synthetic", "real")
"""The paper's experiments: modules of :mod:`manykernels.experiments`."""

ESTIMATORS = ("MKLRegressor", "MKLClassifier", "MKLRegressorCV", "MKLClassifierCV")
"""Estimators of :mod:`manykernels`."""

CHOOSERS = tuple(name for name in ESTIMATORS if name.endswith("CV"))
"""Those of them that compare models by cross-validation."""

STORED = {
    "manykernels.estimators": " ".join(ESTIMATORS),
    "manykernels.fitting": "Candidate Choice",
    "manykernels.kernels": "LinearKernels MapKernels FunctionKernels PairwiseKernel Precomputed "
    "WidthKernels BothKernels",
    "manykernels.feature_maps": " ".join(kind.__name__ for kind in MAPS.values()),
    "manykernels.function": "Predictor Function",
    "manykernels.families": " ".join(
        [
            "ProductFamily StandardizedFamily KnownSpreads",
            "WidthFamily CellFamily LogUniform Gamma WidthGrid",
            *(kind.__name__ for kind in INDEX_SETS.values()),
        ]
    ),
    "manykernels.bases": "FeatureBlocks GramStack WidthRows TermRows",
    "manykernels.losses": " ".join(kind.__name__ for kind in BY_NAME.values()),
    "manykernels.potentials": "PowerNorm Entropy",
    "manykernels.solvers": "WorkingSet WidthSearch FullPass MirrorDescent Greedy ClosedForm "
    "GradientSampler UniformSampler DecreasingStep HarmonicStep TheoremStep",
    "manykernels.baselines.simple": "SimpleModels",
    "manykernels.how_sure": "HowSure Group",
    "manykernels.frames": "TableEncoder Number Moment Category",
    "manykernels.tables": "TableModel",
    "sklearn.preprocessing": "StandardScaler",
}
"""Classes whose objects model files may hold, by the modules that have them."""

RENAMED = {"Encoder": "TableEncoder"}
"""Names of classes in files of version 0.1.0, and what they are called now."""

STORED_HOMES = {name: module for module, names in STORED.items() for name in names.split()}
"""The module of each class whose objects model files may hold."""


def stored_class(name: str) -> type:
    """Return one of the classes that files may hold; KeyError for any other name."""
    name = RENAMED.get(name, name)
    found: type = getattr(import_module(STORED_HOMES[name]), name)
    return found
