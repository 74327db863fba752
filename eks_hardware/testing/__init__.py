"""Assertions about the stacks that an app synthesizes; this project's own tests use them too.

    template = Template.of(stack)
    template.has("aws_eks_node_group", {"node_group_name": "gpu", "scaling_config": {"max_size": 4}})
    assert_no_public_api(template)
    assert_valid(template)

Pytest fixtures are in :mod:`eks_hardware.testing.fixtures`; no other module here needs pytest. Importing this package
does not start Node.
"""

from eks_hardware.local.terraform import TerraformError
from eks_hardware.testing.public_api import assert_no_public_api
from eks_hardware.testing.template import (
    Absent,
    AnyOrder,
    Contains,
    Difference,
    Json,
    Matcher,
    Matches,
    Template,
    differences,
)
from eks_hardware.testing.validity import assert_valid

__all__ = [
    "Absent",
    "AnyOrder",
    "Contains",
    "Difference",
    "Json",
    "Matcher",
    "Matches",
    "Template",
    "TerraformError",
    "assert_no_public_api",
    "assert_valid",
    "differences",
]
