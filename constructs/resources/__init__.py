"""Every Terraform resource of a construct by its path, to override what no argument says."""

from eks_hardware.constructs.resources.lookup import resource, resources

__all__ = ["resource", "resources"]
