"""What is said when Ctrl-C ends a fit."""

from sklearn.exceptions import ConvergenceWarning


class InterruptedWarning(ConvergenceWarning):  # type: ignore[misc]
    """A fit was ended by Ctrl-C; the model is that of its last iteration."""
