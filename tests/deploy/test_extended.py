"""What the guides add to a strategy is valid for the real Terraform and AWS provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from eks_hardware.testing import assert_valid
from helpers.guides import blocks, synthesized

PROGRAMS = {
    **dict(zip(("chart", "bucket and role", "self-managed", "fargate"), blocks("extend"), strict=True)),
    "overrides": blocks("change-a-setting")[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_of_a_guide_is_valid(name: str, tmp_path: Path) -> None:
    # The Helm provider is not in every mirror; what its resources refer to is looked at.
    assert_valid(synthesized(tmp_path, PROGRAMS[name])["mixed-hardware"], without_providers=("helm",))
