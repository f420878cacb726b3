"""What a width does: a kernel of one column with four widths, and functions that go with them."""

import matplotlib.pyplot as plt
import numpy as np

from manykernels.bases import WidthRows

grid = np.linspace(-2.5, 2.5, 400)[:, None]
centre = WidthRows(np.zeros((1, 1)))
rng = np.random.default_rng(3)
x = np.sort(rng.uniform(-2.5, 2.5, 60))[:, None]
y = np.sin(3 * x[:, 0]) * (x[:, 0] > -0.5) + 0.15 * rng.normal(size=60)
colours = ["#08519c", "#3182bd", "#e08a00", "#a63603"]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.0), layout="constrained")
for shape, ax in zip(("gaussian", "laplace"), axes[:2], strict=True):
    for width, colour in zip((0.1, 0.5, 3.0, 20.0), colours, strict=True):
        values = WidthRows(grid).kernel((shape, (0,), (width,)), centre)[:, 0]
        ax.plot(grid[:, 0], values, color=colour, label=f"width {width:g}")
    ax.set(title=f"{shape} kernel of one column", xlabel="distance", ylabel="similarity")
axes[1].legend(frameon=False, fontsize=8)
axes[2].plot(x[:, 0], y, ".", color="#8a8a8a")
for width, colour in zip((0.1, 3.0, 200.0), ("#08519c", "#e08a00", "#a63603"), strict=True):
    kernel = ("gaussian", (0,), (width,))
    rows = WidthRows(x)
    dual = np.linalg.solve(rows.kernel(kernel) + 0.02 * np.eye(60), y)
    fitted = WidthRows(grid).kernel(kernel, rows) @ dual
    axes[2].plot(grid[:, 0], fitted, color=colour, label=f"width {width:g}")
axes[2].set(title="functions fitted to the same rows", xlabel="x", ylim=(-1.8, 1.8))
axes[2].legend(frameon=False, fontsize=8)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
