"""The mutation gauntlet: faults that are planted in copies of the package, and the checks that must notice them."""

from .checks import CHECKS
from .fault import Fault
from .faults import FAULTS
from .run import Outcome, run

__all__ = ["CHECKS", "FAULTS", "Fault", "Outcome", "run"]
