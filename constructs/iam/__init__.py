"""IAM roles."""

from eks_hardware.constructs.iam.role import IamSettings, Role, account_id

__all__ = ["IamSettings", "Role", "account_id"]
