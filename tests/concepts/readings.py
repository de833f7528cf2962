"""What the log of readings says of a document, read without the package."""

import json
from pathlib import Path

LOG = Path(__file__).resolve().parents[2] / "proofs" / "readings.jsonl"


def last_reading(document: str) -> str:
    """Day, reader and what was checked, as pages show the last line of a document."""
    lines = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    last = [line for line in lines if line.get("document") == document][-1]
    return f"{last['date']}, {last['by']}: {last['checked']}"
