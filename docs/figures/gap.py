"""Objective, lower bound and gap along one fit by mirror descent."""

import matplotlib.pyplot as plt
import numpy as np

from manykernels import MKLRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 12))
y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=150)
model = MKLRegressor(degree=2, alpha=0.05, solver="mirror-descent", tol=0.02, random_state=0)
model.fit(X, y)
objective = model.history_["objective"]
bound = objective * (1 - model.history_["gap"])
step = model.history_["iteration"]
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(step, objective, color="#3182bd", label="objective of the model")
ax.plot(step, bound, "--", color="#e08a00", label="no combination can go below")
ax.fill_between(step, bound, objective, color="#8a8a8a", alpha=0.25, linewidth=0, label="gap")
last = objective[-1]
ax.set(xlabel="iteration", ylabel="objective", ylim=(last - 0.15, last + 0.2), xlim=(0, None))
ax.legend(frameon=False)
