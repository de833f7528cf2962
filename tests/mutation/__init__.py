"""The mutation gauntlet: faults that are planted in copies of the package, and the checks that must notice them."""

from tests.mutation.checks import CHECKS
from tests.mutation.fault import Fault
from tests.mutation.faults import FAULTS
from tests.mutation.run import Outcome, run

__all__ = ["CHECKS", "FAULTS", "Fault", "Outcome", "run"]
