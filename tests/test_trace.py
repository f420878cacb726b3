"""The way of a fit stays short: the limits of ``python dev.py trace``."""

import pytest

from tracing import fit, report, trace


@pytest.fixture(scope="module")
def way():
    return trace(fit)


def test_few_functions_in_few_files(way):
    assert len(way.functions) > 50  # it was seen at all
    assert len(way.functions) <= 320
    assert len(way.files) <= 54, "\n".join(way.files)


def test_calls_are_not_deep(way):
    assert way.depth <= 18, "\n".join(way.deepest)


def test_calls_go_up_and_down_no_classes(way):
    assert not way.bounces, "\n".join(way.bounces)


def test_each_set_of_rows_is_prepared_once(way):
    """All 60 rows and the two halves: a set is what its numbers are."""
    assert sorted(rows for rows, _ in way.prepared) == [30, 30, 60]
    assert way.again == 0, way.prepared


def test_report(way):
    said = report(way)
    assert said[-1].startswith(f"{len(way.functions)} functions in {len(way.files)} files")
    assert any("MKLRegressorCV" in line or ".fit" in line for line in said)
