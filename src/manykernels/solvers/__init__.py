"""Solvers: mirror descent, working sets, full passes, greedy selection; p = 2 in closed form."""

from .choice import NAMES, choose, costs
from .closed_form import solve_closed
from .full_pass import FullPass
from .greedy import Greedy, debiased
from .loop import Solver, State, run
from .mirror_descent import MirrorDescent
from .result import HISTORY, Result
from .samplers import GradientSampler, Sampler, UniformSampler
from .steps import DecreasingStep, HarmonicStep, Moments, StepSize, TheoremStep
from .theory import Constants, expectation_bound, high_probability_bound
from .working_set import WorkingSet

__all__ = [
    "HISTORY",
    "NAMES",
    "Constants",
    "DecreasingStep",
    "FullPass",
    "GradientSampler",
    "Greedy",
    "HarmonicStep",
    "MirrorDescent",
    "Moments",
    "Result",
    "Sampler",
    "Solver",
    "State",
    "StepSize",
    "TheoremStep",
    "UniformSampler",
    "WorkingSet",
    "choose",
    "costs",
    "debiased",
    "expectation_bound",
    "high_probability_bound",
    "run",
    "solve_closed",
]
