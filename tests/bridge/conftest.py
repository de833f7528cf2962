"""OpenDP wants consent to functions from outside of it; the tests give it for their own time only."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def consent() -> Iterator[None]:
    mod = pytest.importorskip("opendp.mod", reason="opendp is not installed (extra opendp)")
    wanted = {"contrib", "honest-but-curious"} - set(mod.GLOBAL_FEATURES)
    mod.enable_features(*wanted)
    yield
    mod.disable_features(*wanted)
