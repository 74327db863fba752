"""Fixtures that hide every AWS setting of this machine from the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.doctor import no_aws_settings


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_aws_settings(monkeypatch, tmp_path)
