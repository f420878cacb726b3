"""Multiple kernel learning over exponentially many product kernels."""

__version__ = "0.1.0"
