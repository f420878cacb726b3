r"""
The shape of an effect
======================

With ``kernels="auto"`` every term is a smooth function of its own variables, so it can be drawn.
Friedman's function shows whether the drawing is right:

.. math:: y = 10 \sin(\pi x_0 x_1) + 20 (x_2 - 1/2)^2 + 10 x_3 + 5 x_4 + \varepsilon
"""

# %%
# A fit
# -----
# Seven columns, of which the last two play no part.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import ShuffleSplit

from manykernels import MKLRegressorCV
from manykernels.plot import EffectDisplay, TermsDisplay

X, y = make_friedman1(n_samples=300, n_features=7, noise=0.5, random_state=0)
split = ShuffleSplit(1, test_size=0.25, random_state=0)
model = MKLRegressorCV(kernels="auto", degree=2, n_alphas=13, cv=split).fit(X, y)
TermsDisplay.from_estimator(model, top=8)

# %%
# Functions of one variable
# -------------------------
# Terms are centred: what is drawn is a deviation from the average. The grey curves are the truth,
# centred in the same way. Ticks show where the rows are.

truth = {"x2": lambda x: 20 * (x - 0.5) ** 2, "x3": lambda x: 10 * x, "x4": lambda x: 5 * x}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
grid = np.linspace(0, 1, 101)
for ax, (term, function) in zip(axes, truth.items(), strict=True):
    EffectDisplay.from_estimator(model, X, term, ax=ax)
    ax.plot(grid, function(grid) - function(grid).mean(), color="0.6", linestyle="--", zorder=0)
    ax.set(ylim=(-5.5, 5.5), ylabel="")
axes[0].set_ylabel("part of prediction")

# %%
# A function of two
# -----------------
# :math:`\sin(\pi x_0 x_1)` is a function of x0, a function of x1, and a rest that belongs to both
# together. That rest is the term ``x0 * x1``.

EffectDisplay.from_estimator(model, X, "x0 * x1")

# %%
# Next to the truth, whose parts of x0 alone and of x1 alone are taken away:

side = np.linspace(0, 1, 51)
both = 10 * np.sin(np.pi * np.outer(side, side))
rest = both - both.mean(axis=0) - both.mean(axis=1, keepdims=True) + both.mean()
figure, ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
most = np.abs(rest).max()
mesh = ax.pcolormesh(side, side, rest.T, cmap="RdBu", vmin=-most, vmax=most, rasterized=True)
ax.set(xlabel="x0", ylabel="x1", title="the truth")
figure.colorbar(mesh, ax=ax, label="part of target")
