"""Look up any Terraform resource of a construct by its path, to override attributes that no argument sets."""

from eks_hardware.constructs.resources.lookup import resource, resources

__all__ = ["resource", "resources"]
