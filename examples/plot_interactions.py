"""
Find the interactions
=====================

Which of 5,456 terms does a target depend on? Here the truth is known: four of them.
"""

# %%
# The problem
# -----------
# Thirty columns, 300 rows, noise. The target is a sum of four terms: a single column, a product of
# two, a product of three, and a square.

import numpy as np

from manykernels import MKLRegressorCV
from manykernels.plot import HeatmapDisplay, NetworkDisplay, TermsDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 30))
y = X[:, 20] + X[:, 5] * X[:, 20] + X[:, 3] * X[:, 7] * X[:, 11] + 0.5 * X[:, 1] ** 2
y = y + 0.5 * rng.normal(size=300)

# %%
# The search
# ----------
# Greedy selection takes one term after another from all products of up to three columns, fits all
# coefficients anew each time, and stops where cross-validation says so. ``standardize="scale"``
# does not centre the columns, so that a product of raw columns is a single term.

model = MKLRegressorCV(degree=3, solver="greedy", standardize="scale").fit(X, y)
print(f"{model.n_terms_} terms of {model.n_kernels_:,}")
model.explain()

# %%
# The four true terms, and no other. How much what they add to predictions varies:

TermsDisplay.from_estimator(model)

# %%
# As a network, variables that act together are joined. Areas of nodes are the spreads of
# variables, edges are pairs, and shaded polygons are terms of three variables.

NetworkDisplay.from_estimator(model)

# %%
# With a convex penalty
# ---------------------
# ``p=1`` solves a convex problem instead, and can say how far from its optimum it is. It keeps
# small coefficients of terms that are not there: shrinkage has a price.

convex = MKLRegressorCV(degree=3, p=1, one_standard_error=True).fit(X, y)
print(f"{len(convex.terms_)} terms, relative gap {convex.gap_:.1e} ({convex.gap_kind_})")
convex.explain(top=8)

# %%
# The four true terms come first by far. The heat map adds up all terms of a pair of variables; the
# diagonal has the terms of single ones.

HeatmapDisplay.from_estimator(convex, top=6)
