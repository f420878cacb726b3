"""Which variables act together? Two data sets that come with scikit-learn.

1. Friedman's function of 5 of 20 variables, where the truth is known:
   10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3 + 5 x4 + noise.
2. Progression of diabetes in 442 patients.

Every method has its strength chosen by cross-validation on the training half. At the end a report
on the last model is written: one HTML file to open in a browser.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manykernels import MKLRegressor, report
from manykernels.cli.sample import LONG_NAMES


def friedman():
    X, y = make_friedman1(n_samples=600, n_features=20, noise=1.0, random_state=0)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]), y


def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return X.rename(columns=LONG_NAMES), y


def ridge():
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 5, 33)))


def polynomial_kernel(columns):
    kernel = KernelRidge(kernel="poly", degree=2, gamma=1 / columns, coef0=1)
    grid = {"kernelridge__alpha": np.logspace(-4, 4, 17)}
    return GridSearchCV(make_pipeline(StandardScaler(), kernel), grid, cv=3)


def many_kernels():
    # A smooth function of each variable and of each pair; rho makes pairs cost more than
    # single variables, p near 1 keeps few of them.
    model = MKLRegressor(
        alpha=1e-3,
        kernels="rbf",
        degree=2,
        p=1.1,
        rho=[1, 1, 2],
        tol=0.03,
        max_iter=300,
        random_state=0,
    )
    grid = {"alpha": [1e-3, 3e-3, 1e-2, 3e-2]}
    return GridSearchCV(model, grid, cv=3, n_jobs=-1)


def main():
    # Strengths far from the best one may stop short of the tolerance; the gap of the chosen
    # model is printed.
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, load in (("Friedman's function", friedman), ("Diabetes", diabetes)):
        X, y = load()
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
        print(f"\n{name}: {train.shape[0]} training rows, {X.shape[1]} variables", flush=True)
        print(f"  {'method':<50} {'test R^2':>8} {'seconds':>8}")
        methods = [
            ("ridge (each variable alone)", ridge()),
            ("polynomial kernel (all pairs alike)", polynomial_kernel(X.shape[1])),
            ("manykernels (learns which variables and pairs)", many_kernels()),
        ]
        for label, method in methods:
            began = time.perf_counter()
            method.fit(train, y_train)
            seconds = time.perf_counter() - began
            print(f"  {label:<50} {method.score(test, y_test):8.3f} {seconds:8.1f}", flush=True)
        model = method.best_estimator_
        print(
            f"\n  The objective is within {100 * model.gap_:.1f} % of the best that any "
            f"combination of the {model.n_kernels_:,} kernels can reach."
        )
        print("  The terms with the largest spread (standard deviation of their part):\n")
        table = model.explain(top=7)
        table["spread"] = table["spread"].map("{:.3g}".format)
        lines = table[["term", "degree", "spread"]].to_string(index=False).splitlines()
        print("\n".join("    " + line for line in lines))
    path = report.write(model, test, y_test, Path("demo-report.html"))
    print(f"\nA report on the last model: open {path.resolve().as_uri()} in a browser.")


if __name__ == "__main__":
    main()
