"""
Prices of degrees
=================

``rho`` says how expensive each degree is. It matters more than one might think: the cube of a
standardised variable has a mean square of 15, so that without a price terms of degree three are the
cheapest way to fit anything, noise included.
"""

# %%
# A small noisy problem
# ---------------------
# Single variables and one pair, 120 rows, twelve columns. Prices from none (``rho=None``) to steep.
# For each the strength is chosen by cross-validation.

import matplotlib.pyplot as plt
import numpy as np

from manykernels import MKLRegressorCV

rng = np.random.default_rng(0)
X, X_test = rng.normal(size=(120, 12)), rng.normal(size=(1000, 12))


def truth(X):
    """Return the noiseless target."""
    return X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + X[:, 3] * X[:, 4]


y = truth(X) + rng.normal(size=120)

prices = {
    "1, 1, 1, 1": None,
    "1, 1, 1, 2 (the paper's)": [1, 1, 1, 2],
    "1, 1, 2, 4": [1, 1, 2, 4],
    "1, 1, 4, 16": [1, 1, 4, 16],
}
models = {
    name: MKLRegressorCV(degree=3, rho=rho, tol=0.02).fit(X, y) for name, rho in prices.items()
}

# %%
# What the variance is made of
# ----------------------------
# The share of each degree in the fitted function, and the error of predictions on new rows,
# relative to the variance of the truth.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.2), layout="constrained", sharey=True, width_ratios=[2, 1]
)
start = np.zeros(len(models))
colors = {1: "#3182bd", 2: "#e08a00", 3: "#1f9e77"}
for degree, color in colors.items():
    shares = [
        table.loc[table["degree"] == degree, "share"].sum()
        for table in (model.explain(None) for model in models.values())
    ]
    left.barh(list(models), shares, left=start, color=color, label=f"degree {degree}")
    start += shares
left.set(xlabel="share of variance", ylabel="rho", xlim=(0, 1))
left.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
left.invert_yaxis()
target = truth(X_test)
errors = [np.mean((model.predict(X_test) - target) ** 2) for model in models.values()]
right.barh(list(models), errors / np.var(target), color="#8a8a8a")
right.set(xlabel="relative test error")

# %%
# The truth has no term of degree three. Without prices a large part of the fitted function is made
# of them all the same, and predictions suffer. Too steep a price hides the pair.

for name, model in models.items():
    print(f"{name:26} {model.explain(top=4)['term'].tolist()}")
