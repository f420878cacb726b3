"""What a model says about 400 flats; writes first.png beside this script.

The table is that of `manykernels demo`.

    python docs/figures/first.py
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from manykernels.cli.demo import flats
from manykernels.tables import Settings, fit_table, split_table

COLOURS = {"hill": "#c6403d", "old town": "#e08a00", "harbour": "#3182bd", "station": "#5a7d5a"}

here = Path(__file__).parent
frame, settings = flats(), Settings("rent")
split = split_table(frame, settings)
model = fit_table(split, settings)
parts = model.contributions(split.train).drop(columns="intercept")
spread = parts.std().sort_values().tail(5)

plt.style.use("default")
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
axes[0].barh(spread.index, spread, color="#3182bd")
for place, size in enumerate(spread):
    axes[0].text(size + 5, place, f"{size:.0f} €", va="center", fontsize=9)
axes[0].set(title="how much each term moves the rent", xlim=(0, 1.2 * spread.max()))
axes[0].set_xlabel("standard deviation of its part of predictions, €")
middle = (
    frame.drop(columns="rent")
    .iloc[[0]]
    .assign(distance=frame["distance"].median(), built=int(frame["built"].median()))
)
for district, colour in COLOURS.items():
    own = frame[frame["district"] == district]
    area = np.linspace(own["area"].min(), own["area"].max(), 40)
    row = pd.concat([middle] * 40, ignore_index=True).assign(area=area, district=district)
    axes[1].plot(own["area"], own["rent"], ".", color=colour, alpha=0.3, markersize=5)
    axes[1].plot(area, model.predict(row)["rent"], color=colour, label=district)
axes[1].set(title="area and district act together", xlabel="area, m²", ylabel="rent, €")
axes[1].legend(frameon=False, fontsize=9)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
figure.savefig(here / "first.png", dpi=110)
score = model.summary["scores"]["this model"]
print(f"R^2 {score:.3f} on {len(split.test)} rows held out")
