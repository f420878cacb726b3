"""Parquet files larger than memory, at sizes where the whole can be held against them."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from typer.testing import CliRunner

from manykernels import load
from manykernels.cli.app import app
from manykernels.tables import Settings, TableError, fit_chunked, memory_size
from manykernels.tables import chunked as module

pytest.importorskip("dask")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def write(path, rng, rows=1200, group=250, **more):
    X = rng.normal(size=(rows, 4))
    kind = rng.choice(["red", "green", "blue"], size=rows)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=kind)
    frame["y"] = (
        frame["a"] + 2 * frame["b"] * frame["c"] + (kind == "red") + 0.1 * rng.normal(size=rows)
    )
    for name, values in more.items():
        frame[name] = values
    frame.to_parquet(path, row_group_size=group)
    return frame


def test_all_rows_are_trained_on_and_none_of_those_held_out(rng, tmp_path):
    path = tmp_path / "big.parquet"
    frame = write(path, rng)
    seen = []
    block = module._block

    def counted(*arguments):
        found = block(*arguments)
        seen.append(found)
        return found

    module._block = counted
    try:
        settings = Settings("y", kernels="linear")
        model, split = fit_chunked(path, settings, memory_size("2GB"))
    finally:
        module._block = block
    trained = np.unique(np.concatenate([part.y for part in seen]))
    held = split.y_test
    assert len(trained) + len(held) == len(frame) == 1200
    assert not set(trained) & set(held)
    assert 0.1 < len(held) / len(frame) < 0.3
    assert model.summary["rows_train"] == len(trained)
    assert model.summary["scores"]["this model"] > 0.9
    assert model.summary["scores"]["this model"] > model.summary["scores"]["linear model"]


def test_the_model_is_that_of_the_whole_table(rng, tmp_path):
    from manykernels import MKLRegressorCV

    path = tmp_path / "big.parquet"
    frame = write(path, rng)
    settings = Settings("y", kernels="linear", test=0.0, drop=("kind",))
    model, _ = fit_chunked(path, settings, memory_size("2GB"))
    columns = list("abcd")
    folds = KFold(5, shuffle=True, random_state=0)  # in memory they go by values, not places
    whole = MKLRegressorCV(degree=3, cv=folds, random_state=0).fit(frame[columns], frame["y"])
    found = model.predict(frame)["y"]
    np.testing.assert_allclose(
        found, whole.predict(frame[columns]), atol=1e-6 * frame["y"].abs().max()
    )


def test_classes_gaps_and_rows_without_a_target(rng, tmp_path):
    path = tmp_path / "big.parquet"
    frame = write(path, rng)
    frame["y"] = np.where(frame["y"] > 0, "yes", "no")
    frame.loc[::7, "a"] = np.nan
    frame.loc[::50, "y"] = None
    frame.to_parquet(path, row_group_size=300)
    model, _ = fit_chunked(path, Settings("y", kernels="linear"), memory_size("2GB"))
    assert model.summary["task"] == "classification"
    assert model.summary["scores"]["this model"] > 0.7
    assert "a is missing" in model.estimator.feature_names_in_
    assert set(model.predict(frame)["y"]) == {"yes", "no"}


def test_the_command(rng, tmp_path):
    path = tmp_path / "big.parquet"
    write(path, rng)
    files = ["--model", str(tmp_path / "m.mk"), "--report", str(tmp_path / "r.html")]
    options = ["--target", "y", "--chunked", "--kernels", "linear", "--memory", "1.5GiB"]
    result = CliRunner().invoke(app, ["fit", str(path), *options, *files])
    assert result.exit_code == 0, result.output
    assert "1,200 rows, 6 columns" in result.output
    assert "b * c" in result.output
    assert "b * c" in (tmp_path / "r.html").read_text()
    assert load(tmp_path / "m.mk").summary["target"] == "y"


def test_what_cannot_be_chunked(rng, tmp_path):
    path = tmp_path / "big.parquet"
    write(path, rng)
    with pytest.raises(TableError, match=r"row groups of 250 rows.*row_group_size="):
        fit_chunked(path, Settings("y"), module.BASE_BYTES + 1000)
    text = tmp_path / "table.csv"
    text.write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="needs a Parquet file"):
        fit_chunked(text, Settings("b"), 2**31)
    with pytest.raises(TableError, match="does not exist"):
        fit_chunked(tmp_path / "none.parquet", Settings("b"), 2**31)
    with pytest.raises(TableError, match="no column of the table"):
        fit_chunked(path, Settings("z"), 2**31)


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2**31), ("500M", 500 * 2**20), ("1.5 GiB", 3 * 2**29), ("1000", 1000), ("2gb", 2**31)],
)
def test_sizes_of_memory(text, size):
    assert memory_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "two", "-1GB", "2 XB"])
def test_what_is_no_size(text):
    with pytest.raises(TableError, match=re.escape(repr(text))):
        memory_size(text)


def test_large_files_are_sampled_all_over(rng, tmp_path, monkeypatch):
    path = tmp_path / "big.parquet"
    frame = write(path, rng, rows=4000, group=100)
    monkeypatch.setattr(module, "SAMPLE_ROWS", 500)
    groups, _ = module.open_groups(path, Settings("y"), 2**31)
    sample, held = groups.sample()
    assert 300 <= len(sample) <= 700
    assert len(held) == len(sample)
    places = frame.reset_index().merge(sample[["y"]], on="y")["index"]
    assert places.min() < 100
    assert places.max() >= 3900


def test_sorted_files_with_large_groups_are_seen_whole(rng, tmp_path, monkeypatch):
    path = tmp_path / "sorted.parquet"
    monkeypatch.setattr(module, "SAMPLE_ROWS", 300)
    frame = write(path, rng, rows=1200, group=400)
    frame["late"] = np.where(np.arange(1200) < 400, 0.0, rng.normal(size=1200))
    frame["y"] = np.repeat(["no", "maybe", "yes"], 400)
    frame.to_parquet(path, row_group_size=400)
    model, split = fit_chunked(path, Settings("y", kernels="linear"), memory_size("2GB"))
    assert model.estimator.classes_.tolist() == ["maybe", "no", "yes"]
    assert "late" in split.encoder.names


def test_what_lies_outside_the_sample(rng, tmp_path, monkeypatch):
    path = tmp_path / "big.parquet"
    monkeypatch.setattr(module, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(module, "LEAST_GROUPS", 1)
    frame = write(path, rng, rows=1200, group=300)
    frame.loc[1000, "a"] = np.nan
    frame.to_parquet(path, row_group_size=300)
    with pytest.raises(TableError, match="missing values"):
        fit_chunked(path, Settings("y", kernels="linear", missing="refuse", test=0.0), 2**31)
    with pytest.raises(TableError, match="is a folder"):
        fit_chunked(tmp_path, Settings("y"), 2**31)
    with pytest.raises(TableError, match="more than 500 MB"):
        fit_chunked(path, Settings("y"), memory_size("10MB"))


def test_named_indices_are_columns(rng, tmp_path):
    path = tmp_path / "big.parquet"
    frame = write(path, rng)
    own, _ = fit_chunked(path, Settings("y", kernels="linear"), memory_size("2GB"))
    frame.set_index("kind").to_parquet(path, row_group_size=250)
    model, split = fit_chunked(path, Settings("y", kernels="linear"), memory_size("2GB"))
    assert "kind" in split.encoder.names
    assert model.predict(frame)["y"].to_numpy() == pytest.approx(own.predict(frame)["y"].to_numpy())
