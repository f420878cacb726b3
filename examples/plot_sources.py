"""
Kernels from several sources
============================

Kernel matrices that were computed elsewhere can be base kernels. The learnt weights say which
source matters, and products of matrices say which sources matter *together*.
"""

# %%
# Three sources
# -------------
# 150 documents, each with words, an image and an author. Here all three are made up: the class
# depends on words *and* image together, and on the author alone; never on words or
# image alone.

import numpy as np
from sklearn.model_selection import cross_val_score

from manykernels import MKLClassifier
from manykernels.kernels import Precomputed
from manykernels.plot import HeatmapDisplay, TermsDisplay

rng = np.random.default_rng(0)
n = 150
words, image = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
author = rng.integers(5, size=n)
score = 2 * words[:, 0] * image[:, 0] + np.array([-1.5, -0.5, 0, 0.5, 1.5])[author]
label = np.where(score + 0.3 * rng.normal(size=n) > 0, "yes", "no")

kernels = [
    Precomputed(words @ words.T / 3, "words"),
    Precomputed(image @ image.T / 2, "image"),
    Precomputed((author[:, None] == author).astype(float), "author"),
]

# %%
# Rows are numbers
# ----------------
# X holds row numbers, so that cross-validation and grid search work as always: each fold looks up
# its own part of the matrices. Degree 2 adds all products of two of them.

rows = np.arange(n).reshape(-1, 1)
model = MKLClassifier(kernels=kernels, p=1, alpha=3e-3)
for degree in (1, 2):
    accuracy = cross_val_score(model.set_params(degree=degree), rows, label, cv=5)
    print(f"degree {degree}: accuracy {accuracy.mean():.2f} over five folds")

# %%
# What was learnt
# ---------------
# Words together with the image, and the author: the truth. Neither words nor image alone.

model.fit(rows, label)
TermsDisplay.from_estimator(model)

# %%
HeatmapDisplay.from_estimator(model)
