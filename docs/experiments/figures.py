"""The figures, each as PNG and SVG; colours that those who see few of them tell apart, and a style for each family."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from . import joint_error
from .curves import EVENTS, Point
from .mechanisms import BY_NAME

# Okabe and Ito's colours.
_PALETTE = (
    "#0072B2",
    "#56B4E9",
    "#999999",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#D55E00",
    "#000000",
    "#F0E442",
    "#009E73",
)
COLOURS = dict(zip(BY_NAME, _PALETTE, strict=True)) | {joint_error.PUBLISHED.name: "#999999"}
MAIN = tuple(name for name, one in BY_NAME.items() if one.main)
NOISES = tuple(name for name, one in BY_NAME.items() if one.family == "one-shot")
_PANEL = (3.1, 2.3)  # inches

# The same bytes for the same rows, and letters as letters.
mpl.rcParams.update({"svg.hashsalt": "opendp_topk", "svg.fonttype": "none", "font.size": 8.5, "axes.titlesize": 9})


def save(figure: Any, path: Path) -> None:
    """Both files, without the date."""
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
    figure.savefig(path.with_suffix(".png"), dpi=110, metadata={"Software": None})
    plt.close(figure)


def grid(rows: Sequence[Any], x: str, names: Iterable[str], label: str, title: str, log: bool) -> Any:
    """Small panels: events one below the other, k side by side."""
    ks = sorted({row.k for row in rows})
    events = [event for event in EVENTS if any(row.event == event for row in rows if row.mechanism in names)]
    size = (_PANEL[0] * len(ks), _PANEL[1] * len(events) + 0.7)
    figure, panels = plt.subplots(
        len(events), len(ks), figsize=size, sharey=True, sharex="col", squeeze=False, layout="constrained"
    )
    for (event, k), axes in zip(itertools.product(events, ks), panels.flat, strict=True):
        chosen = [row for row in rows if (row.event, row.k) == (event, k)]
        for name in names:
            points = [row for row in chosen if row.mechanism == name]
            _line(axes, name, [getattr(row, x) for row in points], [row.lower for row in points])
        axes.set(title=f"{event}, k = {k}", ylim=(-0.03, 1.03), xscale="log" if log else "linear")
    for axes in panels[-1]:
        axes.set_xlabel(label)
    for axes in panels[:, 0]:
        axes.set_ylabel("probability")
    _finish(figure, panels, title)
    return figure


def _line(axes: Any, name: str, xs: Sequence[float], ys: Sequence[float]) -> None:
    style = "--" if name in BY_NAME and BY_NAME[name].family == "one-shot" else "-"
    axes.plot(xs, ys, style, color=COLOURS[name], label=name, linewidth=1.5, marker=".", markersize=4)


def _finish(figure: Any, panels: Any, title: str, columns: int = 4) -> None:
    entries: dict[str, Any] = {}
    for axes in panels.flat:
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        entries |= {label: handle for label, handle in zip(labels, handles, strict=True) if label not in entries}
    figure.suptitle(title)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, frameon=False)


def curves(rows: Sequence[Point], folder: Path) -> None:
    """For each vector the main mechanisms, and the noises of one shot."""
    for vector in dict.fromkeys(row.vector for row in rows):
        own = [row for row in rows if row.vector == vector]
        for kind, names in (("mechanisms", MAIN), ("noises", NOISES)):
            title = f"{vector}: probability of success against epsilon, one user"
            shown = own if kind == "mechanisms" else [row for row in own if row.event == "exact"]
            save(grid(shown, "epsilon", names, "epsilon", title, log=True), folder / f"{kind}-{vector}")


def zipf(rows: Sequence[Any], folder: Path) -> None:
    """Success at epsilon 1 on Zipf's law."""
    near = [row for row in rows if row.exponent <= 0.2]
    title = "Zipf's law, d = 10 000, total 1.5e8: probability of success at epsilon = 1"
    save(grid(near, "exponent", MAIN, "exponent", title, log=False), folder / "zipf")


def joint(rows: Sequence[Any], folder: Path) -> None:
    """The largest shortfall of five winners, with two standard errors."""
    data = list(dict.fromkeys(row.data for row in rows))
    figure, panels = plt.subplots(
        len(data), 2, figsize=(8, 2.9 * len(data) + 0.6), squeeze=False, layout="constrained", sharex=True
    )
    for (source, epsilon), axes in zip(itertools.product(data, joint_error.EPSILONS), panels.flat, strict=True):
        for name in dict.fromkeys(row.mechanism for row in rows):
            own = [row for row in rows if (row.data, row.epsilon, row.mechanism) == (source, epsilon, name)]
            bars = [2 * row.error for row in own]
            axes.errorbar(
                [row.d for row in own], [row.mean for row in own], bars, color=COLOURS[name], label=name, linewidth=1.3
            )
        axes.set(title=f"{source}, epsilon = {epsilon:g}", xscale="log", xlabel="items", ylabel="largest shortfall")
        axes.set_yscale("symlog", linthresh=1)
    _finish(figure, panels, "Five winners: mean of the largest shortfall at any rank, in users")
    save(figure, folder / "joint-error")


def noise(rows: Sequence[Any], folder: Path) -> None:
    """Standard deviations against epsilon, for one delta a panel."""
    deltas = list(dict.fromkeys(row.delta for row in rows))
    figure, panels = plt.subplots(1, len(deltas), figsize=(9.3, 3.4), sharey=True, squeeze=False, layout="constrained")
    for delta, axes in zip(deltas, panels.flat, strict=True):
        for place, source in enumerate(dict.fromkeys(row.source for row in rows)):
            own = [row for row in rows if (row.delta, row.source) == (delta, source)]
            for field, style in (("selection", "-"), ("counts", "--")):
                label = f"{source}: {field}"
                values = [getattr(row, field) for row in own]
                axes.plot([row.epsilon for row in own], values, style, color=_PALETTE[(0, 6, 3)[place]], label=label)
        axes.set(title=f"delta = {delta:g}", xlabel="epsilon", yscale="log")
    panels[0, 0].set_ylabel("standard deviation, users")
    _finish(figure, panels, "Noise for ten winners of 10 000 and their counts", columns=3)
    save(figure, folder / "noise")


DRAWN: dict[str, Callable[[Sequence[Any], Path], None]] = {
    "curves": curves, "zipf": zipf, "joint": joint, "noise": noise
}  # fmt: skip
