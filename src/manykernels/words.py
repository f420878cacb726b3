"""Numbers and certificates as a reader wants to see them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .losses import Logistic, Squared
from .solvers import Greedy

SPACE, MINUS, TIMES = "\u00a0", "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
"""Characters of numbers; the first stands before a unit, where no line may end."""

NO_NUMBER = "\N{EN DASH}"
"""Text in the place of a number that there is not."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 3) -> str:
    r"""Return a number with some significant digits, thousands apart.

    Examples
    --------
    >>> number(12345.678), number(-0.01234), number(1.5e-7), number(3)
    ('12,300', '−0.0123', '1.5\xa0×\xa010⁻⁷', '3')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "infinite"
    if value == 0:
        return "0"
    mantissa, exponent = f"{abs(value):.{digits - 1}e}".split("e")
    power = int(exponent)
    if -4 <= power < 6:
        rounded = float(f"{mantissa}e{power}")
        text = f"{rounded:,.{max(digits - 1 - power, 0)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa} {TIMES} 10{str(power).translate(_RAISED)}".replace(" ", SPACE)
    return f"{MINUS}{text}" if value < 0 else text


def count(value: float) -> str:
    r"""Return a whole number: in full up to a million, by its first two digits beyond that.

    Examples
    --------
    >>> count(4526), count(167668501), count(10**400), count(math.inf)
    ('4,526', '1.7\xa0×\xa010⁸', '1.0\xa0×\xa010⁴⁰⁰', 'infinitely many')
    """
    if value == math.inf:
        return "infinitely many"
    value = int(value)
    if value < 10**6:
        return f"{value:,}"
    power = len(str(value)) - 1
    first = (value + 10 ** (power - 1) // 2) // 10 ** (power - 1)
    if first == 100:
        first, power = 10, power + 1
    return f"{first // 10}.{first % 10}{SPACE}{TIMES}{SPACE}10{str(power).translate(_RAISED)}"


def percent(share: float) -> str:
    r"""Return a share as a percentage: whole from 10 % on, one digit behind the point below.

    Examples
    --------
    >>> percent(0.314), percent(0.0314), percent(0.0001), percent(-0.02)
    ('31\xa0%', '3.1\xa0%', '<\xa00.1\xa0%', '−2.0\xa0%')
    """
    if 0 < share < 0.0005:
        return f"<{SPACE}0.1{SPACE}%"
    if -0.0005 < share <= 0:
        return f"0{SPACE}%"
    size = 100 * abs(share)
    text = f"{size:.0f}" if size >= 9.95 else f"{size:.1f}"
    return f"{MINUS if share < 0 else ''}{text}{SPACE}%"


def percent_at_most(share: float) -> str:
    r"""Return a percentage of two digits that is not below the share.

    Examples
    --------
    >>> percent_at_most(0.0004801), percent_at_most(0.01), percent_at_most(3.2e-9)
    ('0.049\xa0%', '1\xa0%', '3.2\xa0×\xa010⁻⁷\xa0%')
    """
    if share <= 0 or not math.isfinite(share):
        return f"{number(share)}{SPACE}%"
    size = 100 * share
    unit = 10.0 ** (math.floor(math.log10(size)) - 1)
    # A hair is taken off, so that rounding in the division does not raise an even number.
    return f"{number(math.ceil(size / unit * (1 - 1e-9)) * unit, 2)}{SPACE}%"


def score(value: float) -> str:
    """Return a score with two digits behind the point, three if it is nearly one.

    Examples
    --------
    >>> score(0.8712), score(0.9987), score(-0.001), score(-3.51)
    ('0.87', '0.999', '0.00', '−3.51')
    """
    if not math.isfinite(value):
        return number(value)
    if 0.9995 <= value < 1:
        return f">{SPACE}0.999"
    text = f"{abs(value):.3f}" if 0.995 <= value < 1 else f"{abs(value):.2f}"
    return f"{MINUS}{text}" if value < 0 and float(text) else text


def p_value(value: float) -> str:
    r"""Return a p-value with two digits, a dash where there was no test.

    Examples
    --------
    >>> p_value(0.0312), p_value(3e-9), p_value(1.0)
    ('0.031', '<\xa00.0001', '1')
    """
    if math.isnan(value):
        return NO_NUMBER
    return f"<{SPACE}0.0001" if value < 1e-4 else number(value, 2)


def listing(items: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def plural(size: float, noun: str) -> str:
    """Return for instance ``"1 term"`` or ``"1,200 terms"``."""
    return f"{count(size)} {noun}{'' if size == 1 else 's'}"


def second_measure(table: Any) -> str:
    """Return the column of a table of terms that stands beside the spread: what is known of it."""
    return "loss_without" if table["loss_without"].notna().any() else "share"


def accuracy_of(estimator: Any) -> str:
    """Return what the loss without a term is a loss of."""
    if not estimator.labelled:
        return "R²"
    return (
        "R²" if isinstance(estimator.loss, Squared) or estimator.loss == "squared" else "log loss"
    )


def loss_name(estimator: Any) -> str:
    """Return what the loss of a fit is, in words."""
    loss = estimator.loss
    if isinstance(loss, Squared) or loss == "squared":
        name = "half the squared error"
    elif isinstance(loss, Logistic) or loss == "logistic":
        name = "the log loss"
    else:
        name = f"the loss {loss!r}"
    several = " of each class against the others, added up"
    return name + several * (len(getattr(estimator, "classes_", ())) > 2)


def loss_meaning(estimator: Any) -> str:
    """Return what the losses are by which kinds of models were compared, in a sentence."""
    logistic = isinstance(estimator.loss, Logistic) or estimator.loss == "logistic"
    said = f"the loss compared is {'the log loss' if logistic else loss_name(estimator)}"
    if not estimator.labelled:
        return f"{said}: the root of twice its mean is an RMSE."
    return f"{said}; 'ridge' is logistic regression with a ridge penalty."


def second_name(estimator: Any, table: Any) -> str:
    """Return the name of what stands beside the spread, for the head of a column."""
    if second_measure(table) == "share":
        return "share of variance"
    return "R² lost" if accuracy_of(estimator) == "R²" else "log loss gained"


def terms_and_rest(estimator: Any, table: Any) -> str:
    """Return how many terms a table of all of them has; the rest of a function is none."""
    rest = int((table["term"] == estimator.function_.terms.rest).sum())
    return f"{plural(len(table) - rest, 'term')}{' and a rest' if rest else ''}"


def spread_rows(estimator: Any) -> str:
    """Return the rows that spreads are over, in words."""
    sampled = estimator.function_.terms.sampled
    return "the training rows" if sampled is None else f"a sample of {count(sampled)} training rows"


def measure_meaning(estimator: Any, table: Any) -> list[str]:
    """Return what the two numbers of a term mean, a sentence for each, and what the rest is."""
    terms = estimator.function_.terms
    unit = "decision values" if estimator.labelled else "predictions, in the unit of the target"
    several = "; all classes together" * (len(getattr(estimator, "classes_", ())) > 2)
    said = [
        f"Spread is the standard deviation of what a term adds to {unit}, over "
        f"{spread_rows(estimator)}{several}."
    ]
    if table["spread"].isna().any():
        said = [
            "Spreads are not known in this model file of an earlier version: terms are in the "
            "order of their shares."
        ]
    if second_measure(table) == "loss_without":
        name = second_name(estimator, table)
        change = "R² falls" if accuracy_of(estimator) == "R²" else "the log loss rises"
        of = " (of each class against the others, added up)" if several else ""
        return [
            *said,
            f"{name[0].upper()}{name[1:]} is by how much {change}{of} on the training rows if the "
            "term is left out and the others are scaled anew, their shapes unchanged.",
        ]
    if terms.rest is not None:
        meaning = "the part of the variance that the model would have if columns were independent"
    else:
        meaning = (
            "the covariance of a term with the predictions over their variance, on the training "
            "rows; one below zero works against other terms"
        )
    said.append(f"Share is {meaning}. What accuracy loses without a term was not computed.")
    if table["term"].eq(terms.rest).any():
        said.append(
            f"The line {terms.rest} is no term but the rest: functions of more than "
            f"{plural(terms.order, 'variable')}, and what is too small for a line of its own."
        )
    return said


def certificate(estimator: Any) -> str:
    """Return in words how far the objective can be from the best of the whole family."""
    kind, gap = estimator.gap_kind_, float(estimator.gap_)
    kernels = plural(estimator.n_kernels_, "kernel")
    if kind == "none":
        return _uncertified(estimator)
    if not math.isfinite(gap) and estimator.n_kernels_ < math.inf:
        return (
            f"The draws were too few to say how far the objective is from the best over {kernels}."
        )
    if kind == "bound" and gap >= 1:
        return (
            f"How far the objective is from the best over {kernels} is not known: the bound that "
            "random draws give is larger than the objective itself."
        )
    if kind == "estimate" and estimator.n_kernels_ == math.inf:
        text = (
            "Kernels were selected for p = 1; their widths and weights are those that explain "
            "the targets best, not those of the least objective"
        )
        if gap >= 1:
            return (
                f"{text}, and how far the objective is from its least over kernels of any widths "
                "is not known."
            )
        return (
            f"{text}: that may be lower by {percent_at_most(gap)}, by an estimate from the best "
            "kernel that was found beyond those in use. There may be better ones, so it is not a "
            "guarantee."
        )
    limit = (
        f"no better combination of the {kernels} can lower the objective by more than "
        f"{percent_at_most(gap)}"
    )
    if kind == "exact":
        if gap < 1e-9:
            limit += ", which is rounding"
        text = f"{limit[0].upper()}{limit[1:]}. Every kernel was taken into account."
    elif kind == "bound":
        text = (
            f"With 99{SPACE}% confidence {limit}. Kernels were drawn at random, not listed: the "
            f"bound holds but for a probability of at most 1{SPACE}%."
        )
    else:
        text = (
            f"By an estimate from random draws, {limit}. It rests on the normal theory of a mean "
            "and may be too small, so it is not a guarantee."
        )
    tol = getattr(estimator, "tol", None)
    if tol is not None and gap > tol:
        text += f" The fit was asked for {percent_at_most(float(tol))} and stopped before."
    return text


def _uncertified(estimator: Any) -> str:
    solver = getattr(estimator, "solver", None)
    if getattr(estimator, "debias", False) and not (
        isinstance(solver, Greedy) or (isinstance(solver, str) and solver == "greedy")
    ):
        return (
            "The terms were selected by a convex problem and then fitted anew without its penalty. "
            "The fit without penalty has no certificate."
        )
    return (
        "Greedy selection adds one term after another and solves no convex problem: there is no "
        "certificate of how far the model is from the best."
    )
