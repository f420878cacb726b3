"""What a model with widths says about pumadyn32nm; writes pumadyn.png beside this script.

The data are a robot arm's, 32 columns, most of them of no effect. 80 % of the rows of
`extra/pumadyn32nm.csv.gz` in the folder MANYKERNELS_DATA, seed 0 of `benchmarks/tables.py`.

    MANYKERNELS_DATA=... python docs/figures/pumadyn.py
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split

from manykernels import MKLRegressor
from manykernels.plot import EffectDisplay

here = Path(__file__).parent
frame = pd.read_csv(Path(os.environ["MANYKERNELS_DATA"]) / "extra" / "pumadyn32nm.csv.gz")
X, y = frame.drop(columns="target"), frame["target"].to_numpy()
train, test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
model = MKLRegressor(kernels="widths", random_state=0).fit(train, y_train)
table = model.explain()
print(table.to_string())

plt.style.use("default")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
table = table[::-1]
axes[0].barh(table["term"], table["share"], color="#3182bd")
for place, share in enumerate(table["share"]):
    axes[0].text(share + 0.01, place, f"{share:.1%}", va="center", fontsize=9)
axes[0].set(title="which columns act together", xlabel="share of variance", xlim=(0, 1.15))
axes[0].spines[["top", "right"]].set_visible(False)
EffectDisplay.from_estimator(model, train, "x05 * x16", ax=axes[1])
axes[1].set_title("what the two do together")
figure.suptitle(f"pumadyn32nm: R² {model.score(test, y_test):.2f} on other rows", fontsize=11)
figure.savefig(here / "pumadyn.png", dpi=110)
