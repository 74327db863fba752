"""Resources of a node for pods, which quotas of jobs depend on."""

from __future__ import annotations

from typing import Any

from eks_hardware.catalogue import load
from eks_hardware.kubernetes.allocatable import allocatable
from helpers.cases import in_one_test
from helpers.strategies import resolved_gpu_pool, resolved_group

MIB = 2**20
BOTTLEROCKET = {"ami": {"family": "bottlerocket"}}


def cpu_and_memory(name: str, fields: dict[str, Any], *, pool: bool) -> tuple[int, int]:
    """Return millicores and MiB, rounded down."""
    node: Any = resolved_gpu_pool(name, **fields) if pool else resolved_group(name, **fields)
    most = allocatable(node, load().get(name))
    return int(most["cpu"] * 1000), int(most["memory"] / MIB)


@in_one_test("pool", [False, True])
@in_one_test(
    ("name", "fields", "millicores", "mib"),
    [
        # 60m + 10m + 2 x 5m; 16 GiB minus 7.5%, 255 MiB, 11 MiB for each of 58 addresses, and 100 MiB.
        ("g6.xlarge", {}, 4000 - 80, 15155 - 255 - 638 - 100),
        # 110 pods with prefix delegation, which AL2023 ignores here.
        ("g6.xlarge", BOTTLEROCKET, 4000 - 80, 15155 - 255 - 1210 - 100),
        ("g6.xlarge", {**BOTTLEROCKET, "kubelet": {"max_pods": 20}}, 4000 - 80, 15155 - 255 - 220 - 100),
        ("g6.xlarge", {"kubelet": {"max_pods": 20}}, 4000 - 80, 15155 - 255 - 638 - 100),
        # 2.5m for each core beyond four, and huge pages for EFA.
        ("g6.8xlarge", {}, 32000 - 150, 121241 - 255 - 2574 - 100),
        ("g6.8xlarge", {"efa": True}, 32000 - 150, 121241 - 255 - 2574 - 100 - 10256),
        # Bottlerocket has 110 pages of 2 MiB for each of 32 vCPUs, or the number in its settings.
        ("g6.8xlarge", {"efa": True, **BOTTLEROCKET}, 32000 - 150, 121241 - 255 - 2750 - 100 - 7040),
        (
            "g6.8xlarge",
            {"efa": True, **BOTTLEROCKET, "user_data": {"kernel": {"sysctl": {"vm/nr_hugepages": "512"}}}},
            32000 - 150,
            121241 - 255 - 2750 - 100 - 1024,
        ),
        # More than any node has.
        (
            "g6.8xlarge",
            {"efa": True, **BOTTLEROCKET, "user_data": {"kernel": {"sysctl": {"vm/nr_hugepages": "999999999"}}}},
            32000 - 150,
            0,
        ),
        ("g6.8xlarge", BOTTLEROCKET, 32000 - 150, 121241 - 255 - 2750 - 100),
        *(
            (
                "g6.xlarge",
                {**image, "kubelet": {"kube_reserved": {"cpu": "500m", "memory": "2Gi"}}},
                3500,
                15155 - 2048 - 100,
            )
            for image in ({}, BOTTLEROCKET)
        ),
        *(
            (
                "g6.xlarge",
                {**image, "kubelet": {"max_pods": 58, "system_reserved": {"cpu": "1", "memory": "1Gi"}}},
                3000 - 80,
                15155 - 255 - 638 - 100 - 1024,
            )
            for image in ({}, BOTTLEROCKET)
        ),
    ],
)
def test_cpu_and_memory(name: str, fields: dict[str, Any], millicores: int, mib: int, pool: bool) -> None:
    assert cpu_and_memory(name, fields, pool=pool) == (millicores, mib)
