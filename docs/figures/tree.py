"""The masses of the first and of the second factor of a product, at one dual point."""

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 8))
alpha = X[:, 1] * X[:, 5] + 0.5 * X[:, 2] + 0.5 * rng.normal(size=200)
alpha -= alpha.mean()

state, total = np.outer(alpha, alpha), X @ X.T
first = np.array([np.sum(state * np.outer(x, x) * total) for x in X.T])
state *= np.outer(X[:, 1], X[:, 1])
second = np.array([np.sum(state * np.outer(x, x)) for x in X.T])
names = [f"x{j}" for j in range(8)]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.0), layout="constrained", sharey=True)
axes[0].bar(names, first / first.sum(), color="#3182bd")
axes[0].set(title="first factor", ylabel="probability")
axes[1].bar(names, second / second.sum(), color="#e08a00")
axes[1].set(title="second factor, where the first is x1")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
