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
