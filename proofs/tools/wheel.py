"""What a wheel brings besides the package: the proofs, and what its build found of each document."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DOCUMENTS = "opendp_topk/proof/documents"
KINDS = (".tex", ".sty", ".bib", ".md", ".json", ".jsonl", ".v")


class Documents(BuildHookInterface):  # type: ignore[type-arg, unused-ignore]
    """Puts the documents into the wheel, and the state of each, derived from the sources that go into it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files; an editable installation reads the documents where they lie, and finds their states."""
        if version == "editable":
            return
        into, proofs = build_data["force_include"], Path(self.root, "proofs")
        for path in proofs.rglob("*"):
            if path.suffix in KINDS or path.name == "_CoqProject":
                into[str(path)] = f"{DOCUMENTS}/{path.relative_to(proofs).as_posix()}"
        sys.path.insert(0, self.root)
        from opendp_topk.proof import findings, status

        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name, findings.BUILT)
        findings.write_findings_file(file, {findings.sources_digest(): status.derive_all_findings()})
        os.chmod(file, 0o644)
        into[str(file)] = f"{DOCUMENTS}/{findings.BUILT}"
