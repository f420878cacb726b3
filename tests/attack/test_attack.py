"""Some cases of each surface; ``python dev.py fuzz`` takes all of them."""

import pytest

pytest.importorskip("resource")  # of POSIX, as signals are
pytest.importorskip("typer")
pytest.importorskip("dask")
pytest.importorskip("matplotlib")
from attack.surfaces import all_cases, some_cases
from conftest import SEED

CASES = some_cases(SEED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("attack")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.surface}: {case.name}")
def test_a_clear_error_or_a_right_answer(case, folder):
    verdict = case.run(folder)
    assert verdict.kind in ("clear", "right"), verdict.why


def test_the_suite_is_large_and_has_each_case_once():
    cases = all_cases()
    assert len(cases) >= 2_000
    assert len({case.surface for case in cases}) == 7
    names = [(case.surface, case.name) for case in cases]
    assert len(set(names)) == len(names)
