"""FSx for Lustre, as far as Terraform uses it. ministack does not emulate this service.

Source: https://docs.aws.amazon.com/fsx/latest/APIReference/API_Operations.html
"""

from __future__ import annotations

import importlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from eks_hardware.local.emulator_patches.asgi import answer, body_of, signed
from eks_hardware.local.emulator_patches.ec2_protocol import SENT

Map = Mapping[str, Any]

_PREFIX = "AWSSimbaAPIService_v20180301."
_KEPT = ("FileSystemType", "FileSystemTypeVersion", "KmsKeyId", "StorageCapacity", "StorageType", "SubnetIds", "Tags")
# https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html
_DEFAULTS = {
    "AutomaticBackupRetentionDays": 0,
    "CopyTagsToBackups": False,
    "DataCompressionType": "NONE",
    "DeploymentType": "SCRATCH_1",
    "EfaEnabled": False,
    "LogConfiguration": {"Level": "DISABLED"},
    "WeeklyMaintenanceStartTime": "1:05:00",
}


# File systems by region and ID.
_STORED: dict[str, dict[str, Map]] = {}


class _RefusedError(Exception):
    """Raised when FSx refuses a request. The arguments are the error code and the message."""


def with_fsx(app: Callable[..., Any]) -> Callable[..., object]:
    """Wrap an ASGI application to answer FSx calls, too."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        by = signed(scope)
        if by is None or by.service != "fsx":
            await app(scope, receive, send)
            return
        asked, target = json.loads(await body_of(receive)), dict(scope["headers"]).get(b"x-amz-target", b"").decode()
        # ministack stores subnets and security groups by the request's region.
        importlib.import_module("ministack.core.responses")._request_region.set(by.region)
        answered = _ANSWERS.get(target.removeprefix(_PREFIX), _unsupported)
        try:
            status, found = 200, answered(_STORED.setdefault(by.region, {}), asked, by.region)
        except _RefusedError as error:
            status, found = 400, {"__type": error.args[0], "Message": error.args[1]}
        body = json.dumps(found).encode()
        await answer(send, body, status=status, content_type="application/x-amz-json-1.1")

    return call


def file_systems(region: str) -> list[Map]:
    """Return a region's file systems, with the security groups of their network interfaces in ``SENT``."""
    return list(_STORED.get(region, {}).values())


def _create(stored: dict[str, Map], asked: Map, region: str) -> dict[str, object]:
    ec2 = vars(importlib.import_module("ministack.services.ec2"))
    subnets = [ec2["_subnets"].get(subnet_id) for subnet_id in asked["SubnetIds"]]
    if None in subnets:
        raise _RefusedError("InvalidNetworkSettings", f"a subnet does not exist: {', '.join(asked['SubnetIds'])}")
    groups = asked.get("SecurityGroupIds", [])
    if unknown := [group for group in groups if group not in ec2["_security_groups"]]:
        raise _RefusedError("InvalidNetworkSettings", f"a security group does not exist: {', '.join(unknown)}")
    key, account = f"fs-{secrets.token_hex(8)}1", ec2["get_account_id"]()
    stored[key] = {
        **{name: asked[name] for name in _KEPT if name in asked},
        "CreationTime": time.time(),
        "DNSName": f"{key}.fsx.{region}.amazonaws.com",
        "FileSystemId": key,
        "Lifecycle": "AVAILABLE",
        "LustreConfiguration": {**_DEFAULTS, **asked.get("LustreConfiguration", {}), "MountName": secrets.token_hex(4)},
        "NetworkInterfaceIds": [],
        "OwnerId": account,
        SENT: {"SecurityGroupIds": groups},
        "ResourceARN": f"arn:aws:fsx:{region}:{account}:file-system/{key}",
        "VpcId": subnets[0]["VpcId"],
    }
    return {"FileSystem": _shown(stored[key])}


def _known(stored: Mapping[str, Map], key: str) -> Map:
    if key not in stored:
        raise _RefusedError("FileSystemNotFound", f"File system '{key}' does not exist.")
    return stored[key]


def _describe(stored: dict[str, Map], asked: Map, _: str) -> dict[str, object]:
    ids = asked.get("FileSystemIds")
    found = [_known(stored, each) for each in ids] if ids else list(stored.values())
    return {"FileSystems": [_shown(each) for each in found]}


def _shown(record: Map) -> dict[str, object]:
    return {name: value for name, value in record.items() if name != SENT}


def _delete(stored: dict[str, Map], asked: Map, _: str) -> dict[str, object]:
    _known(stored, asked["FileSystemId"])
    del stored[asked["FileSystemId"]]
    return {"FileSystemId": asked["FileSystemId"], "Lifecycle": "DELETING"}


def _tags(stored: dict[str, Map], asked: Map, _: str) -> dict[str, object]:
    return {"Tags": _known(stored, asked["ResourceARN"].rpartition("/")[2]).get("Tags", [])}


def _unsupported(_stored: dict[str, Map], _asked: Map, _region: str) -> dict[str, object]:
    raise _RefusedError("BadRequest", f"the emulator's FSx supports only {', '.join(sorted(_ANSWERS))}")


_ANSWERS: Mapping[str, Callable[[dict[str, Map], Map, str], dict[str, object]]] = {
    "CreateFileSystem": _create,
    "DeleteFileSystem": _delete,
    "DescribeFileSystems": _describe,
    "ListTagsForResource": _tags,
}
