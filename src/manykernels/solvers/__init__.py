"""Solvers: randomized mirror descent, and the closed form of p = 2."""

from .closed_form import solve_closed
from .loop import Solver, State, run
from .mirror_descent import MirrorDescent
from .result import HISTORY, Result
from .samplers import GradientSampler, Sampler, UniformSampler
from .steps import DecreasingStep, HarmonicStep, Moments, StepSize, TheoremStep
from .theory import Constants, expectation_bound, high_probability_bound

__all__ = [
    "HISTORY",
    "Constants",
    "DecreasingStep",
    "GradientSampler",
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
    "expectation_bound",
    "high_probability_bound",
    "run",
    "solve_closed",
]
