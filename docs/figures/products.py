"""Two kernels of one column each, and their product."""

import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(-3, 3, 121)
first = np.exp(-((x[:, None] - 1) ** 2) / 2) * np.ones_like(x)
second = np.ones_like(x)[:, None] * np.exp(-((x + 0.5) ** 2) / 2)
parts = {"age": first, "income": second, "age * income": first * second}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained", sharey=True)
for ax, (name, values) in zip(axes, parts.items(), strict=True):
    mesh = ax.pcolormesh(x, x, values.T, cmap="Blues", vmin=0, vmax=1, rasterized=True)
    ax.plot(1, -0.5, "o", color="#d55e00")
    ax.set(title=name, xlabel="age", aspect="equal")
axes[0].set_ylabel("income")
figure.colorbar(mesh, ax=axes, label="similarity to the marked row")
