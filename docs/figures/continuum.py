"""How a kernel is drawn from a continuum: first the columns, then a width for each."""

import matplotlib.pyplot as plt
import numpy as np

from manykernels.bases import WidthRows
from manykernels.families import WidthFamily

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
alpha = np.sin(3 * X[:, 1]) + 0.4 * X[:, 2] + 0.2 * rng.normal(size=120)
alpha = (alpha - alpha.mean())[:, None]
family = WidthFamily(WidthRows(X), degree=1, shapes=("gaussian",))
draws = family.at(alpha).draw(4000, rng)
columns = np.repeat([index[1][0] if index[1] else -1 for index in draws.indices], draws.counts)
widths = np.repeat([index[2][0] if index[2] else np.nan for index in draws.indices], draws.counts)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
names = [f"x{j}" for j in range(4)]
axes[0].bar(names, [np.mean(columns == j) for j in range(4)], color="#3182bd")
axes[0].set(title="first the columns", ylabel="share of draws")
logs = np.linspace(np.log10(family.law.lowest), np.log10(family.law.highest), 300)
gradients = family.at(alpha).gradients([("gaussian", (1,), (10**log,)) for log in logs])
density = gradients / np.trapezoid(gradients, logs)
own = np.log10(widths[columns == 1])
axes[1].hist(own, bins=40, density=True, color="#c6dbef", label="draws")
axes[1].plot(logs, density, color="#e08a00", label="the gradient, as a density")
axes[1].set(title="then a width, here of x1", xlabel="width, powers of ten", ylabel="density")
axes[1].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
