import numpy as np
import pytest

from checks import make_bases
from manykernels.dual import FeatureSystem, GramSystem, system_of
from manykernels.families import ProductFamily
from manykernels.potentials import Entropy, PowerNorm, power_norm
from manykernels.solvers.iterate import FOLD, Iterate


def random_steps(family, rng, count):
    indices = family.indices()
    for _ in range(count):
        some = rng.choice(len(indices), size=3, replace=False)
        yield (
            [indices[i] for i in some],
            rng.exponential(size=3) * rng.choice([0.01, 0.3, 30.0]),
            rng,
        )


def dense(iterate, family, values):
    out = dict(zip(iterate.indices, values, strict=True))
    return np.array([out.get(index, 0.0) for index in family.indices()])


CASES = [
    (PowerNorm(2.0), 2.0),
    (PowerNorm(1.5), 1.5),
    (PowerNorm(4.0), 4.0),
    (PowerNorm(1.02), 1.02),
    (PowerNorm(2.0), 1.0),
    (PowerNorm(1.3), 1.0),
    (PowerNorm(2.0), 3.0),
    (Entropy(), 1.0),
    (Entropy(), 2.0),
]


@pytest.mark.parametrize("representation", ["columns", "gram"])
@pytest.mark.parametrize(("potential", "nu"), CASES, ids=str)
def test_lazy_weights_equal_the_definition(potential, nu, representation, rng):
    family = ProductFamily(make_bases(representation, rng, n=8, r=4), 2)
    iterate = Iterate(family, potential, nu)
    size = family.distinct
    theta = np.full(size, potential.start(size, nu))
    order = {index: i for i, index in enumerate(family.indices())}
    weighted, total = np.zeros(size), 0.0
    for indices, increments, source in random_steps(family, rng, 120):
        eta = source.uniform(0.5, 1.5)
        weighted, total = weighted + eta * theta, total + eta
        dual = potential.gradient(theta).copy()
        dual[[order[i] for i in indices]] += increments
        theta = potential.project(potential.inverse_gradient(dual), nu)
        iterate.step(indices, increments, eta)
        np.testing.assert_allclose(dense(iterate, family, iterate.theta), theta, atol=1e-7)
        assert power_norm(iterate.theta, nu) <= 1 + 1e-9
    np.testing.assert_allclose(dense(iterate, family, iterate.average), weighted / total, atol=1e-7)
    reference = family.gram(iterate.indices, iterate.theta)
    system = iterate.system()
    np.testing.assert_allclose(system.matrix(), reference, atol=1e-8)
    fresh = system_of(family, iterate.indices, iterate.theta)
    np.testing.assert_allclose(fresh.matrix(), reference, atol=1e-8)


def test_features_while_they_are_fewer_than_rows(rng):
    family = ProductFamily(make_bases("columns", rng, n=10, r=4), 2)
    iterate = Iterate(family, PowerNorm(2.0), 2.0)
    indices = family.indices()
    assert isinstance(iterate.system(), FeatureSystem)
    iterate.step(indices[:9], np.full(9, 0.1), 1.0)
    assert isinstance(iterate.system(), FeatureSystem)
    iterate.step(indices[9:], np.full(len(indices) - 9, 0.1), 1.0)
    assert isinstance(iterate.system(), GramSystem)
    assert isinstance(system_of(family, indices[:3], np.ones(3)), FeatureSystem)
    assert isinstance(system_of(family, indices, np.ones(len(indices))), GramSystem)


@pytest.mark.parametrize("q", [1.2, 2.0, 3.0])
def test_factor_is_folded_before_it_underflows(q, rng):
    """Without folding, the factor of these steps would pass below the smallest float."""
    family = ProductFamily(make_bases("columns", rng, n=6, r=3), 2)
    iterate = Iterate(family, PowerNorm(q), q)
    indices = family.indices()
    logarithm = 0.0
    for k in range(4000):
        chosen = [indices[k % len(indices)]]
        before = iterate.factor
        iterate.step(chosen, np.array([2.0]), 1.0)
        if iterate.factor < before:
            logarithm += np.log(iterate.factor / before)
        assert iterate.factor >= FOLD * 1e-3
        assert power_norm(iterate.theta, q) == pytest.approx(1.0, abs=1e-9)
    assert logarithm < np.log(np.finfo(float).tiny)


def test_stored_weights_grow_with_the_kernels_visited(rng):
    family = ProductFamily(make_bases("columns", rng, n=6, r=10), 3)
    iterate = Iterate(family, PowerNorm(2.0), 2.0)
    for index in family.indices():
        iterate.step([index], np.array([0.1]), 1.0)
    assert iterate.active == family.distinct
    assert len(iterate.theta) == family.distinct
