"""
Where one prediction comes from
===============================

A model is a sum of terms, each a function of its own variables. So a prediction is a sum of
contributions that can be read off, without any approximation.
"""

# %%
# A model of 442 patients
# -----------------------
# Progression of diabetes after a year, from ten measurements. Pairs cost twice as much as single
# variables (``rho``), and the simplest model within one standard error of the best is taken.

from sklearn.datasets import load_diabetes
from sklearn.model_selection import ShuffleSplit, train_test_split

from manykernels import MKLRegressorCV
from manykernels.plot import ContributionsDisplay, EffectDisplay, PredictionsDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
train, test, y_train, y_test = train_test_split(X, y, random_state=0)
split = ShuffleSplit(3, test_size=0.25, random_state=0)
model = MKLRegressorCV(
    kernels="auto", degree=2, rho=[1, 1, 2], n_alphas=13, cv=split, one_standard_error=True
).fit(train, y_train)
PredictionsDisplay.from_estimator(model, test, y_test)

# %%
# One patient
# -----------
# From the intercept, which is the average, down to the prediction. Blue bars raise it, red
# bars lower it.

ContributionsDisplay.from_estimator(model, test, row=3)

# %%
# The same numbers as a table. They add up to the prediction.

parts = model.contributions(test.iloc[[3]])
print(f"sum {parts.to_numpy().sum():.3f}, prediction {model.predict(test.iloc[[3]])[0]:.3f}")
parts.T.head(8)

# %%
# Why the body mass index counts as it does
# -----------------------------------------
# A contribution is a point on the curve of its term.

EffectDisplay.from_estimator(model, train, "bmi")
