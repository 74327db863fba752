"""Rules about user data: names, values, size, and settings that belong elsewhere."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.models import Strategy
from eks_hardware.resolve.user_data import bottlerocket_settings, kubelet_settings, node_config_spec
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, rules_of, shown_codes, warnings_of
from helpers.strategies import SYSTEM, TODAY, document, gpu_pool, group, pool, pools

GPU = "node_groups[gpu].user_data"
POOL = "karpenter.node_pools[pool].user_data"
BOTTLEROCKET = {"family": "bottlerocket"}


def al2023(*, types: str = "m6i.xlarge", **spec: Any) -> dict[str, Any]:
    return {"node_groups": [SYSTEM, group(types, user_data=spec)]}


def kubelet_config(**settings_: Any) -> dict[str, Any]:
    return al2023(kubelet={"config": settings_})


def flags(*given_flags: str) -> dict[str, Any]:
    return al2023(kubelet={"flags": list(given_flags)})


def local_storage(**storage: Any) -> dict[str, Any]:
    return al2023(instance={"localStorage": storage})


def bottlerocket(settings_: dict[str, Any], types: str = "m6i.xlarge") -> dict[str, Any]:
    return {"node_groups": [SYSTEM, group(types, ami=BOTTLEROCKET, user_data=settings_)]}


def bottlerocket_kubernetes(**settings_: Any) -> dict[str, Any]:
    return bottlerocket({"kubernetes": {name.replace("_", "-"): value for name, value in settings_.items()}})


def bottlerocket_pool(settings_: dict[str, Any]) -> dict[str, Any]:
    return pools(pool(ami=BOTTLEROCKET, user_data=settings_))


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def pem(label: str, body: str = "MIIB") -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"


SLICED = {"nvidia": {"time-slicing": {"replicas": 4}}}
LABELLED = frozenset({"USER_DATA_LABELS"})
LISTED = {"nvidia": {"device-list-strategy": "volume-mounts"}}

MIRROR = {"registry": "docker.io", "endpoint": ["https://mirror.example.com"]}
PROVIDER = {"enabled": True, "image-patterns": ["*.dkr.ecr.*.amazonaws.com"]}
WRONG_COMMANDS: list[list[Any]] = [
    [["touch", "/tmp/a"]],
    [["apiclient", "get"], ["/usr/bin/apiclient", "get"]],
    [[]],
    ["apiclient set motd=a"],
    [["apiclient", "set", 5]],
]
# The setting at fault, wrong settings and right ones.
BOTTLEROCKET_VALUES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("ntp.time-servers", {"ntp": {"time-servers": "time.aws.com"}}, {"ntp": {"time-servers": ["time.aws.com"]}}),
    (
        "container-registry.mirrors",
        {"container-registry": {"mirrors": {"docker.io": "https://a.example"}}},
        {"container-registry": {"mirrors": {"docker.io": ["https://a.example"]}}},
    ),
    (
        "container-registry.mirrors[0]",
        {"container-registry": {"mirrors": [{"registry": "docker.io"}]}},
        {"container-registry": {"mirrors": [MIRROR]}},
    ),
    (
        "container-registry.credentials[0].auth",
        {"container-registry": {"credentials": [{"registry": "a", "auth": "user:password"}]}},
        {"container-registry": {"credentials": [{"registry": "a", "auth": "dXNlcjpwYXNzd29yZA=="}]}},
    ),
    (
        "kubernetes.credential-providers.ecr-credential-provider",
        {"kubernetes": {"credential-providers": {"ecr-credential-provider": {"enabled": True}}}},
        {"kubernetes": {"credential-providers": {"ecr-credential-provider": PROVIDER}}},
    ),
    ("network.hostname", {"network": {"hostname": "my host"}}, {"network": {"hostname": "node-1.example.com"}}),
    ("autoscaling.should-wait", {"autoscaling": {"should-wait": "true"}}, {"autoscaling": {"should-wait": True}}),
    # what only the kubelet checks
    *(
        (f"kubernetes.{name}", {"kubernetes": {name: bad}}, {"kubernetes": {name: good}})
        for name, bad, good in (
            ("registry-qps", -1, 0),
            ("registry-burst", -5, 10),
            ("event-qps", -1, 0),
            ("event-burst", -1, 100),
            ("kube-api-qps", -50, 50),
            ("kube-api-burst", -1, 0),
            ("container-log-max-files", 1, 2),
            ("container-log-max-files", 0, 5),
            ("container-log-max-workers", 0, 1),
            ("max-parallel-image-pulls", -1, 4),
        )
    ),
    # certificates
    *(
        ("pki.corporate.data", {"pki": {"corporate": {"data": bad}}}, {"pki": {"corporate": {"data": good}}})
        for bad, good in (
            (encoded("hello"), encoded(pem("CERTIFICATE"))),
            (pem("CERTIFICATE"), encoded("A comment\n" + 2 * pem("CERTIFICATE"))),
            (encoded(pem("CERTIFICATE") + pem("PRIVATE KEY")), ""),
            (encoded(pem("CERTIFICATE", "not base64")), encoded(pem("TRUSTED CERTIFICATE"))),
            (encoded(pem("CERTIFICATE", "aGVsbG8=")), encoded(pem("CERTIFICATE", "MIIB\nMIIB"))),
            (encoded(pem("CERTIFICATE")) + "\n", encoded(pem("CERTIFICATE"))),
        )
    ),
    (
        "bootstrap-containers.disks.user-data",
        {"bootstrap-containers": {"disks": {"user-data": "aGVs\nbG8="}}},
        {"bootstrap-containers": {"disks": {"user-data": "aGVsbG8="}}},
    ),
    # contents of lists
    *(
        (
            "bootstrap-commands.log.commands",
            {"bootstrap-commands": {"log": {"commands": commands, "mode": "always"}}},
            {"bootstrap-commands": {"log": {"commands": [["apiclient", "set", "motd=a"]], "mode": "always"}}},
        )
        for commands in WRONG_COMMANDS
    ),
    *(
        ("network.hosts", {"network": {"hosts": hosts}}, {"network": {"hosts": [["10.0.0.10", ["a.internal", "b"]]]}})
        for hosts in (
            [["registry.internal", ["10.0.0.10"]]],
            [["10.0.0.0/24", ["a"]]],
            [["10.0.0.10", "a"]],
            [["10.0.0.10", ["not_a_host"]]],
            [["10.0.0.10"]],
        )
    ),
    # addresses
    *(
        ("network.https-proxy", {"network": {"https-proxy": bad}}, {"network": {"https-proxy": good}})
        for bad, good in (
            ("https://proxy one.example.com:3128", "https://proxy.example.com:3128"),
            ("proxy one:3128", "proxy:3128"),
            ("https:// proxy.example.com", " https://proxy.example.com/a b "),
            ("user@", "http://user:pass@10.0.0.1:3128"),
            ("", "proxy.example.com"),
        )
    ),
    (
        "container-registry.mirrors[0].endpoint",
        {"container-registry": {"mirrors": [{"registry": "docker.io", "endpoint": ["https://a b.example"]}]}},
        {"container-registry": {"mirrors": [{"registry": "*", "endpoint": ["unix:///run/a.sock", "a.example"]}]}},
    ),
    (
        "container-registry.mirrors",
        {"container-registry": {"mirrors": {"docker.io": ["https://a b.example"]}}},
        {"container-registry": {"mirrors": {"docker.io": ["https://a.example/b"]}}},
    ),
    (
        "ntp.time-servers",
        {"ntp": {"time-servers": ["not a url"]}},
        {"ntp": {"time-servers": [{"address": "time.aws.com", "directive": "pool"}]}},
    ),
    (
        "updates.metadata-base-url",
        {"updates": {"metadata-base-url": "https://my updates/"}},
        {"updates": {"metadata-base-url": "https://updates.example/a/"}},
    ),
    (
        "host-containers.admin.source",
        {"host-containers": {"admin": {"source": "registry.example/my tool:v1"}}},
        {"host-containers": {"admin": {"source": "registry.example:5000/tool@sha256:abc1", "command": ["sh"]}}},
    ),
    (
        "bootstrap-containers.disks.source",
        {"bootstrap-containers": {"disks": {"source": ""}}},
        {"bootstrap-containers": {"disks": {"source": "public.ecr.aws/example/disks:v1"}}},
    ),
    # names
    *(
        ("kernel.sysctl", {"kernel": {"sysctl": {bad: "1"}}}, {"kernel": {"sysctl": {good: "1"}}})
        for bad, good in (
            ("vm max_map_count", "vm.max_map_count"),
            ("/proc/sys/vm/swappiness", "net/ipv4/conf/eth0.1/forwarding"),
            ("net..core", "net.core.somaxconn"),
            (".vm.swappiness", "fs/aio-nr"),
            ("vm.swappiness=1", "kernel.core_pattern"),
        )
    ),
    *(
        (f"kernel.hugepages.static{place}", {"kernel": {"hugepages": {"static": bad}}}, {"kernel": {"hugepages": good}})
        for place, bad, good in (
            ("[2Mi].count", {"2Mi": {"count": "lots"}}, {"static": {"2Mi": {"count": "512"}}}),
            ("[1Gi].count", {"1Gi": {"count": "0:4,1"}}, {"static": {"essential": True, "1Gi": {"count": "0:4,1:4"}}}),
            ("", {"2MB": {"count": "512"}}, {"transparent": {"enabled": "always"}}),
        )
    ),
    ("kernel.modules", {"kernel": {"modules": {"a b": {"allowed": False}}}}, {"kernel": {"modules": {"udf": {}}}}),
    (
        "host-containers",
        {"host-containers": {"my_tool": {"enabled": True}}},
        {"host-containers": {"my-tool": {"enabled": True}}},
    ),
    (
        "kubernetes.static-pods",
        {"kubernetes": {"static-pods": {"a.b": {"enabled": True}}}},
        {"kubernetes": {"static-pods": {"a-b": {"enabled": True}}}},
    ),
    (
        "kubernetes.static-pods",
        {"kubernetes": {"static-pods": {"a" * 77: {"enabled": True}}}},
        {"kubernetes": {"static-pods": {"a" * 76: {"enabled": True}}}},
    ),
    (
        "boot.kernel-parameters",
        {"boot": {"kernel-parameters": {"a b": ["c"]}}},
        {"boot": {"kernel-parameters": {"systemd.log_level": ["debug"]}}},
    ),
    *(
        (f"kernel.hugepages.{place}", {"kernel": {"hugepages": bad}}, {"kernel": {"hugepages": good}})
        for place, bad, good in (
            ("transparent.enabled", {"transparent": {"enabled": True}}, {"transparent": {"enabled": "always"}}),
            (
                "transparent.defrag",
                {"transparent": {"defrag": "sometimes"}},
                {"transparent": {"defrag": "defer+madvise"}},
            ),
            ("static[2Mi].count", {"static": {"2Mi": {"count": 512}}}, {"static": {"2Mi": {"count": "0:128,1:128"}}}),
            ("static.essential", {"static": {"essential": "yes"}}, {"static": {"essential": True}}),
        )
    ),
    ("kubernetes.node-ip", {"kubernetes": {"node-ip": "node"}}, {"kubernetes": {"node-ip": "10.0.0.10"}}),
    # limits
    *(
        (
            "oci-defaults.resource-limits.max-open-files",
            {"oci-defaults": {"resource-limits": {"max-open-files": bad}}},
            {"oci-defaults": {"resource-limits": {"max-open-files": good}}},
        )
        for bad, good in (
            ({"soft-limit": 65536, "hard-limit": 1024}, {"soft-limit": 1024, "hard-limit": 65536}),
            ({"soft-limit": "unlimited", "hard-limit": 1024}, {"soft-limit": 1024, "hard-limit": "unlimited"}),
            ({"soft-limit": -1, "hard-limit": 1024}, {"soft-limit": 1024, "hard-limit": -1}),
            ({"soft-limit": 1024}, {"soft-limit": 1024, "hard-limit": 1024}),
            ({"hard-limit": 1024}, {"soft-limit": "unlimited", "hard-limit": "unlimited"}),
        )
    ),
]

CASES = [
    # --- names
    Case("USER_DATA_FIELD", f"{GPU}.kublet", al2023(kublet={"flags": []}), al2023(kubelet={"flags": []})),
    Case(
        "USER_DATA_FIELD",
        f"{POOL}.settings",
        pools(gpu_pool(instance_families=["g6"], user_data={"settings": {"motd": "hello"}})),
        pools(gpu_pool(instance_families=["g6"], ami=BOTTLEROCKET, user_data={"motd": "hello"})),
    ),
    # a whole NodeConfig instead of its spec
    Case("USER_DATA_FIELD", f"{GPU}.spec", al2023(spec={"containerd": {}}), al2023(containerd={})),
    Case("USER_DATA_FIELD", f"{GPU}.kubelet.flag", al2023(kubelet={"flag": []}), al2023(kubelet={"flags": []})),
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.instance.localStorage.mountpath",
        local_storage(mountpath="/data"),
        local_storage(mountPath="/data"),
    ),
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.featureGates.FastImagePulls",
        al2023(featureGates={"FastImagePulls": True}),
        al2023(featureGates={"FastImagePull": True, "InstanceIdNodeName": False}),
    ),
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.kubelet.config.podPidLimit",
        kubelet_config(podPidLimit=1024),
        kubelet_config(podPidsLimit=1024),
    ),
    # the spelling of Bottlerocket, or of the strategy
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.kubelet.config.registry-pull-qps",
        kubelet_config(**{"registry-pull-qps": 10}),
        kubelet_config(registryPullQPS=10),
    ),
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.kubelet.config.memorySwap.swapBehaviour",
        kubelet_config(memorySwap={"swapBehaviour": "LimitedSwap"}),
        kubelet_config(memorySwap={"swapBehavior": "LimitedSwap"}),
    ),
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.kubernetes.pod_pids_limit",
        bottlerocket({"kubernetes": {"pod_pids_limit": 1024}}),
        bottlerocket_kubernetes(pod_pids_limit=1024),
    ),
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.host-containers.admin.superpower",
        bottlerocket({"host-containers": {"admin": {"enabled": True, "superpower": True}}}),
        bottlerocket({"host-containers": {"admin": {"enabled": True, "superpowered": True}}}),
    ),
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.apiVersion",
        al2023(apiVersion="node.eks.aws/v1alpha1", kind="NodeConfig", spec={"featureGates": {}}),
        al2023(featureGates={}),
    ),
    Case("USER_DATA_FIELD", f"{GPU}.settings", bottlerocket({"settings": {"motd": "a"}}), bottlerocket({"motd": "a"})),
    # a section of the other image
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.kubelet-device-plugins",
        bottlerocket({"kubelet-device-plugins": LISTED}),
        bottlerocket({"kubelet-device-plugins": LISTED}, "g6.xlarge"),
    ),
    Case(
        "USER_DATA_UNKNOWN",
        f"{GPU}.kubelet.config.swiftness",
        kubelet_config(swiftness=3),
        kubelet_config(syncFrequency="1m"),
    ),
    Case(
        "USER_DATA_UNKNOWN",
        f"{GPU}.kubernetes.swiftness",
        bottlerocket_kubernetes(swiftness=3),
        bottlerocket_kubernetes(registry_qps=3),
    ),
    Case(
        "USER_DATA_UNKNOWN",
        f"{POOL}.teleport",
        bottlerocket_pool({"teleport": {}}),
        bottlerocket_pool({"dns": {"search-list": ["a"]}}),
    ),
    # --- values
    Case(
        "USER_DATA_VALUE",
        f"{GPU}.containerd.config",
        al2023(containerd={"config": {"version": 3}}),
        al2023(containerd={"config": "version = 3"}),
    ),
    Case(
        "USER_DATA_VALUE",
        f"{GPU}.kubelet.flags",
        al2023(kubelet={"flags": "--v=4"}),
        al2023(kubelet={"flags": ["--v=4"]}),
    ),
    Case("USER_DATA_VALUE", f"{GPU}.kubelet", al2023(kubelet=["--v=4"]), al2023(kubelet=None)),
    Case(
        "USER_DATA_VALUE",
        f"{GPU}.featureGates.FastImagePull",
        al2023(featureGates={"FastImagePull": "true"}),
        al2023(featureGates={"FastImagePull": True}),
    ),
    Case(
        "USER_DATA_VALUE",
        f"{GPU}.instance.localStorage.strategy",
        local_storage(strategy="RAID5"),
        local_storage(strategy="RAID10"),
        frozenset({"USER_DATA_OVERRIDES"}),
    ),
    Case(
        "USER_DATA_VALUE",
        f"{GPU}.instance.environment.default.LEVEL",
        al2023(instance={"environment": {"default": {"LEVEL": 1}}}),
        al2023(instance={"environment": {"default": {"LEVEL": "1"}, "kubelet": {}}}),
    ),
    Case(
        "USER_DATA_VALUE",
        f"{GPU}.instance.environment.default",
        al2023(instance={"environment": {"default": ["LEVEL=1"]}}),
        al2023(instance={"environment": {"default": {"LEVEL": "1"}}}),
    ),
    Case(
        "USER_DATA_VALUE",
        f"{GPU}.instance.localStorage.disabledMounts",
        local_storage(disabledMounts=["Containerd", "Kubelet"]),
        local_storage(disabledMounts=["Containerd"]),
    ),
    Case(
        "USER_DATA_SIZE",
        GPU,
        al2023(containerd={"config": "#" * 16384}),
        al2023(containerd={"config": "#" * 15000}),
    ),
    *(
        Case("USER_DATA_VALUE", f"{GPU}.{keys}", bottlerocket(bad), bottlerocket(good))
        for keys, bad, good in BOTTLEROCKET_VALUES
    ),
    *(
        Case("USER_DATA_VALUE", f"{GPU}.kubernetes.{place}", bottlerocket(bad), bottlerocket(good), LABELLED)
        for place, bad, good in (
            (
                "node-labels",
                {"kubernetes": {"node-labels": {"my team": "a"}}},
                {"kubernetes": {"node-labels": {"example.com/my-team": ""}}},
            ),
            (
                "node-labels.team",
                {"kubernetes": {"node-labels": {"team": "a b"}}},
                {"kubernetes": {"node-labels": {"team": "a_b"}}},
            ),
            (
                "node-labels.team",
                {"kubernetes": {"node-labels": {"team": "a" * 64}}},
                {"kubernetes": {"node-labels": {"team": "a" * 63}}},
            ),
            (
                "node-taints",
                {"kubernetes": {"node-taints": {"my gpu": ["true:NoSchedule"]}}},
                {"kubernetes": {"node-taints": {"nvidia.com/gpu": ["true:NoSchedule"]}}},
            ),
        )
    ),
    *(
        Case(
            "USER_DATA_VALUE",
            f"{GPU}.kubernetes.cpu-manager-policy",
            bottlerocket_kubernetes(cpu_manager_policy=bad),
            bottlerocket_kubernetes(cpu_manager_policy=bad.lower()),
            frozenset({"USER_DATA_OVERRIDES"}),
        )
        for bad in ("Static", "None")
    ),
    Case(
        "USER_DATA_FIELD",
        f"{GPU}.kernel.driver",
        bottlerocket({"kernel": {"driver": {"nvidia": {"branch": "lts"}}}}),
        bottlerocket({"kernel": {"drivers": {"nvidia": {"branch": "lts"}}}}),
    ),
    Case("USER_DATA_SIZE", GPU, bottlerocket({"motd": "é" * 8192}), bottlerocket({"motd": "e" * 8192})),
    # --- the cluster
    Case("USER_DATA_CLUSTER", f"{GPU}.cluster", al2023(cluster={"name": "demo"}), al2023(instance={})),
    Case(
        "USER_DATA_CLUSTER",
        f"{GPU}.kubernetes.api-server",
        bottlerocket_kubernetes(api_server="https://example.com"),
        bottlerocket_kubernetes(cluster_dns_ip="172.20.0.10"),
    ),
    Case(
        "USER_DATA_CLUSTER",
        f"{POOL}.kubernetes.cluster-name",
        bottlerocket_pool({"kubernetes": {"cluster-name": "demo"}}),
        bottlerocket_pool({"kubernetes": {"cluster-domain": "cluster.local"}}),
    ),
    # --- settings with a field
    Case(
        "USER_DATA_OVERRIDES",
        f"{GPU}.kubelet.config.maxPods",
        kubelet_config(maxPods=58),
        kubelet_config(podPidsLimit=58),
    ),
    *(
        Case("USER_DATA_OVERRIDES", f"{GPU}.kubelet.flags[0]", flags(flag), flags("--node-ip=10.0.0.5"))
        for flag in ("--hostname-override=foo", "--kubeconfig=/x", "--config=/etc/x.json")
    ),
    *(
        Case(
            "USER_DATA_VALUE",
            f"{GPU}.kubernetes.cloud-provider",
            bottlerocket({"kubernetes": {"cloud-provider": "gcp"}}),
            bottlerocket({"kubernetes": {"cloud-provider": good}}),
        )
        for good in ("", "aws", "external")
    ),
    Case("USER_DATA_OVERRIDES", f"{GPU}.kubelet.flags[1]", flags("--v=4", "--max-pods=58"), flags("--v=4")),
    Case(
        "USER_DATA_OVERRIDES",
        f"{GPU}.instance.localStorage.strategy",
        local_storage(strategy="RAID0"),
        local_storage(strategy="RAID10"),
    ),
    Case(
        "USER_DATA_OVERRIDES",
        f"{GPU}.kubernetes.max-pods",
        bottlerocket_kubernetes(max_pods=58),
        bottlerocket_kubernetes(pod_pids_limit=58),
    ),
    Case(
        "USER_DATA_OVERRIDES",
        f"{POOL}.kubelet.config.systemReserved",
        pools(pool(user_data={"kubelet": {"config": {"systemReserved": {"memory": "1Gi"}}}})),
        pools(pool(kubelet={"system_reserved": {"memory": "1Gi"}})),
    ),
    Case(
        "USER_DATA_OVERRIDES",
        f"{GPU}.kubelet-device-plugins.nvidia.time-slicing",
        bottlerocket({"kubelet-device-plugins": SLICED}, "g6.xlarge"),
        bottlerocket({"kubelet-device-plugins": LISTED}, "g6.xlarge"),
    ),
    # --- labels and taints
    Case("USER_DATA_LABELS", f"{GPU}.kubelet.flags[0]", flags("--node-labels=team=a"), flags("--node-ip=10.0.0.4")),
    Case("USER_DATA_LABELS", f"{GPU}.kubelet.flags[0]", flags("--register-with-taints=a=b:NoSchedule"), flags("--v=4")),
    Case(
        "USER_DATA_LABELS",
        f"{GPU}.kubelet.config.registerWithTaints",
        kubelet_config(registerWithTaints=[{"key": "a", "effect": "NoSchedule"}]),
        kubelet_config(registerWithTaints=[]),
    ),
    Case(
        "USER_DATA_LABELS",
        f"{POOL}.kubernetes.node-taints",
        bottlerocket_pool({"kubernetes": {"node-taints": {"a": ["b:NoSchedule"]}}}),
        bottlerocket_pool({"kubernetes": {"node-taints": {}}}),
    ),
    Case(
        "USER_DATA_LABELS",
        f"{GPU}.kubernetes.node-labels",
        bottlerocket_kubernetes(node_labels={"team": "a"}),
        bottlerocket_kubernetes(log_level=2),
    ),
    # --- Karpenter
    Case(
        "USER_DATA_DROPPED",
        f"{POOL}.kubernetes.reserved-cpus",
        bottlerocket_pool({"kubernetes": {"reserved-cpus": "0-1"}}),
        bottlerocket_kubernetes(reserved_cpus="0-1"),
    ),
    Case(
        "USER_DATA_DROPPED",
        f"{POOL}.kubernetes.max-parallel-image-pulls",
        bottlerocket_pool({"kubernetes": {"max-parallel-image-pulls": 4}}),
        bottlerocket_pool({"kubernetes": {"registry-qps": 20}, "kernel": {"sysctl": {"vm.max_map_count": "262144"}}}),
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("user_data", "user_data_overrides")


def test_which_rules_warn() -> None:
    assert warnings_of("user_data", "user_data_overrides") == {
        "USER_DATA_DROPPED",
        "USER_DATA_LABELS",
        "USER_DATA_OVERRIDES",
        "USER_DATA_UNKNOWN",
    }


@in_one_test(
    ("user_data", "words"),
    [
        ({"kublet": {}}, "did you mean kubelet?"),
        ({"spec": {}}, "write only the contents of spec"),
        ({"mode": {}}, "its fields are cluster, containerd, featureGates, instance, kubelet"),
        ({"kubelet": {"config": {"podPidLimit": 1}}}, "did you mean podPidsLimit?"),
        ({"instance": {"localStorage": {"paths": "/a"}}}, "instance.localStorage of a NodeConfig"),
    ],
)
def test_the_message_says_what_was_meant(user_data: dict[str, Any], words: str) -> None:
    (finding,) = check(Strategy.model_validate(document(group(user_data=user_data))), today=TODAY)
    assert words in finding.message


KUBELET = {
    "max_pods": 110,
    "cpu_manager_policy": "static",
    "topology_manager_policy": "single-numa-node",
    "image_gc_high_threshold_percent": 85,
    "image_gc_low_threshold_percent": 80,
    "system_reserved": {"memory": "1Gi"},
    "kube_reserved": {"memory": "1Gi"},
}


@pytest.mark.parametrize("family", ["al2023", "bottlerocket"])
def test_what_is_derived_passes_as_user_data(family: str) -> None:
    """The names that resolve writes are recorded, and each has its own field."""
    template = Strategy.model_validate(document(group(kubelet=KUBELET))).node_groups[1]
    derived = (
        node_config_spec(kubelet_settings(template.kubelet, 110), instance_store="mount")
        if family == "al2023"
        else bottlerocket_settings(kubelet_settings(template.kubelet, 110), instance_store="raid0", neuron=True)
    )
    found = shown_codes({"node_groups": [SYSTEM, group(ami={"family": family}, user_data=derived)]})
    assert {code for code, _ in found} == {"USER_DATA_OVERRIDES"}
    assert len(found) == len(KUBELET) + (1 if family == "al2023" else 0)


def test_settings_that_karpenter_keeps_are_settings() -> None:
    known: Any = facts.bottlerocket_settings()["settings"]["fields"]["kubernetes"]
    assert set(facts.bottlerocket_settings()["karpenter"]["kubernetes"]) <= set(known)
    assert set(facts.bottlerocket_settings()["settings"]["nvidia_only"]) <= set(
        facts.bottlerocket_settings()["settings"]["fields"]
    )
