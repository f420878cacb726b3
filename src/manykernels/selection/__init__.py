"""How sure is a term: how often halves of the rows select it, and tests on rows left out.

:class:`StabilitySelection` counts how often a term is among the first few that half of the rows
select. :class:`SplitTest` selects terms on some rows and tests them on the others, many times over.
Both take one of our estimators for its kernels, degree and loss, and give a table of terms. What
they found, a :class:`HowSure`, can be joined to ``explain``, figures and reports of a model.
"""

from ..how_sure import Group, HowSure
from .split_test import SplitTest
from .stability import StabilitySelection

__all__ = ["Group", "HowSure", "SplitTest", "StabilitySelection"]
