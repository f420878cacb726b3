"""Checkpoints: what a long fit has done so far, in a folder, for the process that goes on."""

from .fingerprints import fingerprint
from .folder import Checkpoint, CheckpointWarning

__all__ = ["Checkpoint", "CheckpointWarning", "fingerprint"]
