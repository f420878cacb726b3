"""Columns of types that few tables have: NaN is a gap in all, what cannot be used is named."""

import numpy as np
import pandas as pd
import pytest

from manykernels import MKLRegressor, TableEncoder
from manykernels.frames import TableError

A = np.random.default_rng(0).normal(size=60)
GAPS = np.where(np.arange(60) % 7 == 0, np.nan, A)


def arrow(kind):
    pa = pytest.importorskip("pyarrow")
    values = GAPS.astype(np.dtype(kind)) if kind != "double" else GAPS
    return pd.array(pa.array(values), dtype=pd.ArrowDtype(pa.from_numpy_dtype(values.dtype)))


FLOATS = {
    "Arrow 64": lambda: arrow("float64"),
    "Arrow 32": lambda: arrow("float32"),
    "Arrow 16": lambda: arrow("float16"),
    "nullable": lambda: pd.array(A, dtype="Float64") / pd.array(GAPS / GAPS, dtype="Float64"),
    "nullable, NaN": lambda: pd.arrays.FloatingArray(GAPS.copy(), np.zeros(60, dtype=bool)),
}


@pytest.mark.parametrize("kind", FLOATS)
def test_nan_is_a_gap(kind):
    """As a float column of NumPy is read: in training, at prediction, and by the encoder."""
    odd = pd.DataFrame({"a": A, "c": FLOATS[kind]()})
    values = odd["c"].to_numpy(dtype=float, na_value=np.nan)
    assert np.isnan(values).sum() == 9
    plain = odd.assign(c=values)
    model = MKLRegressor("auto", degree=1, p=1).fit(plain, A)
    other = MKLRegressor("auto", degree=1, p=1).fit(odd, A)
    for given in (odd, plain):
        assert np.array_equal(model.predict(given), other.predict(given))
    encoded = [TableEncoder().fit(plain).transform(given) for given in (odd, plain)]
    assert np.array_equal(*encoded)
    whole = MKLRegressor(degree=1, p=1).fit(odd.assign(c=A), A)
    assert np.array_equal(whole.predict(odd), whole.predict(plain))


def test_columns_of_polars_that_pandas_cannot_hold():
    pl = pytest.importorskip("polars")
    odd = pl.Series([i * 7 for i in range(60)], dtype=pl.Int128)
    for act in (MKLRegressor().fit, TableEncoder().fit):
        with pytest.raises(TableError, match="column 'c' has values that pandas cannot hold"):
            act(pl.DataFrame({"a": A, "c": odd}), A)


@pytest.mark.parametrize("value", [pd.Series([1, 2]), pd.DataFrame({"a": [1]}), pd.Index([1, 2])])
@pytest.mark.parametrize("places", [[3], range(60)], ids=["one", "all"])
def test_tables_in_cells(value, places):
    cells = pd.Series([value if i in places else 1.0 for i in range(60)], dtype=object)
    for act in (MKLRegressor().fit, TableEncoder().fit):
        with pytest.raises(ValueError, match="'c' holds lists"):
            act(pd.DataFrame({"a": A, "c": cells}), A)
    model = MKLRegressor("auto", degree=1, p=1).fit(pd.DataFrame({"a": A, "c": GAPS}), A)
    with pytest.raises(ValueError, match="'c'"):
        model.predict(pd.DataFrame({"a": A, "c": cells}))
