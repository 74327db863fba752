"""Rules about the kubelet and containerd of a node: each with a strategy that breaks it and a similar valid one."""

from __future__ import annotations

from typing import Any

from eks_hardware import facts
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, rules_of, shown_codes, warnings_of
from helpers.sections import cluster
from helpers.strategies import SYSTEM, group

GPU = "node_groups[gpu].user_data"
CONFIG = f"{GPU}.kubelet.config"
FLAG = f"{GPU}.kubelet.flags[0]"
SETTINGS = f"{GPU}.kubernetes"
CONTAINERD = f"{GPU}.containerd.config"
ENDING = frozenset({"KUBERNETES_VERSION_ENDING"})
OVERRIDES = frozenset({"USER_DATA_OVERRIDES"})


def web_nodes(version: str = "1.35", types: str = "m6i.xlarge", **fields: Any) -> dict[str, Any]:
    return {**cluster(kubernetes_version=version), "node_groups": [SYSTEM, group(types, **fields)]}


def kubelet_config_of(version: str = "1.35", **settings: Any) -> dict[str, Any]:
    return web_nodes(version, user_data={"kubelet": {"config": settings}})


def with_gates(version: str = "1.35", **given: Any) -> dict[str, Any]:
    return kubelet_config_of(version, featureGates=given)


def with_flags(*given: str, version: str = "1.35") -> dict[str, Any]:
    return web_nodes(version, user_data={"kubelet": {"flags": list(given)}})


def with_containerd(text: str) -> dict[str, Any]:
    return web_nodes(user_data={"containerd": {"config": text}})


def with_specification(given: dict[str, Any]) -> dict[str, Any]:
    return web_nodes(user_data={"containerd": {"baseRuntimeSpec": given}})


def rlimits(**limit: Any) -> dict[str, Any]:
    return {"process": {"rlimits": [{"type": "RLIMIT_NOFILE", **limit}]}}


def with_bottlerocket(**settings: Any) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in settings.items()}
    return web_nodes(ami={"family": "bottlerocket"}, user_data={"kubernetes": named})


def with_static(**settings: Any) -> dict[str, Any]:
    return web_nodes(kubelet={"cpu_manager_policy": "static"}, user_data={"kubelet": {"config": settings}})


def static_on_bottlerocket(reserved: str) -> dict[str, Any]:
    settings = {"cpu-manager-policy": "static", "kube-reserved": {"cpu": reserved}}
    return web_nodes(ami={"family": "bottlerocket"}, user_data={"kubernetes": settings})


def setting_case(name: str, bad: dict[str, Any], good: dict[str, Any], also: frozenset[str] = frozenset()) -> Case:
    return Case("KUBELET_SETTING", f"{CONFIG}.{name}", bad, good, also)


NO_CGROUPS = {"systemReservedCgroup": "", "kubeReservedCgroup": ""}
CRI = '[plugins."io.containerd.cri.v1.images"]\n'
RUNC = '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]\n'

