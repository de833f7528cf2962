"""The sources compiled once for all tests that ask."""

from pathlib import Path

import pytest

from . import coq


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    coq.needed()
    folder = tmp_path_factory.mktemp("machine")
    coq.compiled(folder)
    return folder
