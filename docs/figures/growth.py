"""How many products there are, and how many numbers they are made from."""

from math import comb

import matplotlib.pyplot as plt
import numpy as np

columns = np.unique(np.geomspace(5, 1000, 40).astype(int))
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
styles = {2: ("#3182bd", "-"), 3: ("#e08a00", "--"), 4: ("#1f9e77", "-."), 5: ("#c06ba5", ":")}
for degree, (color, style) in styles.items():
    ax.plot(
        columns,
        [comb(r + degree, degree) for r in columns.tolist()],
        style,
        color=color,
        label=f"products of up to {degree} columns",
    )
ax.plot(columns, columns, color="#8a8a8a", linewidth=3, label="columns")
ax.set(xscale="log", yscale="log", xlabel="columns", ylabel="number")
ax.legend(frameon=False)
