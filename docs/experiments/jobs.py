"""What is computed: a list of jobs, worked off by processes with a progress bar."""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import cells, curves, joint_error, lecture, noise, sweep
from .mechanisms import BY_NAME
from .vectors import Vector, zipf

SYNTHETIC = (0.04, 0.5)  # exponents of the vectors that need no file; the first is that of the paper


@dataclass(frozen=True)
class Job:
    """A call whose result is a list of rows; ``figure`` says to which figure or table they belong."""

    figure: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]


def _curves(vectors: Iterable[Vector]) -> Iterator[Job]:
    for vector in vectors:
        for k in curves.KS:
            for name in curves.able(k, vector):
                yield Job("curves", curves.studied, (vector, k, name))


def _budgets(vectors: Iterable[Vector]) -> Iterator[Job]:
    for vector in vectors:
        for k in curves.KS:
            for name in filter(lambda one: BY_NAME[one].main, curves.able(k, vector)):
                yield Job("budgets", curves.budget, (vector, k, name))


def _sweep() -> Iterator[Job]:
    for k in curves.KS:
        for name in filter(lambda one: BY_NAME[one].main, curves.able(k, zipf(0))):
            yield Job("zipf", sweep.steps, (k, name))


def _joint(vectors: Iterable[Vector]) -> Iterator[Job]:
    for d, epsilon in itertools.product(joint_error.SIZES, joint_error.EPSILONS):
        sources = [joint_error.uniform(d), *(joint_error.largest(vector, d) for vector in vectors)]
        yield from (Job("joint", joint_error.shortfalls, (one, epsilon)) for one in sources if one is not None)


def _cells(vectors: Iterable[Vector]) -> Iterator[Job]:
    for name, vector in zip(cells.NAMED, itertools.cycle(vectors), strict=False):
        yield Job("cells", cells.cell, (vector, name))


def jobs(vectors: list[Vector], only: Iterable[str]) -> list[Job]:
    """The jobs of the figures that are asked for."""
    synthetic = [zipf(exponent) for exponent in SYNTHETIC]
    films = [vector for vector in vectors if vector.name == "netflix"] or synthetic[1:]
    integers = [vector for vector in vectors if vector.counts.dtype.kind in "iu"] or synthetic
    made = {
        "budgets": _budgets(vectors or synthetic),
        "curves": _curves(vectors or synthetic),
        "zipf": _sweep(),
        "joint": _joint(films),
        "noise": (Job(name, call, ()) for name, call in (("noise", noise.spreads), ("widths", noise.widths))),
        "lecture": (Job("lecture", call, ()) for call in (lecture.voting, lecture.pricing)),
        "cells": _cells(integers),
    }
    return [job for name in only for job in made[name]]


def run(todo: list[Job], processes: int) -> dict[str, list[Any]]:
    """The rows of each figure, in the order of the jobs."""
    results: dict[int, Any] = {}
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar, ProcessPoolExecutor(processes) as pool:
        task = bar.add_task("experiments", total=len(todo))
        running = {pool.submit(job.call, *job.arguments): place for place, job in enumerate(todo)}
        for done in as_completed(running):
            place = running[done]
            results[place] = done.result()
            bar.update(task, advance=1, description=todo[place].figure)
            if not bar.console.is_terminal:
                print(f"{len(results)} of {len(todo)}: {todo[place].figure}", file=sys.stderr, flush=True)
    rows: dict[str, list[Any]] = defaultdict(list)
    for place, job in enumerate(todo):
        found = results[place]
        rows[job.figure] += found if isinstance(found, list) else [found]
    return rows
