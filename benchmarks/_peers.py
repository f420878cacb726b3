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


class Tuned:
    """A kernel machine on standardised columns, its settings chosen on few training rows.

    ``gamma`` is given in units of one over the number of columns.
    """

    def __init__(self, machine, options, rows, tuning_rows, classes, seed):
        self.machine, self.options, self.rows = machine, options, rows
        self.tuning_rows, self.classes, self.seed = tuning_rows, classes, seed

    def fit(self, X, y):
        from sklearn.base import clone
        from sklearn.preprocessing import StandardScaler

        order = np.random.default_rng(self.seed).permutation(len(y))[: self.rows]
        self.scaler = StandardScaler().fit(X)
        X, y = self.scaler.transform(X)[order], y[order]
        self.centre, self.unit = (0.0, 1.0) if self.classes else (y.mean(), y.std())
        y = (y - self.centre) / self.unit
        few = slice(0, self.tuning_rows)
        inside, outside = _halves(y[few], self.classes, self.seed, 1 / 3)
        best = -np.inf
        for option in self.options:
            settings = {**option, "gamma": option["gamma"] / X.shape[1]}
            trial = clone(self.machine).set_params(**settings).fit(X[inside], y[inside])
            score = self._score(trial, X[outside], y[outside])
            if score > best:
                best, self.chosen_, chosen = score, option, settings
        self.model = clone(self.machine).set_params(**chosen).fit(X, y)
        return self

    def score(self, X, y):
        return self._score(self.model, self.scaler.transform(X), (y - self.centre) / self.unit)

    def _score(self, model, X, y):
        from sklearn.metrics import accuracy_score, r2_score

        values = model.predict(X)
        return accuracy_score(y, np.sign(values)) if self.classes else r2_score(y, values)


def _halves(y, classes, seed, share):
    from sklearn.model_selection import train_test_split

    return train_test_split(
        np.arange(len(y)), test_size=share, random_state=seed, stratify=y if classes else None
    )
