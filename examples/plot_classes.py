"""
Three classes
=============

With more than two classes each is told apart from the rest, by one set of terms for all: the
weights of kernels are shared, the functions are not.
"""

# %%
# Wines of three growers
# ----------------------
# 178 wines, 13 measurements, half of the rows to train on.

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from manykernels import MKLClassifier
from manykernels.plot import EffectDisplay, PredictionsDisplay, TermsDisplay

wine = load_wine(as_frame=True)
growers = wine.target.map({0: "first", 1: "second", 2: "third"})
train, test, y_train, y_test = train_test_split(
    wine.data, growers, test_size=0.5, random_state=0, stratify=growers
)
model = MKLClassifier(p=4 / 3, kernels="polynomial", degree=2, alpha=0.01).fit(train, y_train)
PredictionsDisplay.from_estimator(model, test, y_test)

# %%
# The terms that tell the growers apart, by how much what they add to the three decision
# values varies. With p = 4/3 every term has some weight; the first ones have most of it.

TermsDisplay.from_estimator(model, top=8)

# %%
# The same term for each class
# ----------------------------
# ``label`` says whose decision value to draw. Much colour speaks for the third grower, little of it
# for the second.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for ax, label in zip(axes, model.classes_, strict=True):
    EffectDisplay.from_estimator(model, train, "color_intensity", label=label, ax=ax)
    ax.set(title=f"{label} grower", ylim=(-1, 1), ylabel="")
axes[0].set_ylabel("part of decision value")

# %%
# Probabilities come with the logistic loss, the default.

print(model.classes_)
print(model.predict_proba(test[:3]).round(3))
