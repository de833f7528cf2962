"""Faults of what a table is made of: which files, which lines, which rows."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "names-as-patterns",
        "DuckDB is handed names that it takes for patterns",
        "apps/cli/release.py",
        "named = [glob.escape(place) for place in files.file_locations]",
        "named = list(files.file_locations)",
    ),
    Fault(
        "parts-of-any-columns",
        "files of one table may differ in their columns",
        "tables/files.py",
        "        if apart:\n",
        "        if len(apart) > len(first):\n",
    ),
    Fault(
        "no-folder-of-a-value",
        "folders of a value whose name begins with _ are left out",
        "tables/listing.py",
        'not (folder and "=" in name)',
        'not (folder and "==" in name)',
    ),
    Fault(
        "exchanged-unseen",
        "a file that was exchanged for one of its size and time is taken for the same",
        "tables/listing.py",
        "(seen.st_mtime_ns, seen.st_dev, seen.st_ino)",
        "(seen.st_mtime_ns, seen.st_dev)",
    ),
    Fault(
        "changed-and-released",
        "what was drawn from files that changed meanwhile is released",
        "apps/cli/release.py",
        "                            source.require_unchanged()\n",
        "",
    ),
    Fault(
        "sizes-to-be-tried",
        "the digest of a list of files has no key, so that sizes can be tried",
        "apps/cli/files.py",
        "files.to_json_lines(uuid.uuid4().hex + uuid.uuid4().hex)",
        'files.to_json_lines("0" * 64)',
    ),
    Fault(
        "lines-of-any-width",
        "a line of CSV may have other fields than the first",
        "tables/files.py",
        "{%d}",
        "{0,%d}",
    ),
    Fault(
        "unfinished-csv",
        "what is left after the last whole line of CSV is let go",
        "tables/files.py",
        "return names if not left else None",
        "return names",
    ),
    Fault(
        "not-forgotten",
        "a condition is read without its not",
        "tables/where.py",
        'return ~parts[0] if condition.by == "not"',
        'return parts[0] if condition.by == "not"',
    ),
    Fault(
        "single-as-double",
        "a float32 is compared with a constant in float32 by some engines",
        "tables/where.py",
        ', "floats": library.Float64()}',
        "}",
    ),
)
