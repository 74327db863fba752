"""The backend of a stack, and the data source through which another stack reads its outputs."""

from __future__ import annotations

from typing import Any

from eks_hardware import models
from eks_hardware._cdk import (
    Construct,
    DataTerraformRemoteState,
    DataTerraformRemoteStateLocal,
    DataTerraformRemoteStateS3,
    LocalBackend,
    NamedRemoteWorkspace,
    RemoteBackend,
    S3Backend,
    TerraformStack,
)

Backend = models.LocalBackendSpec | models.S3BackendSpec | models.RemoteBackendSpec
RemoteState = DataTerraformRemoteState | DataTerraformRemoteStateLocal | DataTerraformRemoteStateS3


def define_backend(stack: TerraformStack, backend: Backend) -> None:
    """Define the backend of a stack.

    Args:
        stack: the stack.
        backend: the backend with its defaults filled in (``ResolvedStrategy.backend``).

    Examples:
        >>> define_backend(stack, resolved.backend)
    """
    if isinstance(backend, models.S3BackendSpec):
        S3Backend(stack, **_s3(backend))
        # The binding does not have these two settings.
        if backend.lock:
            stack.add_override("terraform.backend.s3.use_lockfile", True)
        if backend.role_arn:
            stack.add_override("terraform.backend.s3.assume_role", {"role_arn": backend.role_arn})
    elif isinstance(backend, models.RemoteBackendSpec):
        RemoteBackend(stack, **_remote(backend))
    else:
        LocalBackend(stack, path=backend.path)


def remote_state(scope: Construct, id_: str, backend: Backend) -> RemoteState:
    """Define a data source that reads the outputs of the stack with this backend.

    CDKTF's own cross-stack references ignore the role that Terraform must assume to read a state in S3. Their outputs
    are sensitive and named after addresses.

    Creates: data source ``terraform_remote_state``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform address.
        backend: backend of the other stack (``ResolvedStrategy.backend``).

    Examples:
        In your own stack, the outputs of a strategy's stack:

        >>> state = remote_state(stack, "hardware", resolved.backend)
        >>> endpoint = state.get_string("cluster_endpoint")
    """
    if isinstance(backend, models.S3BackendSpec):
        state = DataTerraformRemoteStateS3(scope, id_, **_s3(backend))
        if backend.role_arn:
            state.add_override("config.assume_role", {"role_arn": backend.role_arn})
        return state
    if isinstance(backend, models.RemoteBackendSpec):
        return DataTerraformRemoteState(scope, id_, **_remote(backend))
    return DataTerraformRemoteStateLocal(scope, id_, path=backend.path or "")


def _remote(backend: models.RemoteBackendSpec) -> dict[str, Any]:
    workspace = NamedRemoteWorkspace(backend.workspace or "")
    return {"hostname": backend.hostname, "organization": backend.organization, "workspaces": workspace}


def _s3(backend: models.S3BackendSpec) -> dict[str, Any]:
    return {
        "bucket": backend.bucket,
        "key": backend.key or "",
        "region": backend.region,
        "encrypt": True,
        "kms_key_id": backend.kms_key_arn,
        "profile": backend.profile,
    }
