"""
How a fit comes to its end
==========================

Every convex fit reports a duality gap: an upper limit of how much lower the objective of the best
combination of all kernels can be. Three solvers on the same problem, and how fast each closes it.
"""

# %%
# One problem, three solvers
# --------------------------
# All products of up to three of 20 columns: 1,771 kernels. ``"full-pass"`` goes through all of them
# in every iteration; ``"mirror-descent"`` draws 50 of them, with probability proportional to their
# gradient, and never sees the others. ``LpNormMKL`` is the classical method, also by full passes.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from manykernels import MKLRegressor
from manykernels.baselines import LpNormMKL
from manykernels.plot import ConvergenceDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(250, 20))
y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=250)

options = {"degree": 3, "p": 4 / 3, "alpha": 1e-3, "tol": 1e-5}
models = {
    "full passes": MKLRegressor(solver="full-pass", **options),
    "lp-norm MKL": LpNormMKL(**options),
    "mirror descent": MKLRegressor(solver="mirror-descent", max_time=2, random_state=0, **options),
}
warnings.simplefilter("ignore", ConvergenceWarning)  # mirror descent is stopped after two seconds
for model in models.values():
    model.fit(X, y)

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for (name, model), style in zip(models.items(), ("o-", "s--", "-"), strict=True):
    history = model.history_
    ax.plot(history["seconds"], history["gap"], style, markersize=4, label=name)
ax.set(xscale="log", yscale="log", xlabel="seconds", ylabel="relative duality gap")
ax.legend(frameon=False)

# %%
# Full passes are the right choice for a family of this size, and the one that ``solver="auto"``
# takes. An iteration of mirror descent costs the same whether the family has a thousand kernels or
# a billion: it is for families that no pass can go through.

for name, model in models.items():
    print(f"{name:15} {model.n_iter_:4} iterations, gap {model.gap_:.1e} ({model.gap_kind_})")

# %%
# One fit in detail
# -----------------
# Objective and gap of one fit. The objective minus the gap is a value that no combination of
# kernels can go below.

ConvergenceDisplay.from_estimator(models["full passes"])
