"""What a comparison draws: curves, several releases, accuracy against cost, and success against cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..distributions.events import EVENTS
from ..errors import checks
from ..errors.checks import Number
from . import comparison_plots as plots
from . import cost_plots as costs
from .answers import Compared, Question


class Plotted:
    """The plots of a comparison; each draws on axes of yours, or on new ones."""

    question: Question
    rows: tuple[Compared, ...]

    def plot_curves(self, *, axes: Any = None) -> Any:
        """Draw delta against epsilon for all releases together, a line a mechanism.

        Args:
            axes: The matplotlib axes to draw on; by default new ones.

        Returns:
            The axes.

        Raises:
            MissingExtraError: No axes are given and matplotlib is not installed (extra ``plot``).
        """
        return plots.curves(self.rows, self.question, plots.new_axes() if axes is None else axes)

    def plot_releases(
        self, counts: Iterable[int] = plots.COUNTS, *, delta: Number | None = None, axes: Any = None
    ) -> Any:
        """Draw epsilon at one delta against the number of releases, a line a mechanism, at the scale of its row.

        Args:
            counts: The numbers of releases, ascending.
            delta: By default that of the budget, or 1e-6 where it has none.
            axes: The matplotlib axes to draw on; by default new ones.

        Returns:
            The axes.

        Raises:
            MissingExtraError: No axes are given and matplotlib is not installed (extra ``plot``).
            ParameterError: A count is not an integer >= 1, or ``delta`` is not in (0, 1).
        """
        asked = [checks.count("counts", count) for count in counts]
        own = self.question.d_out[1] if isinstance(self.question.d_out, tuple) else 0
        at = checks.probability(delta if delta is not None else own or plots.DELTA, "delta")
        return plots.releases(self.rows, self.question, asked, at, plots.new_axes() if axes is None else axes)

    def plot(self, figure: Any = None) -> Any:
        """Draw both plots side by side; ``figure.savefig("comparison.svg")`` (or .png) writes them.

        Args:
            figure: The matplotlib figure to draw on; by default a new one.

        Returns:
            The figure.

        Raises:
            MissingExtraError: No figure is given and matplotlib is not installed (extra ``plot``).
        """
        drawn = plots.new_figure() if figure is None else figure
        left, right = plots.panels(drawn)
        self.plot_curves(axes=left)
        self.plot_releases(axes=right)
        return drawn

    def plot_accuracy(self, budgets: Iterable[Number] | None = None, *, axes: Any = None) -> Any:
        """Draw the bound of the accuracy theorem against the budget, a line a mechanism.

        Args:
            budgets: Where to compare, ascending, in the measure of the budget (epsilon where it is a pair); by default
                seven from an eighth to eight times the budget.
            axes: The matplotlib axes to draw on; by default new ones.

        Returns:
            The axes.

        Raises:
            MissingExtraError: No axes are given and matplotlib is not installed (extra ``plot``).
            ParameterError: A budget is not a number > 0.
        """
        drawn = plots.new_axes() if axes is None else axes
        return costs.accuracy(self.rows, self.question, costs.asked(budgets, self.question), drawn)

    def plot_success(
        self, scores: Any, event: str = "exact", budgets: Iterable[Number] | None = None, *, axes: Any = None
    ) -> Any:
        """Draw how likely a release succeeds on ``scores`` against the budget, a line a mechanism.

        Mechanisms whose probability is not known, or takes too long, are left out. The plot is as private as
        ``scores``.

        Args:
            scores: A member of the input domain, public or made up.
            event: ``"exact"``, ``"great"`` or ``"good"``, as ``Measurement.success_probability`` defines it.
            budgets: As for :meth:`plot_accuracy`.
            axes: The matplotlib axes to draw on; by default new ones.

        Returns:
            The axes.

        Raises:
            MissingExtraError: No axes are given and matplotlib is not installed (extra ``plot``).
            ParameterError: There is no such event, or a budget is not a number > 0.
            DataError: ``scores`` is not a member of the input domain.
        """
        wanted = checks.choice("event", event, EVENTS)
        drawn = plots.new_axes() if axes is None else axes
        return costs.success(self.rows, self.question, costs.asked(budgets, self.question), (scores, wanted), drawn)
