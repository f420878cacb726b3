"""Peers that need a wrapper of our own."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model._omp import _cholesky_omp


class PursuitCV(RegressorMixin, BaseEstimator):
    """scikit-learn's orthogonal matching pursuit, its number of terms chosen by cross-validation.

    (OrthogonalMatchingPursuitCV allocates an array of columns times columns.)
    """

    def __init__(self, cv, terms=100):
        self.cv = cv
        self.terms = terms

    def fit(self, X, y):
        errors = np.zeros(self.terms)
        for train, test in self.cv.split(X, y):
            chosen, path, constants = self._path(X[train], y[train], self.terms)
            values = X[test][:, chosen] @ path + constants
            error = np.mean((values - y[test, None]) ** 2, axis=0)
            errors += np.pad(error, (0, self.terms - len(error)), constant_values=np.inf)
        chosen, path, constants = self._path(X, y, int(errors.argmin()) + 1)
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[chosen], self.intercept_ = path[:, -1], float(constants[-1])
        return self

    def _path(self, X, y, terms):
        centre, level = X.mean(axis=0), y.mean()
        centred = np.asfortranarray(X - centre)
        _, chosen, steps, count = _cholesky_omp(
            centred, y - level, terms, copy_X=False, return_path=True
        )
        path = np.triu(steps[:count, :count])
        return chosen, path, level - centre[chosen] @ path

    def predict(self, X):
        return X @ self.coef_ + self.intercept_


class CelerCV(RegressorMixin, BaseEstimator):
    """Lasso along celer's path, its strength chosen by cross-validation.

    (celer's own LassoCV does not run with current versions of scikit-learn.) The path is that of
    scikit-learn's LassoCV: strengths down to 1e-3 of the largest useful one, evenly in logarithm.
    """

    def __init__(self, cv, n_alphas=100):
        self.cv = cv
        self.n_alphas = n_alphas

    def fit(self, X, y):
        largest = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
        alphas = np.geomspace(largest, 1e-3 * largest, self.n_alphas)
        errors = np.zeros(len(alphas))
        for train, test in self.cv.split(X, y):
            coefficients, constants = self._path(X[train], y[train], alphas)
            values = X[test] @ coefficients + constants
            errors += np.mean((values - y[test, None]) ** 2, axis=0)
        best = int(errors.argmin())
        coefficients, constants = self._path(X, y, alphas[: best + 1])
        self.coef_, self.intercept_ = coefficients[:, -1], float(constants[-1])
        return self

    def _path(self, X, y, alphas):
        import celer

        centre, level = X.mean(axis=0), y.mean()
        _, coefficients, _ = celer.celer_path(
            np.asfortranarray(X - centre), y - level, pb="lasso", alphas=alphas, tol=1e-4
        )
        return coefficients, level - centre @ coefficients

    def predict(self, X):
        return X @ self.coef_ + self.intercept_


class Boosting:
    """LightGBM, its number of rounds and leaves chosen on a fifth of the training rows."""

    def __init__(self, classes, seed):
        self.classes, self.seed = classes, seed

    def fit(self, X, y):
        import lightgbm

        kind = lightgbm.LGBMClassifier if self.classes else lightgbm.LGBMRegressor
        fixed = {"n_jobs": 1, "random_state": self.seed, "verbosity": -1}
        inside, outside = _halves(y, self.classes, self.seed, 0.2)
        best = np.inf
        for leaves in (8, 31, 127):
            options = {"learning_rate": 0.05, "num_leaves": leaves, **fixed}
            trial = kind(n_estimators=5000, **options)
            stop = lightgbm.early_stopping(50, verbose=False)
            trial.fit(
                X.iloc[inside],
                y[inside],
                eval_set=[(X.iloc[outside], y[outside])],
                callbacks=[stop],
            )
            loss = next(iter(trial.best_score_["valid_0"].values()))
            if loss < best:
                best, chosen = loss, {"n_estimators": trial.best_iteration_, **options}
        self.chosen_ = {name: chosen[name] for name in ("n_estimators", "num_leaves")}
        self.model = kind(**chosen).fit(X, y)
        return self

    def score(self, X, y):
        return self.model.score(X, y)


class CatBoosting:
    """CatBoost, its number of trees and their depth chosen on a fifth of the training rows."""

    def __init__(self, classes, seed):
        self.classes, self.seed = classes, seed

    def fit(self, X, y):
        import catboost

        kind = catboost.CatBoostClassifier if self.classes else catboost.CatBoostRegressor
        fixed = {"thread_count": 1, "random_seed": self.seed, "verbose": False}
        fixed |= {"allow_writing_files": False, "learning_rate": 0.1}
        inside, outside = _halves(y, self.classes, self.seed, 0.2)
        best = np.inf
        for depth in (4, 6, 8):
            trial = kind(iterations=3000, early_stopping_rounds=50, depth=depth, **fixed)
            trial.fit(X.iloc[inside], y[inside], eval_set=(X.iloc[outside], y[outside]))
            loss = next(iter(trial.get_best_score()["validation"].values()))
            if loss < best:
                best = loss
                self.chosen_ = {"iterations": trial.get_best_iteration() + 1, "depth": depth}
        self.model = kind(**self.chosen_, **fixed).fit(X, y)
        return self

    def score(self, X, y):
        return float(self.model.score(X, y))


class FeatureMachine:
    """xRFM on standardised columns, settings chosen on a fifth of the training rows.

    Its validation set is that fifth too; the machine keeps the model of its best round there.
    """

    def __init__(self, classes, seed):
        self.classes, self.seed = classes, seed

    def fit(self, X, y):
        from sklearn.preprocessing import StandardScaler

        self.scaler = StandardScaler().fit(X)
        rows = self.scaler.transform(X).astype("float32")
        self.centre, self.unit = (0.0, 1.0) if self.classes else (y.mean(), y.std())
        targets = (y > 0).astype(int) if self.classes else (y - self.centre) / self.unit
        inside, outside = _halves(y, self.classes, self.seed, 0.2)
        best = -np.inf
        for kernel in ("l2", "l1"):
            for bandwidth in (1.0, 3.0, 10.0, 30.0):
                for ridge in (1e-4, 1e-2, 1e-1):
                    parts = rows[inside], targets[inside], rows[outside], targets[outside]
                    trial = self._fitted(kernel, bandwidth, ridge, *parts)
                    score = self._score(trial, rows[outside], targets[outside])
                    if score > best:
                        best, self.model = score, trial
                        self.chosen_ = {"kernel": kernel, "bandwidth": bandwidth, "reg": ridge}
        return self

    def _fitted(self, kernel, bandwidth, ridge, X, y, X_val, y_val):
        from xrfm import xRFM

        model = {"kernel": kernel, "bandwidth": bandwidth, "exponent": 1.0, "diag": kernel == "l1"}
        model |= {"bandwidth_mode": "constant"}
        params = {"model": model, "fit": {"reg": ridge, "iters": 4, "verbose": False}}
        machine = xRFM(rfm_params=params, random_state=self.seed, verbose=False)
        return machine.fit(X, y, X_val, y_val)

    def score(self, X, y):
        rows = self.scaler.transform(X).astype("float32")
        targets = (y > 0).astype(int) if self.classes else (y - self.centre) / self.unit
        return self._score(self.model, rows, targets)

    def _score(self, machine, X, y):
        from sklearn.metrics import accuracy_score, r2_score

        values = np.asarray(machine.predict(X)).reshape(len(y), -1)[:, 0]
        return accuracy_score(y, values) if self.classes else r2_score(y, values)


class KernelRidge:
    """Ridge regression with a Gaussian or a Laplace kernel of all columns, on a GPU if possible.

    Columns are standardised; width and strength are chosen on a third of some training rows, then
    all rows that fit in memory are used. Classes are -1 and +1.
    """

    WIDTHS = (0.05, 0.2, 1.0, 3.0)  # divided by the number of columns
    RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)

    def __init__(self, shape, rows, tuning_rows, classes, seed):
        self.shape, self.rows, self.tuning_rows = shape, rows, tuning_rows
        self.classes, self.seed = classes, seed

    def fit(self, X, y):
        import torch
        from sklearn.preprocessing import StandardScaler

        place = "cuda" if torch.cuda.is_available() else "cpu"
        order = np.random.default_rng(self.seed).permutation(len(y))[: self.rows]
        self.scaler = StandardScaler().fit(X)
        self.X = torch.tensor(self.scaler.transform(X)[order], device=place)
        self.centre, self.unit = (0.0, 1.0) if self.classes else (y.mean(), y.std())
        targets = torch.tensor((y[order] - self.centre) / self.unit, device=place)
        inside, outside = _halves(y[order][: self.tuning_rows], self.classes, self.seed, 1 / 3)
        best = -np.inf
        for width in self.WIDTHS:
            inner = self._kernel(self.X[inside], self.X[inside], width)
            across = self._kernel(self.X[outside], self.X[inside], width)
            for ridge in self.RIDGES:
                values = across @ self._solved(inner, targets[inside], ridge)
                score = self._judged(values.cpu().numpy(), targets[outside].cpu().numpy())
                if score > best:
                    best, self.chosen_ = score, {"width": width, "ridge": ridge}
        whole = self._kernel(self.X, self.X, self.chosen_["width"])
        self.dual = self._solved(whole, targets, self.chosen_["ridge"])
        return self

    def _kernel(self, left, right, width):
        import torch

        width = width / left.shape[1]
        if self.shape == "laplace":
            return torch.cdist(left, right, p=1).mul_(-width).exp_()
        return torch.cdist(left, right).pow_(2).mul_(-width).exp_()

    def _solved(self, kernel, y, ridge):
        import torch

        system = kernel.clone()
        system.diagonal().add_(ridge)
        return torch.cholesky_solve(y[:, None], torch.linalg.cholesky(system))[:, 0]

    def score(self, X, y):
        import torch

        new = torch.tensor(self.scaler.transform(X), device=self.X.device)
        values = self._kernel(new, self.X, self.chosen_["width"]) @ self.dual
        return self._judged(values.cpu().numpy(), (y - self.centre) / self.unit)

    def _judged(self, values, y):
        from sklearn.metrics import accuracy_score, r2_score

        return accuracy_score(y, np.sign(values)) if self.classes else r2_score(y, values)


def _halves(y, classes, seed, share):
    from sklearn.model_selection import train_test_split

    return train_test_split(
        np.arange(len(y)), test_size=share, random_state=seed, stratify=y if classes else None
    )
