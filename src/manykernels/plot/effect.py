"""The function that one term is."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from ..estimators.apart import taken_apart
from ..estimators.validation import column_names, new_rows
from ..how_sure import how_sure_of
from .evaluation import dense, drawable_columns, evaluate, is_category
from .panels import draw_cells, draw_curves, draw_one
from .spreads import check_family
from .style import as_axes, new_axes, quantity, shorten_term
from .variables import Levels, Variable, check_levels, make_slices, make_variable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class EffectDisplay:
    """A term's part of the learnt function, against its own variables.

    One variable: a curve, or bars for a category: a column with ``levels``, or with categorical
    kernels. Two: colours, or a curve for each category. Three: the same for the first two at a low,
    a middle and a high value of the third (its 10th, 50th and 90th percentile), or at its most
    frequent categories.

    Parameters
    ----------
    term : str
        Name of the term.
    variables : sequence of Variable
        Its variables, with the values of each at which the function is known; of a third those of
        the slices.
    values : array-like of shape (n_first[, n_second[, n_third]])
        The function at all combinations of these.
    unit : str, default="prediction"
        What the values are a part of.
    note : str, default=""
        What the title says of the term beside its name.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes or list of them
        Axes; a list, one for each slice, for three variables.
    figure_ : matplotlib.figure.Figure
        Figure.
    """

    def __init__(
        self,
        term: str,
        variables: Sequence[Variable],
        values: Any,
        unit: str = "prediction",
        note: str = "",
    ) -> None:
        self.term = term
        self.variables = list(variables)
        self.values: Array = np.asarray(values, dtype=float)
        self.unit = unit
        self.note = note

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        term: str,
        *,
        label: Any = None,
        levels: Levels | None = None,
        grid: int = 50,
        how_sure: Any = None,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> Self:
        """Draw the function of one term of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Of this library, with ``contributions``; or a pipeline that ends with one, or a model of
            a table from :func:`manykernels.load`, with rows of that table.
        X : array-like of shape (n_samples, n_features)
            Rows that say where the variables lie; those of the fit, for instance.
        term : str
            Name of the term, as in ``explain``. Of three columns at most.
        label : object, optional
            With more than two classes: the class whose decision values the term is a part of.
        levels : dict of sequence of str, optional
            For columns that hold the codes 0, 1, .. of categories: their names. By default those
            that the model knows.
        grid : int, default=50
            Number of values of a numeric variable, from its first to its 99th percentile.
        how_sure : SplitTest or StabilitySelection, optional
            Of :mod:`manykernels.selection`, fitted: the title says whether the term stands.
        ax : matplotlib.axes.Axes or sequence of them, optional
            Axes to draw on, for three variables one for each slice; by default those of a new
            figure.
        """
        estimator, X, known = taken_apart(estimator, X)
        estimator = check_family(estimator)
        if not isinstance(grid, Integral) or grid < 2:
            raise ValueError(f"grid must be an integer >= 2; got {grid!r}. Use grid=50.")
        names = column_names(estimator)
        levels = check_levels(known if levels is None else levels, names)
        columns = drawable_columns(estimator, term)
        rows = new_rows(estimator, X)
        data = dense(rows[:, columns])
        variables = []
        for place, column in enumerate(columns):
            about = (names[column], data[:, place], levels.get(names[column]))
            category = is_category(estimator, column)
            variables.append(
                make_slices(*about, category)
                if place == 2
                else make_variable(*about, grid, category)
            )
        points = np.meshgrid(*(variable.points for variable in variables), indexing="ij")
        table = np.column_stack([values.ravel() for values in points])
        values = evaluate(estimator, term, label, table, dense(rows[:1])[0])
        values = values.reshape(points[0].shape)
        note = ""
        if how_sure is not None:
            (sure,) = how_sure_of(how_sure, names).is_sure([term])
            note = "sure" if sure else "not sure"
        return cls(term, variables, values, quantity(estimator, label), note).plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw the function, on the axes that :meth:`from_estimator` takes."""
        third = self.variables[2] if len(self.variables) > 2 else None
        count = 1 if third is None else len(third.points)
        if ax is None:
            axes = new_axes(count, *self.size)
        else:
            axes = [as_axes(one) for one in np.ravel(np.array(ax, dtype=object))]
        if len(axes) != count:
            raise ValueError(
                f"ax must be {count} axes, one for each value of the third variable; got "
                f"{len(axes)}. Use ax=None for a new figure."
            )
        self.ax_: Any = axes[0] if third is None else axes
        self.figure_ = axes[0].figure
        name = shorten_term(self.term) + (f" ({self.note})" if self.note else "")
        if third is None:
            self._draw(axes, [self.values])
            axes[0].set_title(name, fontsize="medium")
        else:
            self._draw(axes, [self.values[..., k] for k in range(count)])
            if ax is None:
                self.figure_.suptitle(name, fontsize="medium")
            assert third.names is not None
            for panel, name in zip(axes, third.names, strict=True):
                panel.set_title(f"{third.title.split(' (')[0]} = {name}", fontsize="medium")
        return self

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches of a figure in which all names can be read."""
        count = len(self.variables[2].points) if len(self.variables) > 2 else 1
        width, height = 5.6 if count == 1 else 1.6 + 2.8 * count, 3.8
        named = [len(v.names) if v.names is not None else 0 for v in self.variables[:2]]
        if len(self.variables) == 1 and self.variables[0].lies:
            return width, max(height, 1.2 + 0.2 * named[0])
        if len(named) == 2 and all(named):  # a matrix of cells
            return max(width, 2.2 + 0.22 * named[0]), max(height, 1.6 + 0.2 * named[1])
        return width, height

    def _draw(self, axes: list[Axes], slices: list[Array]) -> None:
        """Draw the first two variables, on the same scale for each slice."""
        first = self.variables[0]
        second = self.variables[1] if len(self.variables) > 1 else None
        amount = f"part of {self.unit}"
        if second is None:
            draw_one(axes[0], first, slices[0])
            if first.lies:
                axes[0].set_xlabel(amount)
                return
        elif (first.names is None) == (second.names is None):
            most = float(np.abs(self.values).max()) or 1.0
            for panel, values in zip(axes, slices, strict=True):
                mesh = draw_cells(panel, first, second, values, most)
            axes[0].figure.colorbar(mesh, ax=axes).set_label(amount)
        else:
            for panel, values in zip(axes, slices, strict=True):
                if first.names is None:
                    draw_curves(panel, first, second, values, panel is axes[-1])
                else:
                    draw_curves(panel, second, first, values.T, panel is axes[-1])
        if second is None or (first.names is None) != (second.names is None):
            axes[0].set_ylabel(amount)
            reach = [panel.get_ylim() for panel in axes]
            for panel in axes:
                panel.set_ylim(min(low for low, _ in reach), max(high for _, high in reach))
        for panel in axes[1:]:
            panel.set_ylabel("")
            panel.tick_params(labelleft=False)
