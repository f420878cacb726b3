"""Other ways to find terms: the Lasso over all monomials, knockoffs."""

from itertools import chain, combinations_with_replacement

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.preprocessing import StandardScaler

STRENGTHS = 100
SMALLEST = 1e-3
MOST_DOUBLES = 100_000
"""Monomials above which their table is in single precision, to fit in memory."""

BLOCK = 10
"""Strengths that are computed before looking whether errors still fall."""

PATIENCE = 20
"""Strengths without a smaller mean error over folds after which the path ends: the weaker ones
cost most. Set by judgement."""


class MonomialLasso:
    """celer's Lasso on all monomials of standardised columns, each standardised.

    100 strengths down to a thousandth of the largest useful one, evenly in logarithm, and five
    folds; the path ends when PATIENCE strengths bring nothing.
    """

    def __init__(self, degree, folds):
        self.degree, self.folds = degree, folds

    def fit(self, X, y):
        self.first = StandardScaler().fit(X)
        self.terms = monomials(X.shape[1], self.degree)
        self.kind = np.float32 if len(self.terms) > MOST_DOUBLES else np.float64
        columns = self._products(X)
        self.centre, self.spread = columns.mean(axis=0), columns.std(axis=0)
        columns -= self.centre
        columns /= self.spread
        self.level = y.mean()
        self.columns, self.y = columns, (y - self.level).astype(self.kind)
        largest = np.abs(columns.T @ self.y).max() / len(y)
        self.strengths = np.geomspace(largest, SMALLEST * largest, STRENGTHS)
        self.errors = self._errors()
        return self

    def _errors(self):
        """Return mean errors of shape (folds, strengths) as far as the paths go."""
        parts = []
        for train, test in self.folds.split(self.columns):
            centre, level = self.columns[train].mean(axis=0), self.y[train].mean()
            inside = np.asfortranarray(self.columns[train] - centre)
            parts.append([inside, self.y[train] - level, centre, level, test, None])
        errors = np.empty((len(parts), 0))
        for start in range(0, STRENGTHS, BLOCK):
            some, more = self.strengths[start : start + BLOCK], []
            for part in parts:
                inside, y, centre, level, test, last = part
                path = lasso_path(inside, y, some, last)
                part[-1] = path[:, -1].copy()
                used = np.flatnonzero(path.any(axis=1))
                values = (self.columns[np.ix_(test, used)] - centre[used]) @ path[used] + level
                more.append(np.mean((values - self.y[test, None]) ** 2, axis=0))
            errors = np.hstack([errors, more])
            if errors.shape[1] - errors.mean(axis=0).argmin() > PATIENCE:
                break
        return errors

    def chosen(self, rule):
        """Return the terms and the prediction of the best strength, or of the largest near it."""
        means = self.errors.mean(axis=0)
        place = int(means.argmin())
        if rule != "best":
            spread = self.errors[:, place].std(ddof=1) / np.sqrt(len(self.errors))
            place = int(np.flatnonzero(means <= means[place] + spread)[0])
        inside = np.asfortranarray(self.columns)
        path = lasso_path(inside, self.y, self.strengths[: place + 1], None)[:, -1]
        used = np.flatnonzero(path)

        def predict(X):
            return self._scaled(X, used) @ path[used] + self.level

        return [self.terms[i] for i in used], predict

    def _products(self, X, used=None):
        X = self.first.transform(X)
        terms = self.terms if used is None else [self.terms[i] for i in used]
        out = np.empty((len(X), len(terms)), order="F", dtype=self.kind)
        for place, term in enumerate(terms):
            out[:, place] = X[:, list(term)].prod(axis=1)
        return out

    def _scaled(self, X, used):
        return (self._products(X, used) - self.centre[used]) / self.spread[used]


def monomials(columns, degree):
    """Return all monomials as sorted tuples of columns."""
    sizes = range(1, degree + 1)
    return list(
        chain.from_iterable(combinations_with_replacement(range(columns), d) for d in sizes)
    )


def lasso_path(columns, y, strengths, start):
    """Return celer's coefficients along some strengths; all arrays must be of one kind for it."""
    import celer

    kind = columns.dtype
    return celer.celer_path(
        columns,
        y.astype(kind),
        pb="lasso",
        alphas=strengths.astype(kind),
        coef_init=start,
        weights=np.ones(columns.shape[1], dtype=kind),
        tol=1e-4,
    )[1]


class ForestImportance(RegressorMixin, BaseEstimator):
    """A random forest whose importances stand where a linear model has coefficients."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(300, max_features=1 / 3, random_state=self.random_state)
        self.coef_ = forest.fit(X, y).feature_importances_
        return self


def knockoff_variables(X, y, level, trees, seed):
    """Return the columns that hidimstat's model-X knockoffs select."""
    from hidimstat import ModelXKnockoff

    statistic = ForestImportance() if trees else None
    filter_ = ModelXKnockoff(
        estimator=statistic, preconfigure_lasso_path=not trees, random_state=seed
    )
    filter_.fit_importance(X, y)
    return np.flatnonzero(filter_.fdr_selection(fdr=level)).tolist()
