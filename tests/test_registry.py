"""One place for names: each resolves, and everyone who offers names offers these."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import manykernels
from manykernels import MKLClassifier, MKLRegressor, registry
from manykernels.cli.app import Experiment, app
from manykernels.estimators.checks import RULES
from manykernels.feature_maps import MAPS
from manykernels.kernels import resolve
from manykernels.losses import BY_NAME
from manykernels.solvers.base import Needs
from manykernels.solvers.match import SOLVERS
from manykernels.specify import resolve_loss, specify
from manykernels.store.values import Decoder, Encoder
from manykernels.tables import Settings

API = Path(__file__).parents[1] / "docs" / "api.rst"


def options(command):
    return {option.name: option for option in get_command(app).commands[command].params}


@pytest.mark.parametrize("name", registry.KERNELS)
def test_every_kernel_resolves(name):
    assert resolve(name, ["a", "b"]).names


@pytest.mark.parametrize("name", registry.REAL_LOSSES)
def test_every_loss_of_real_targets_resolves(name):
    assert type(resolve_loss(name, labelled=False)) is BY_NAME[name]


@pytest.mark.parametrize("name", registry.CLASS_LOSSES)
def test_every_loss_of_classes_resolves(name):
    assert type(resolve_loss(name, labelled=True)) is BY_NAME[name]


def test_every_loss_is_for_something():
    assert {*registry.REAL_LOSSES, *registry.CLASS_LOSSES} == set(BY_NAME)


@pytest.mark.parametrize("name", registry.SOLVER_NAMES)
def test_every_solver_resolves(name):
    needs = SOLVERS[name]().needs if name != "auto" else Needs()
    assert needs.p(1.0) or needs.p(1.5)


@pytest.mark.parametrize("name", ["auto", *registry.INDEX_SETS])
def test_every_index_set_resolves(name):
    spec = specify(MKLRegressor(alpha=1e-3, degree=2, index_set=name), labelled=False)
    rows = np.random.default_rng(0).normal(size=(9, 3))
    kernels = resolve("linear", ["a", "b", "c"])
    family = spec.family(kernels.fit(rows, np.full(9, 1 / 9)), kernels, 2, 1.5)
    assert family.size > 6


@pytest.mark.parametrize("name", [*registry.STORED_HOMES, *registry.RENAMED])
def test_every_stored_class_resolves_to_the_class_of_that_name(name):
    assert registry.stored_class(name).__name__ == registry.RENAMED.get(name, name)


@pytest.mark.parametrize("name", registry.STORED_HOMES)
def test_every_stored_class_is_written_and_read_by_name(name):
    kind = registry.stored_class(name)
    empty = object.__new__(kind)
    encoder = Encoder()
    tree = encoder.encode(empty)
    assert tree == {"$object": [name, {}]}
    assert type(Decoder(encoder.arrays).decode(tree)) is kind


def test_names_of_unknown_classes_are_refused():
    with pytest.raises(KeyError):
        registry.stored_class("Popen")


def test_the_command_line_offers_the_registered_names():
    fit = options("fit")
    assert fit["kernels"].help.endswith(f": {', '.join(registry.TABLE_KERNELS)}.")
    assert all(task in fit["task"].help for task in (*registry.TASKS, "auto"))
    assert all(f"{rule}:" in fit["missing"].help for rule in registry.GAP_RULES)
    defaults = Settings("y")
    assert fit["kernels"].default == defaults.kernels == "best"
    assert fit["task"].default == defaults.task == "auto"
    assert fit["missing"].default == defaults.missing == "impute"
    (experiment,) = [o for o in get_command(app).commands["reproduce"].params if o.required]
    assert tuple(Experiment) == registry.EXPERIMENTS
    assert all(f"{name}: " in experiment.help for name in registry.EXPERIMENTS)


def test_every_experiment_is_a_module():
    for name in registry.EXPERIMENTS:
        assert import_module(f"manykernels.experiments.{name}").report


def test_the_checks_of_parameters_accept_the_registered_names():
    rules = dict(RULES)
    assert all(rules["solver"].holds(name) for name in registry.SOLVER_NAMES)
    assert all(rules["index_set"].holds(name) for name in ("auto", *registry.INDEX_SETS))


def test_docstrings_list_the_registered_names():
    def choices(kind, parameter):
        line = re.search(rf"^ *{parameter} : \{{(.*?)\}}", kind.__doc__, re.MULTILINE)
        return tuple(re.findall(r'"([^"]+)"', line[1]))

    assert choices(MKLRegressor, "loss") == registry.REAL_LOSSES
    assert choices(MKLClassifier, "loss") == registry.CLASS_LOSSES
    assert choices(MKLRegressor, "solver") == registry.SOLVER_NAMES
    assert choices(MKLRegressor, "index_set") == ("auto", *registry.INDEX_SETS)
    assert all(
        f'``"{name}"``' in MKLRegressor.__doc__ or f'"{name}"' in MKLRegressor.__doc__
        for name in registry.KERNELS
    )


def test_the_reference_lists_every_registered_class():
    listed = set(re.findall(r"^   (\w+)$", API.read_text(), re.MULTILINE))
    named = [*BY_NAME.values(), *MAPS.values(), *registry.INDEX_SETS.values()]
    assert {kind.__name__ for kind in named} | set(registry.ESTIMATORS) <= listed
    assert set(registry.STORED["manykernels.solvers"].split()) <= listed
    assert all(hasattr(manykernels, name) for name in registry.ESTIMATORS)