# The setting at fault in the base specification, wrong settings and right ones.
SPECIFICATIONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("process.rlimits[0]", rlimits(soft=65536, hard=1024), rlimits(soft=1024, hard=65536)),
    ("process.rlimits[0]", rlimits(soft=1024), rlimits(soft=1024, hard=1024)),
    ("process.rlimits[0].hard", rlimits(soft=0, hard="unlimited"), rlimits(soft=0, hard=2**64 - 1)),
    ("process.rlimits[0].soft", rlimits(soft=-1, hard=1024), rlimits(soft=0, hard=0)),
    (
        "process.rlimits[0].type",
        rlimits(type="nofile", soft=1, hard=1),
        rlimits(type="RLIMIT_MEMLOCK", soft=1, hard=1),
    ),
    ("process.rlimits", {"process": {"rlimits": {"RLIMIT_NOFILE": 1024}}}, {"process": {"rlimits": []}}),
    ("process.user", {"process": {"user": "root"}}, {"process": {"user": {"uid": 0, "gid": 0}}}),
    ("process.env", {"process": {"env": {"A": "b"}}}, {"process": {"env": ["A=b"]}}),
    ("process.oomScoreAdj", {"process": {"oomScoreAdj": "0"}}, {"process": {"oomScoreAdj": -500}}),
    ("hostname", {"hostname": 5}, {"hostname": "a", "unknown": 5}),
    ("linux.sysctl[net.core.somaxconn]", {"linux": {"sysctl": {"net.core.somaxconn": 5}}}, {"linux": {"sysctl": {}}}),
    ("linux.maskedPaths", {"linux": {"maskedPaths": "/proc/kcore"}}, {"linux": {"maskedPaths": ["/proc/kcore"]}}),
    ("mounts[0]", {"mounts": [{"source": "/a"}]}, {"mounts": [{"destination": "/a", "options": ["bind"]}]}),
    (
        "linux.namespaces[0].type",
        {"linux": {"namespaces": [{"type": "net"}]}},
        {"linux": {"namespaces": [{"type": "network"}]}},
    ),
]
RESERVED = [{"numaNode": 0, "limits": {"memory": "1Gi"}}]
RESERVED_BY_DEFAULT = [{"numaNode": 0, "limits": {"memory": "993Mi"}}]
TWICE = [*RESERVED, *RESERVED]
FAR = [{"numaNode": 8, "limits": {"memory": "1Gi"}}]
# The setting at fault, wrong settings and right ones.
AT_START: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("allowedUnsafeSysctls", {"allowedUnsafeSysctls": ["vm.max_map_count"]}, {"allowedUnsafeSysctls": ["net.core.*"]}),
    ("allowedUnsafeSysctls", {"allowedUnsafeSysctls": ["kernel.*"]}, {"allowedUnsafeSysctls": ["kernel.msg*"]}),
    (
        "allowedUnsafeSysctls",
        {"allowedUnsafeSysctls": ["net.core.somaxconn=1024"]},
        {"allowedUnsafeSysctls": ["net/core/somaxconn", "kernel.sem", "fs.mqueue.msg_max"]},
    ),
    (
        "shutdownGracePeriodCriticalPods",
        {"shutdownGracePeriodCriticalPods": "500ms"},
        {"shutdownGracePeriodCriticalPods": "0s"},
    ),
    ("enforceNodeAllocatable", {"enforceNodeAllocatable": ["pods", "pods"]}, {"enforceNodeAllocatable": ["pods"]}),
    (
        "enforceNodeAllocatable",
        {"enforceNodeAllocatable": ["kube-reserved", "kube-reserved-compressible"]},
        {"enforceNodeAllocatable": ["pods", "kube-reserved"]},
    ),
    (
        "kubeReservedCgroup",
        {"enforceNodeAllocatable": ["kube-reserved"], "kubeReservedCgroup": ""},
        {"enforceNodeAllocatable": ["pods"], "kubeReservedCgroup": ""},
    ),
    (
        "serverTLSBootstrap",
        {"serverTLSBootstrap": True, "featureGates": {"RotateKubeletServerCertificate": False}},
        {"serverTLSBootstrap": True},
    ),
    (
        "enableSystemLogQuery",
        {"enableSystemLogQuery": True, "enableSystemLogHandler": False, "featureGates": {"NodeLogQuery": True}},
        {"enableSystemLogQuery": True, "featureGates": {"NodeLogQuery": True}},
    ),
    (
        "preloadedImagesVerificationAllowlist",
        {"preloadedImagesVerificationAllowlist": ["a/b"]},
        {
            "preloadedImagesVerificationAllowlist": ["a/b"],
            "imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
        },
    ),
    (
        "featureGates.KubeletCrashLoopBackOffMax",
        {"featureGates": {"KubeletCrashLoopBackOffMax": True}},
        {
            "featureGates": {"KubeletCrashLoopBackOffMax": True},
            "crashLoopBackOff": {"maxContainerRestartPeriod": "60s"},
        },
    ),
    ("imageMinimumGCAge", {"imageMinimumGCAge": "-2m"}, {"imageMinimumGCAge": "2m"}),
    ("podLogsDir", {"podLogsDir": "var/log/pods"}, {"podLogsDir": "/var/log/pods"}),
    ("reservedMemory", {"memoryManagerPolicy": "Static", "reservedMemory": TWICE}, {"reservedMemory": RESERVED}),
    ("reservedMemory", {"memoryManagerPolicy": "Static", "reservedMemory": FAR}, {"reservedMemory": RESERVED}),
    ("tlsCipherSuites", {"tlsCipherSuites": ["TLS_RSA_FOO"]}, {"tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"]}),
    ("userNamespaces.idsPerPod", {"userNamespaces": {"idsPerPod": 1000}}, {"userNamespaces": {"idsPerPod": 131072}}),
    (
        "topologyManagerPolicyOptions.max-allowable-numa-nodes",
        {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "4"}},
        {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "16"}},
    ),
    (
        "topologyManagerPolicyOptions.prefer-closest-numa-nodes",
        {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "yes"}},
        {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"}},
    ),
]

