"""
How strong a penalty
====================

The strength of the penalty decides how many terms a model has. The CV estimators fit a path of
models from strong to weak and choose one by its loss on rows left out.
"""

# %%
# A path for each exponent
# ------------------------
# ``p`` may be a list. With p = 1 a model has few terms, with p = 4/3 all have some weight. The band
# is one standard error either side of the mean over folds.

import numpy as np

from manykernels import MKLRegressorCV
from manykernels.plot import PathDisplay

rng = np.random.default_rng(1)
X = rng.normal(size=(300, 15))
y = X[:, 0] + X[:, 1] * X[:, 2] - X[:, 3] * X[:, 4] + rng.normal(size=300)

model = MKLRegressorCV(degree=2, p=[1, 4 / 3]).fit(X, y)
print(f"chosen: p = {model.p_:.3g}, alpha = {model.alpha_:.3g}, {len(model.terms_)} terms")
PathDisplay.from_estimator(model)

# %%
# A simpler model of nearly the same loss
# ---------------------------------------
# ``one_standard_error=True`` takes the largest strength whose mean loss is within one standard
# error of the best.

simple = MKLRegressorCV(degree=2, p=1, one_standard_error=True).fit(X, y)
print(f"alpha = {simple.alpha_:.3g}, {len(simple.terms_)} terms")
simple.explain(top=6)

# %%
# Selection without shrinkage
# ---------------------------
# ``debias=True`` fits the selected terms anew without a penalty, and compares models after that
# refit. Fewer terms are then enough.

refitted = MKLRegressorCV(degree=2, p=1, debias=True).fit(X, y)
print(f"{len(refitted.terms_)} terms")
refitted.explain(top=6)

# %%
# Greedy selection has no strength. What is chosen is the number of terms.

greedy = MKLRegressorCV(degree=2, solver="greedy").fit(X, y)
PathDisplay.from_estimator(greedy)
