"""Unit tests run as on a machine without Node, so that no test waits for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _without_node() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JSII_NODE", "no-such-node")
        yield