CASES = [
    # --- feature gates
    Case(
        "KUBELET_FEATURE_GATE",
        f"{CONFIG}.featureGates.MemoryQos",
        with_gates(MemoryQos=True),
        with_gates(MemoryQoS=True),
    ),
    Case(
        "KUBELET_FEATURE_GATE", f"{CONFIG}.featureGates.Nothing", with_gates(Nothing=True), with_gates(AllAlpha=False)
    ),
    Case(
        "KUBELET_FEATURE_GATE",
        f"{CONFIG}.featureGates.KubeletCrashLoopBackOffMax",
        with_gates("1.31", KubeletCrashLoopBackOffMax=False),
        with_gates("1.35", KubeletCrashLoopBackOffMax=False),
        ENDING,
    ),
    Case(
        "KUBELET_FEATURE_GATE",
        f"{CONFIG}.featureGates.APIListChunking",
        with_gates("1.35", APIListChunking=True),
        with_gates("1.32", APIListChunking=True),
    ),
    Case(
        "KUBELET_FEATURE_GATE",
        f"{CONFIG}.featureGates.APIListChunking",
        with_gates("1.32", APIListChunking=False),
        with_gates("1.32", APIListChunking=True),
        ENDING,
    ),
    # The constant in Go has another name than the gate.
    Case(
        "KUBELET_FEATURE_GATE",
        f"{CONFIG}.featureGates.CPUCFSQuotaPeriod",
        with_gates("1.35", CPUCFSQuotaPeriod=True),
        with_gates("1.35", CustomCPUCFSQuotaPeriod=True),
    ),
    Case(
        "KUBELET_FEATURE_GATE",
        FLAG,
        with_flags("--feature-gates=Nothing=true"),
        with_flags("--feature-gates=MemoryQoS=true"),
    ),
    # --- flags
    Case(
        "KUBELET_FLAG",
        FLAG,
        with_flags("--container-runtime=remote"),
        with_flags("--container-runtime-endpoint=unix:///run/a"),
    ),
    Case("KUBELET_FLAG", FLAG, with_flags("--keep-terminated-pod-volumes"), with_flags("--v=4")),
    Case(
        "KUBELET_FLAG",
        FLAG,
        with_flags("--pod-infra-container-image=pause"),
        with_flags("--pod-infra-container-image=pause", version="1.34"),
    ),
    Case(
        "KUBELET_FLAG",
        FLAG,
        with_flags("--register-schedulable=false", version="1.36"),
        with_flags("--register-node=true"),
    ),
    Case("KUBELET_FLAG", FLAG, with_flags("max-open-files=100"), with_flags("--max-open-files", "100")),
    Case("KUBELET_FLAG", FLAG, with_flags("--pods-per-core=ten"), with_flags("--pods-per-core=10")),
    Case("KUBELET_FLAG", FLAG, with_flags("--sync-frequency=60"), with_flags("--sync-frequency=60s")),
    *(
        Case("KUBELET_FLAG", FLAG, with_flags(bad), with_flags(good), frozenset(also))
        for bad, good, *also in (
            ("--cloud-provider=aws", "--cloud-provider=external"),
            ("--v=debug", "--v=4"),
            ("--eviction-hard=memory.available=500Mi", "--eviction-hard=memory.available<500Mi"),
            ("--eviction-hard=memory.free<500Mi", "--eviction-hard=memory.available<10%,nodefs.available<5%"),
            ("--eviction-soft-grace-period=memory.available=soon", "--eviction-soft-grace-period=memory.available=1m"),
            ("--container-log-max-size=10MB", "--container-log-max-size=10Mi"),
            ("--topology-manager-scope=node", "--topology-manager-scope=pod"),
            ("--hairpin-mode=bridge", "--hairpin-mode=none"),
            ("--cluster-dns=dns.example.com", "--cluster-dns=10.100.0.10"),
            ("--read-only-port=70000", "--read-only-port=0"),
            ("--register-with-taints=a=b:NoSchedul", "--v=2", "USER_DATA_LABELS"),
            ("--node-labels=my team", "--node-labels=team", "USER_DATA_LABELS"),
            ("--node-labels==a", "--node-labels=team=a,,spare,", "USER_DATA_LABELS"),
            ("--node-labels=team,a b", "--node-labels=team,example.com/spare", "USER_DATA_LABELS"),
            ("--system-reserved=cpu", "--system-reserved=cpu=500m,,memory=1Gi,", "USER_DATA_OVERRIDES"),
            ("--feature-gates=MemoryQoS", "--feature-gates=MemoryQoS=false,"),
            ("--node-labels=a/b/c=d", "--node-labels=example.com/team=d", "USER_DATA_LABELS"),
            ("--node-labels=team=a/b", "--node-labels=team=a.b,spare=", "USER_DATA_LABELS"),
            ("--register-with-taints=a=b/c:NoSchedule", "--register-with-taints=a=b:NoSchedule", "USER_DATA_LABELS"),
            ("--register-with-taints=a b:NoSchedule", "--register-with-taints=a:NoSchedule", "USER_DATA_LABELS"),
        )
    ),
    Case(
        "KUBELET_FEATURE_GATE",
        FLAG,
        with_flags("--feature-gates=MemoryQoX=true,"),
        with_flags("--feature-gates=MemoryQoS=true,,InPlacePodVerticalScaling=true,"),
    ),
    # --- settings
    *(setting_case(name, kubelet_config_of(**bad), kubelet_config_of(**good)) for name, bad, good in AT_START),
    setting_case(
        "reservedMemory",
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=RESERVED, kubeReserved={"memory": "1Gi"}),
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=RESERVED, kubeReserved={"memory": "924Mi"}),
        OVERRIDES,
    ),
    setting_case(
        "imageGCHighThresholdPercent", kubelet_config_of(imageGCHighThresholdPercent=70), kubelet_config_of(), OVERRIDES
    ),
    setting_case(
        "imageGCHighThresholdPercent",
        kubelet_config_of(imageGCHighThresholdPercent=70, imageGCLowThresholdPercent=75),
        kubelet_config_of(imageGCHighThresholdPercent=75, imageGCLowThresholdPercent=70),
        OVERRIDES,
    ),
    setting_case(
        "imageMaximumGCAge",
        kubelet_config_of(imageMaximumGCAge="1m"),
        kubelet_config_of(imageMaximumGCAge="12h"),
    ),
    setting_case(
        "evictionHard[memory.availible]",
        kubelet_config_of(evictionHard={"memory.availible": "200Mi"}),
        kubelet_config_of(evictionHard={"memory.available": "200Mi"}),
    ),
    setting_case(
        "evictionSoft[memory.available]",
        kubelet_config_of(evictionSoft={"memory.available": "500Mi"}),
        kubelet_config_of(evictionSoft={"memory.available": "5%"}, evictionSoftGracePeriod={"memory.available": "90s"}),
    ),
    setting_case(
        "kubeReserved.gpu",
        kubelet_config_of(kubeReserved={"gpu": "1"}),
        kubelet_config_of(kubeReserved={"cpu": "1"}),
        OVERRIDES,
    ),
    setting_case(
        "kubeReserved.cpu", with_static(kubeReserved={"cpu": "0"}), with_static(kubeReserved={"cpu": "250m"}), OVERRIDES
    ),
    setting_case(
        "reservedSystemCPUs",
        kubelet_config_of(reservedSystemCPUs="0-1"),
        kubelet_config_of(reservedSystemCPUs="0-1", **NO_CGROUPS),
    ),
    setting_case(
        "reservedSystemCPUs",
        kubelet_config_of(reservedSystemCPUs="0-7", **NO_CGROUPS),
        kubelet_config_of(reservedSystemCPUs="0", **NO_CGROUPS),
    ),
    setting_case(
        "reservedSystemCPUs",
        kubelet_config_of(reservedSystemCPUs="0-3", **NO_CGROUPS),
        kubelet_config_of(reservedSystemCPUs="0-2", **NO_CGROUPS),
    ),
    Case(
        "KUBELET_SETTING",
        "node_groups[gpu].user_data.kubernetes.kube-reserved.cpu",
        static_on_bottlerocket("0"),
        static_on_bottlerocket("250m"),
        OVERRIDES,
    ),
    setting_case(
        "cpuManagerPolicyOptions.full-pcpus-only",
        with_static(cpuManagerPolicyOptions={"full-pcpus-only": "on"}),
        with_static(cpuManagerPolicyOptions={"full-pcpus-only": "true"}),
    ),
    setting_case(
        "cpuManagerPolicyOptions.prefer-align-cpus-by-uncorecache",
        with_static(
            cpuManagerPolicyOptions={"prefer-align-cpus-by-uncorecache": "true", "distribute-cpus-across-numa": "true"}
        ),
        with_static(
            cpuManagerPolicyOptions={"prefer-align-cpus-by-uncorecache": "true", "distribute-cpus-across-numa": "false"}
        ),
    ),
    setting_case("reservedSystemCPUs", kubelet_config_of(reservedSystemCPUs="two", **NO_CGROUPS), kubelet_config_of()),
    setting_case(
        "cpuManagerPolicyOptions",
        kubelet_config_of(cpuManagerPolicyOptions={"full-pcpus-only": "true"}),
        with_static(cpuManagerPolicyOptions={"full-pcpus-only": "true"}),
    ),
    setting_case(
        "cpuManagerPolicyOptions",
        with_static(cpuManagerPolicyOptions={"full-cpus-only": "true"}),
        with_static(cpuManagerPolicyOptions={"strict-cpu-reservation": "true"}),
    ),
    setting_case(
        "cpuManagerPolicyOptions",
        with_static(cpuManagerPolicyOptions={"align-by-socket": "true"}),
        with_static(
            cpuManagerPolicyOptions={"align-by-socket": "true"}, featureGates={"CPUManagerPolicyAlphaOptions": True}
        ),
    ),
    setting_case(
        "topologyManagerPolicyOptions.closest",
        kubelet_config_of(topologyManagerPolicyOptions={"closest": "true"}),
        kubelet_config_of(topologyManagerPolicyOptions={"prefer-closest-numa-nodes": "true"}),
    ),
    setting_case(
        "memoryManagerPolicy",
        kubelet_config_of(memoryManagerPolicy="Static"),
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=RESERVED_BY_DEFAULT),
    ),
    setting_case(
        "reservedMemory",
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=[{**RESERVED_BY_DEFAULT[0], "numaNode": 8}]),
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=[{**RESERVED_BY_DEFAULT[0], "numaNode": 7}]),
    ),
    # 58 pods on m6i.xlarge: 255Mi + 58 x 11Mi, and 100Mi for eviction
    setting_case(
        "reservedMemory",
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=RESERVED),
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=RESERVED_BY_DEFAULT),
    ),
    setting_case(
        "reservedMemory",
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=[{"numaNode": 0, "limits": {"memory": "993M"}}]),
        # one of another image, whose defaults are not known
        web_nodes(
            ami={"image_id": "ami-0123456789abcdef0"},
            user_data={
                "kubelet": {"config": {"memoryManagerPolicy": "Static", "reservedMemory": RESERVED}},
            },
        ),
    ),
    setting_case(
        "reservedMemory",
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=RESERVED, maxPods=110),
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=RESERVED_BY_DEFAULT, maxPods=110),
        OVERRIDES,
    ),
    setting_case(
        "reservedMemory",
        kubelet_config_of(memoryManagerPolicy="Static", reservedMemory=FAR),
        web_nodes(
            user_data={
                "kubelet": {
                    "maxPodsExpression": "110",
                    "config": {"memoryManagerPolicy": "Static", "reservedMemory": RESERVED},
                }
            }
        ),
    ),
    setting_case(
        "maxParallelImagePulls",
        kubelet_config_of(serializeImagePulls=True, maxParallelImagePulls=4),
        kubelet_config_of(maxParallelImagePulls=4),
    ),
    setting_case(
        "shutdownGracePeriod",
        kubelet_config_of(shutdownGracePeriod="10s"),
        kubelet_config_of("1.33", shutdownGracePeriod="10s"),
    ),
    setting_case(
        "shutdownGracePeriod",
        kubelet_config_of(shutdownGracePeriod="60s", shutdownGracePeriodCriticalPods="2m"),
        kubelet_config_of(shutdownGracePeriod="2m", shutdownGracePeriodCriticalPods="60s"),
    ),
    setting_case(
        "shutdownGracePeriodByPodPriority",
        kubelet_config_of(shutdownGracePeriodByPodPriority=[{"priority": 0, "shutdownGracePeriodSeconds": 60}]),
        kubelet_config_of(
            shutdownGracePeriodByPodPriority=[{"priority": 0, "shutdownGracePeriodSeconds": 60}],
            shutdownGracePeriod="0s",
            shutdownGracePeriodCriticalPods="0s",
        ),
    ),
    setting_case(
        "enforceNodeAllocatable",
        kubelet_config_of(enforceNodeAllocatable=["pod"]),
        kubelet_config_of(enforceNodeAllocatable=["pods"]),
    ),
    setting_case(
        "cgroupsPerQOS",
        kubelet_config_of(cgroupsPerQOS=False),
        kubelet_config_of(cgroupsPerQOS=False, enforceNodeAllocatable=["none"]),
    ),
    setting_case("cgroupDriver", kubelet_config_of(cgroupDriver="cgroupfs"), kubelet_config_of(cgroupDriver="systemd")),
    setting_case(
        "cpuCFSQuotaPeriod",
        kubelet_config_of(cpuCFSQuotaPeriod="10ms"),
        kubelet_config_of(cpuCFSQuotaPeriod="10ms", featureGates={"CustomCPUCFSQuotaPeriod": True}),
    ),
    setting_case("runOnce", kubelet_config_of(runOnce=True), kubelet_config_of("1.31", runOnce=True)),
    setting_case(
        "memoryThrottlingFactor",
        kubelet_config_of(memoryThrottlingFactor=1.5),
        kubelet_config_of(memoryThrottlingFactor=0.9),
    ),
    setting_case(
        "containerLogMonitorInterval",
        kubelet_config_of(containerLogMonitorInterval="1s"),
        kubelet_config_of(containerLogMonitorInterval="10s"),
    ),
    # Not a duration: USER_DATA_VALUE alone reports it.
    setting_case(
        "containerLogMonitorInterval",
        kubelet_config_of(containerLogMonitorInterval="-5s"),
        kubelet_config_of(containerLogMonitorInterval="soon"),
    ),
    setting_case(
        "systemReserved.memory",
        kubelet_config_of(systemReserved={"memory": "12Gi"}, evictionHard={"memory.available": "6Gi"}),
        kubelet_config_of(systemReserved={"memory": "1Gi"}, evictionHard={"memory.available": "1Gi"}),
        OVERRIDES,
    ),
    setting_case(
        "evictionHard[memory.available]",
        kubelet_config_of(evictionHard={"memory.available": "20Gi"}),
        kubelet_config_of(evictionHard={"memory.available": "2Gi"}),
    ),
    setting_case(
        "tlsCipherSuites",
        kubelet_config_of(tlsCipherSuites=["ECDHE-RSA-AES128-GCM-SHA256"]),
        kubelet_config_of(tlsCipherSuites=["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]),
    ),
    setting_case(
        "registerWithTaints",
        kubelet_config_of(registerWithTaints=[{"key": "a", "effect": "NO_SCHEDULE"}]),
        kubelet_config_of(registerWithTaints=[{"key": "a", "effect": "NoSchedule"}]),
        frozenset({"USER_DATA_LABELS"}),
    ),
    setting_case(
        "maxPods",
        web_nodes(types="t3.micro", user_data={"kubelet": {"config": {"maxPods": 200}}}),
        web_nodes(types="m6i.xlarge", user_data={"kubelet": {"config": {"maxPods": 200}}}),
        OVERRIDES,
    ),
    # Bottlerocket writes the same settings.
    Case(
        "KUBELET_SETTING",
        f"{SETTINGS}.system-reserved.pids",
        with_bottlerocket(system_reserved={"pids": "1000"}),
        web_nodes(ami={"family": "bottlerocket"}, kubelet={"system_reserved": {"pid": "1000"}}),
        OVERRIDES,
    ),
    *(
        Case(
            "KUBELET_SETTING",
            f"{SETTINGS}.{name}[{signal}]",
            with_bottlerocket(**{name.replace("-", "_"): {signal: value}}),
            with_bottlerocket(**{name.replace("-", "_"): {"pid.available": value}}),
        )
        for name, value in (("eviction-hard", "10%"), ("eviction-soft-grace-period", "1m30s"))
        for signal in ("containerfs.available", "allocatableMemory.available", "memory.free")
    ),
    Case(
        "KUBELET_SETTING",
        f"{SETTINGS}.eviction-soft[memory.available]",
        with_bottlerocket(eviction_soft={"memory.available": "500Mi"}),
        with_bottlerocket(
            eviction_soft={"memory.available": "500Mi"}, eviction_soft_grace_period={"memory.available": "1m"}
        ),
    ),
    # --- NUMA nodes
    Case(
        "KUBELET_TOPOLOGY",
        "node_groups[gpu].kubelet.topology_manager_policy",
        web_nodes(types="p5.48xlarge", kubelet={"topology_manager_policy": "single-numa-node"}),
        web_nodes(types="p5.48xlarge", kubelet={"topology_manager_policy": "restricted"}),
    ),
    Case(
        "KUBELET_TOPOLOGY",
        f"{CONFIG}.topologyManagerPolicy",
        web_nodes(
            types="trn1.32xlarge", user_data={"kubelet": {"config": {"topologyManagerPolicy": "single-numa-node"}}}
        ),
        web_nodes(types="g6.xlarge", kubelet={"topology_manager_policy": "single-numa-node"}),
        OVERRIDES,
    ),
    Case(
        "KUBELET_SETTING",
        "node_groups[gpu].user_data.kubernetes.container-log-monitor-interval",
        with_bottlerocket(container_log_monitor_interval="1s"),
        with_bottlerocket(container_log_monitor_interval="3s"),
    ),
    # --- containerd
    *(
        Case(
            "CONTAINERD_CONFIG",
            f"node_groups[gpu].user_data.containerd.baseRuntimeSpec.{place}",
            with_specification(bad),
            with_specification(good),
        )
        for place, bad, good in SPECIFICATIONS
    ),
    Case("CONTAINERD_CONFIG", CONTAINERD, with_containerd("version = 5"), with_containerd("version = 4")),
    Case("CONTAINERD_CONFIG_VERSION", CONTAINERD, with_containerd("version = 4"), with_containerd("version = 3")),
    Case("CONTAINERD_CONFIG", CONTAINERD, with_containerd("version: 3"), with_containerd("version = 3")),
    Case(
        "CONTAINERD_CONFIG",
        CONTAINERD,
        with_containerd(f'{CRI}max_concurrent_downloads = "10"'),
        with_containerd(f"{CRI}max_concurrent_downloads = 10"),
    ),
    Case(
        "CONTAINERD_CONFIG",
        CONTAINERD,
        with_containerd(f"{RUNC}SystemdCgroup = false"),
        with_containerd(f"{RUNC}a = 1"),
    ),
    Case(
        "CONTAINERD_CONFIG",
        CONTAINERD,
        with_containerd('[plugins."io.containerd.grpc.v1.cri".registry.mirrors."docker.io"]\nendpoint = ["https://a"]'),
        with_containerd('[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "/etc/containerd/certs.d"'),
    ),
    Case("CONTAINERD_CONFIG", CONTAINERD, with_containerd('oom_score = "low"'), with_containerd("oom_score = -999")),
    Case(
        "CONTAINERD_CONFIG",
        CONTAINERD,
        with_containerd('disabled_plugins = ["io.containerd.grpc.v1.cri"]'),
        with_containerd('disabled_plugins = ["io.containerd.snapshotter.v1.btrfs"]'),
    ),
    Case(
        "CONTAINERD_CONFIG",
        CONTAINERD,
        with_containerd(
            '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.a]\nruntime_type = "io.containerd.runc.v1"'
        ),
        with_containerd(
            '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.a]\nruntime_type = "io.containerd.runc.v2"'
        ),
    ),
    Case("CONTAINERD_CONFIG", CONTAINERD, with_containerd("[grpc\n"), with_containerd("[grpc]\n")),
]

VALUES = [
    # kubelet
    ("kubelet.config.podPidsLimit", {"kubelet": {"config": {"podPidsLimit": "4096"}}}),
    ("kubelet.config.kind", {"kubelet": {"config": {"kind": "KubeletConfig"}}}),
    ("kubelet.config.apiVersion", {"kubelet": {"config": {"apiVersion": "kubelet.config.k8s.io/v1"}}}),
    ("kubelet.config.failSwapOn", {"kubelet": {"config": {"failSwapOn": "no"}}}),
    ("kubelet.config.imageMinimumGCAge", {"kubelet": {"config": {"imageMinimumGCAge": 120}}}),
    ("kubelet.config.clusterDNS", {"kubelet": {"config": {"clusterDNS": "10.100.0.10"}}}),
    (
        "kubelet.config.evictionHard[memory.available]",
        {"kubelet": {"config": {"evictionHard": {"memory.available": 5}}}},
    ),
    (
        "kubelet.config.evictionHard[nodefs.available]",
        {"kubelet": {"config": {"evictionHard": {"nodefs.available": "110%"}}}},
    ),
    ("kubelet.config.systemReserved.memory", {"kubelet": {"config": {"systemReserved": {"memory": "1 GB"}}}}),
    ("kubelet.config.imageGCHighThresholdPercent", {"kubelet": {"config": {"imageGCHighThresholdPercent": 120}}}),
    ("kubelet.config.topologyManagerPolicy", {"kubelet": {"config": {"topologyManagerPolicy": "numa"}}}),
    ("kubelet.config.featureGates.MemoryQoS", {"kubelet": {"config": {"featureGates": {"MemoryQoS": "true"}}}}),
    ("kubelet.config.authentication.anonymous", {"kubelet": {"config": {"authentication": {"anonymous": True}}}}),
    ("kubelet.config.logging.format", {"kubelet": {"config": {"logging": {"format": "xml"}}}}),
    # NodeConfig
    ("kubelet.flags", {"kubelet": {"flags": {"v": 4}}}),
    ("instance.localStorage.strategy", {"instance": {"localStorage": {"strategy": "raid0"}}}),
]
BOTTLEROCKET_VALUES = [
    ("kubernetes.max-pods", {"kubernetes": {"max-pods": "110"}}),
    ("kubernetes.pod-pids-limit", {"kubernetes": {"pod-pids-limit": "1024"}}),
    ("kubernetes.server-tls-bootstrap", {"kubernetes": {"server-tls-bootstrap": "true"}}),
    ("kubernetes.eviction-hard[memory.available]", {"kubernetes": {"eviction-hard": {"memory.available": 15}}}),
    ("kubernetes.allowed-unsafe-sysctls", {"kubernetes": {"allowed-unsafe-sysctls": "net.core.somaxconn"}}),
    ("kubernetes.container-log-max-files", {"kubernetes": {"container-log-max-files": "5"}}),
    ("kernel.sysctl[vm.max_map_count]", {"kernel": {"sysctl": {"vm.max_map_count": 262144}}}),
    ("kernel.lockdown", {"kernel": {"lockdown": "full"}}),
    ("dns.name-servers", {"dns": {"name-servers": ["10.0.0"]}}),
    ("network.hosts", {"network": {"hosts": ["10.0.0.1"]}}),
    ("host-containers.admin.enabled", {"host-containers": {"admin": {"enabled": "yes"}}}),
    ("container-runtime.max-concurrent-downloads", {"container-runtime": {"max-concurrent-downloads": "10"}}),
    ("motd", {"motd": 5}),
    ("pki.own.data", {"pki": {"own": {"data": "-----BEGIN CERTIFICATE-----", "trusted": True}}}),
    ("boot.kernel-parameters.quiet", {"boot": {"kernel-parameters": {"quiet": "1"}}}),
    ("kubernetes.eviction-hard[nodefs.available]", {"kubernetes": {"eviction-hard": {"nodefs.available": "100%"}}}),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


@in_one_test(("path", "user_data"), VALUES, ids=[path for path, _ in VALUES])
def test_a_value_of_another_kind_is_refused(path: str, user_data: dict[str, Any]) -> None:
    found = shown_codes(web_nodes(user_data=user_data))
    assert [each for each in found if each[0] == "USER_DATA_VALUE"] == [("USER_DATA_VALUE", f"{GPU}.{path}")]


@in_one_test(("path", "user_data"), BOTTLEROCKET_VALUES, ids=[path for path, _ in BOTTLEROCKET_VALUES])
def test_bottlerocket_refuses_a_value_of_another_kind(path: str, user_data: dict[str, Any]) -> None:
    found = shown_codes(web_nodes(ami={"family": "bottlerocket"}, user_data=user_data))
    assert [each for each in found if each[0] == "USER_DATA_VALUE"] == [("USER_DATA_VALUE", f"{GPU}.{path}")]


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("kubelet", "kubelet_flags", "kubelet_settings", "containerd")


def test_which_rules_warn() -> None:
    assert warnings_of("kubelet", "kubelet_settings", "containerd") == {
        "CONTAINERD_CONFIG_VERSION",
        "KUBELET_TOPOLOGY",
    }


GOOD: list[dict[str, Any]] = [
    {"systemReserved": {"memory": "1e9", "cpu": 1, "ephemeral-storage": "0.5Gi", "pid": "1000"}},
    {"evictionHard": {"memory.available": "100Mi", "nodefs.available": "12.5%", "pid.available": "0%"}},
    {"streamingConnectionIdleTimeout": "0", "nodeStatusUpdateFrequency": "1.5s", "syncFrequency": "1h0m0s"},
    {"maxParallelImagePulls": None, "logging": {"verbosity": 4}, "registryPullQPS": 0},
    {"nodeStatusMaxImages": -1, "oomScoreAdj": -999, "readOnlyPort": 0, "memoryThrottlingFactor": 1},
]


@in_one_test("settings", GOOD)
def test_what_the_kubelet_accepts_passes(settings: dict[str, Any]) -> None:
    found = {code for code, _ in shown_codes(kubelet_config_of(**settings))}
    assert found <= OVERRIDES


def test_supported_versions_are_recorded() -> None:
    assert set(facts.eks()["versions"]["supported"]) <= set(facts.kubelet()["versions"]["recorded"])
