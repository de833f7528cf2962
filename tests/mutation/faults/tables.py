"""Faults of tables and files, and of what counts them."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "absent-one",
        "a candidate without rows has one user",
        "tables/frames.py",
        "scores = np.zeros(len(candidates)",
        "scores = np.ones(len(candidates)",
    ),
    Fault(
        "null-categories",
        "categories that are null count as a user",
        "tables/frames.py",
        ".cast(nw.String())).drop_nulls()  # [categories]",
        '.cast(nw.String())).with_columns(nw.col(labels).fill_null("null"))  # [categories]',
    ),
    Fault(
        "unsigned-as-signed",
        "unsigned integers are read as signed ones",
        "tables/frames.py",
        '"UInt64" if types[1] == "UInt64" else "Int64"  # [exact-type]',
        '"Int64"  # [exact-type]',
    ),
    Fault(
        "talkative-backend",
        "an error of a back end is passed on with its text",
        "tables/guard.py",
        'missing, failure = "", type(error).__name__',
        'missing, failure = "", str(error)',
    ),
    Fault(
        "floats-identify",
        "floats identify users",
        "tables/frames.py",
        "if kind not in _INTEGERS and kind not in _STRINGS:",
        'if kind.startswith("List"):',
    ),
    Fault(
        "last-group",
        "a user belongs to the last of its groups",
        "tables/grouping.py",
        'nw.col("place").min())  # [first-group]',
        'nw.col("place").max())  # [first-group]',
    ),
    Fault(
        "every-group",
        "a user with rows in several groups belongs to all of them",
        "tables/grouping.py",
        '    kept = placed.join(first, on=["user", "place"])  # [one-group]',
        "    kept = placed  # [one-group]",
    ),
    Fault(
        "users-by-place",
        "users are compared after their groups were counted",
        "tables/grouping.py",
        'placed.group_by("user")',
        'placed.group_by("item")',
    ),
    Fault(
        "guessed-types",
        "the types of a .csv file are guessed from its first rows",
        "tables/files.py",
        "pl.scan_csv(source, glob=False, infer_schema=False)\n",
        "pl.scan_csv(source, glob=False)\n",
    ),
    Fault(
        "patterns-of-files",
        "the name of a file is a pattern",
        "tables/files.py",
        "pl.scan_parquet(source, glob=False,",
        "pl.scan_parquet(source, glob=True,",
    ),
    Fault(
        "duplicate-candidates",
        "64-bit candidates may be one too large",
        "transformations/count_by_item.py",
        "max(numbers) >= 2**64",
        "max(numbers) > 2**64",
    ),
    Fault(
        "surrogates",
        "candidates may be half of a character",
        "transformations/count_by_item.py",
        'if any("\\ud800" <= letter',
        'if all("\\ud800" <= letter',
    ),
    Fault(
        "rows-for-places",
        "a user with several rows for one candidate counts several times",
        "tables/frames.py",
        '.select("user", "place").unique()',
        '.select("user", "place")',
    ),
    Fault(
        "pairs-twice",
        "equal pairs of a sorted table are counted each",
        "tables/packed.py",
        "pairs[np.append(True, pairs[1:] != pairs[:-1])]",
        "pairs",
    ),
    Fault(
        "packed-one-short",
        "the range of packed pairs forgets their last item",
        "tables/packed.py",
        "span * (last - first + 1)",
        "span * (last - first)",
    ),
    Fault(
        "span-one-short",
        "the users of two items overlap by one",
        "tables/packed.py",
        "span = most - least + 1",
        "span = max(most - least, 1)",
    ),
    Fault(
        "last-item-lost",
        "the greatest item in a table is no candidate",
        "tables/packed.py",
        "first <= one <= last",
        "first <= one < last",
    ),
)
