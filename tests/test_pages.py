"""Tables and figures are the same bytes for the same numbers."""

import numpy as np
import pandas as pd
import pytest

from manykernels.experiments.pages import (
    markdown_table,
    mean_and_error,
    new_figure,
    save_figure,
    write_table,
)


def test_write_table(tmp_path):
    frame = pd.DataFrame(
        {"data": ["a,b", "é"], "error": [1 / 3, np.nan], "n": [10**9, 2]}, index=[5, 6]
    )
    path = tmp_path / "new" / "table.csv"
    write_table(frame, path)
    assert path.read_bytes() == 'data,error,n\n"a,b",0.333333,1000000000\né,,2\n'.encode()


def test_markdown_table():
    frame = pd.DataFrame(
        {
            "a|b": ["x|y", None, "two\nlines"],
            "error": [0.123456, np.nan, 2.0],
            "n": [12345, 2, 3],
            "sure": [True, False, True],
        }
    )
    assert markdown_table(frame) == (
        "| a\\|b | error | n | sure |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| x\\|y | 0.123 | 12345 | True |\n"
        "| - | - | 2 | False |\n"
        "| two lines | 2.00 | 3 | True |\n"
    )
    assert markdown_table(frame[:0][["n"]]) == "| n |\n| ---: |\n"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 3, "0"),
        (0.5, 3, "0.500"),
        (-0.0123456, 2, "-0.012"),
        (9.996, 3, "10.0"),
        (99.96, 3, "100"),
        (1234.5, 3, "1230"),
        (1234.5, 5, "1234.5"),
        (0.00012345, 3, "0.000123"),
        (1.2345e-9, 3, "1.23e-09"),
        (1.2345e6, 3, "1.23e+06"),
        (7.4, 1, "7"),
        (np.inf, 3, "inf"),
        (-np.inf, 3, "-inf"),
    ],
)
def test_significant_digits(value, digits, text):
    frame = pd.DataFrame({"x": [value]})
    assert markdown_table(frame, digits).splitlines()[2] == f"| {text} |"


def test_mean_and_error_against_numpy(rng):
    data = rng.choice(["b", "a"], size=60)
    degree = rng.integers(1, 3, size=60)
    error = rng.normal(size=60)
    frame = pd.DataFrame({"data": data, "degree": degree, "error": error})
    summary = mean_and_error(frame, ["data", "degree"], "error")
    assert summary.columns.tolist() == ["data", "degree", "mean", "error", "count"]
    assert summary["count"].sum() == 60
    for row in summary.itertuples():
        group = error[(data == row.data) & (degree == row.degree)]
        assert row.count == len(group)
        assert row.mean == pytest.approx(np.mean(group))
        assert row.error == pytest.approx(np.std(group, ddof=1) / np.sqrt(len(group)))
    first = frame.drop_duplicates(["data", "degree"])
    assert summary["data"].tolist() == first["data"].tolist()


def test_mean_and_error_of_few_values():
    frame = pd.DataFrame(
        {"method": ["z", None, None, "a", "e"], "time": [3.0, 1.0, 2.0, np.nan, 4.0]}
    )
    summary = mean_and_error(frame, "method", "time")
    assert summary["method"].isna().tolist() == [False, True, False, False]
    np.testing.assert_array_equal(summary["count"], [1, 2, 0, 1])
    np.testing.assert_array_equal(summary["mean"], [3.0, 1.5, np.nan, 4.0])
    np.testing.assert_allclose(summary["error"], [np.nan, 0.5, np.nan, np.nan])


def draw(folder):
    figure, axes = new_figure(2, 3, 6.0, 4.0)
    for ax in axes.flat:
        ax.plot([1, 2, 3], [3, 1, 2], label="ours", marker="o")
        ax.fill_between([1, 2, 3], [0, 0, 0], [3, 1, 2], alpha=0.2)
        ax.legend()
    save_figure(figure, folder, "figure")
    return figure, axes


def test_figures_are_the_same_bytes(tmp_path):
    pytest.importorskip("matplotlib")
    figure, axes = draw(tmp_path / "one")
    draw(tmp_path / "two")
    assert axes.shape == (2, 3)
    assert figure.axes == []
    for name in ("figure.png", "figure.svg"):
        content = (tmp_path / "one" / name).read_bytes()
        assert content == (tmp_path / "two" / name).read_bytes()
        assert len(content) > 1000
    header = (tmp_path / "one" / "figure.png").read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (720, 480)


def test_one_axis_is_an_array():
    pytest.importorskip("matplotlib")
    assert new_figure(1, 1, 3.0, 2.0)[1].shape == (1, 1)
