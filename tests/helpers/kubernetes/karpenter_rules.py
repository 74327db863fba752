"""Requirements of Karpenter's CRDs beyond the generated validators: cross-field rules, patterns, ranges.

The API server checks them when an object is written; generated validators do not contain them. The rules are those of
the CRDs of :data:`RELEASE`, one row each, rewritten as Python predicates. :func:`check_rules` applies them to an
object, :func:`check_update` applies those about changes. A comment marks each row that is stricter than the CRD.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import label, place

RELEASE = "v1.14.1"

_CRDS = f"https://github.com/aws/karpenter-provider-aws/blob/{RELEASE}/pkg/apis/crds"
_RUNTIME = "https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/apis/v1/nodeclaim_validation.go"
_NAMES = "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names"

SOURCES = {
    "EC2NodeClass": f"{_CRDS}/karpenter.k8s.aws_ec2nodeclasses.yaml",
    "NodePool": f"{_CRDS}/karpenter.sh_nodepools.yaml",
    "NodeOverlay": f"{_CRDS}/karpenter.sh_nodeoverlays.yaml",
}
"""The CRD of each kind."""


@dataclass(frozen=True)
class Rule:
    """Requirement for every value at a path.

    In a path, ``a.b`` is a field, ``[]`` each item, ``{}`` each value of a map, and ``<>`` each of its keys.
    """

    id: str
    kind: str
    path: str
    demand: str
    holds: Callable[[Any], bool]
    source: str


Row = tuple[str, str, str, Callable[[Any], bool]]


# --- predicates -------------------------------------------------------------------------------------------------


def _matches(pattern: str) -> Callable[[Any], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _one_of(*allowed: str) -> Callable[[Any], bool]:
    return lambda value: value in allowed


def _not(*forbidden: str) -> Callable[[Any], bool]:
    return lambda value: value not in forbidden


def _between(low: int, high: float) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high


def _at_most(count: int) -> Callable[[Any], bool]:
    return lambda value: len(value) <= count


def _any_field(*fields: str) -> Callable[[Any], bool]:
    return lambda item: any(field in item for field in fields)


def _only_fields(*fields: str) -> Callable[[Any], bool]:
    return lambda item: set(item) <= set(fields)


def _alone(field: str, *others: str) -> Callable[[Any], bool]:
    """Return whether the field is set without the others."""
    return lambda item: field not in item or not any(other in item for other in others)


def _filled(value: Any) -> bool:
    return bool(value)


def _no_empty_tag(tags: Any) -> bool:
    return all(key != "" and value != "" for key, value in tags.items())


_DNS = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DOMAIN = rf"{_DNS}(?:\.{_DNS})*"
_NAME = r"[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?"
_NUMBER = r"(?:\d+\.?\d*|\.\d+)"
_AMOUNT = rf"[+-]?{_NUMBER}(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?{_NUMBER})?"

_qualified_name = _matches(rf"(?:{_DOMAIN}/)?{_NAME}")
_quantity = _matches(_AMOUNT)
_threshold = _matches(rf"(?:\d{{1,2}}(?:\.\d{{1,2}})?|100(?:\.0{{1,2}})?)%|{_AMOUNT}")
_lifetime = _matches(r"(?:\d+[smh])+|Never")


def _label_value(value: Any) -> bool:
    return len(value) <= 63 and (value == "" or re.fullmatch(_NAME, value, re.ASCII) is not None)


def _label_key(value: Any) -> bool:
    return len(value) <= 316 and _qualified_name(value)


def _resource_amount(value: Any) -> bool:
    return type(value) is int or _quantity(value)


# --- EC2NodeClass -----------------------------------------------------------------------------------------------

_WINDOWS = ("windows2019", "windows2022", "windows2025")
_FAMILIES = {
    "al2": "AL2",
    "al2023": "AL2023",
    "bottlerocket": "Bottlerocket",
    "windows2019": "Windows2019",
    "windows2022": "Windows2022",
    "windows2025": "Windows2025",
}
_SIGNALS = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")


def _alias_families(spec: Any) -> list[str]:
    return [term["alias"].partition("@")[0] for term in spec["amiSelectorTerms"] if "alias" in term]


def _has_family(spec: Any) -> bool:
    return "amiFamily" in spec or bool(_alias_families(spec))


def _is_family(alias: Any) -> bool:
    return alias.partition("@")[0] in _FAMILIES


def _fits_alias(family: str) -> Callable[[Any], bool]:
    """Return a rule: with an alias of this family, ``amiFamily`` must be this family or Custom."""
    return lambda spec: (
        family not in _alias_families(spec) or spec.get("amiFamily", "Custom") in ("Custom", _FAMILIES[family])
    )


def _windows_is_latest(alias: Any) -> bool:
    family, _, version = alias.partition("@")
    return family not in _WINDOWS or version.partition("@")[0] == "latest"


def _alias_is_only_term(terms: Any) -> bool:
    return len(terms) == 1 or not any("alias" in term for term in terms)


def _one_root_volume(mappings: Any) -> bool:
    return sum(mapping.get("rootVolume") is True for mapping in mappings) <= 1


def _rate_has_snapshot(ebs: Any) -> bool:
    return "volumeInitializationRate" not in ebs or bool(ebs.get("snapshotID"))


def _has_primary(interfaces: Any) -> bool:
    primary = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    return not interfaces or any(primary.items() <= interface.items() for interface in interfaces)


def _places_differ(interfaces: Any) -> bool:
    places = [(interface["networkCardIndex"], interface["deviceIndex"]) for interface in interfaces]
    return len(places) == len(set(places))


def _one_efa_only_for_each_card(interfaces: Any) -> bool:
    cards = [each["networkCardIndex"] for each in interfaces if each["interfaceType"] == "efa-only"]
    return len(cards) == len(set(cards))


def _gc_thresholds_in_order(kubelet: Any) -> bool:
    thresholds = [kubelet.get(f"imageGC{end}ThresholdPercent") for end in ("Low", "High")]
    return None in thresholds or thresholds[0] < thresholds[1]


def _eviction_has_grace_period(kubelet: Any) -> bool:
    return set(kubelet.get("evictionSoft", {})) <= set(kubelet.get("evictionSoftGracePeriod", {}))


def _grace_period_has_eviction(kubelet: Any) -> bool:
    return set(kubelet.get("evictionSoftGracePeriod", {})) <= set(kubelet.get("evictionSoft", {}))


def _selector_rows(prefix: str, path: str, *fields: str) -> Iterator[Row]:
    """Return the rules for selector terms: no term is empty, and no tag is empty.

    The CRD requires that ``id`` or ``name`` is alone in terms for subnets, security groups and reservations. Its rule
    fails only if no term complies; the rows below check each term.
    """
    yield f"{prefix}-term-empty", f"{path}[]", f"have one of {', '.join(fields)}", _any_field(*fields)
    yield f"{prefix}-tags-empty", f"{path}[].tags", "have no tag with an empty key or value", _no_empty_tag
    yield f"{prefix}-tags-many", f"{path}[].tags", "name at most 20 tags", _at_most(20)
    yield f"{prefix}-terms-many", path, "have at most 30 terms", _at_most(30)


def _node_class_rows() -> Iterator[Row]:
    spec = "spec"
    one_identity = "have either a role or an instanceProfile"
    yield "role-or-profile", spec, one_identity, lambda it: ("role" in it) != ("instanceProfile" in it)
    yield "role-empty", "spec.role", "not be empty", _filled
    yield "profile-empty", "spec.instanceProfile", "not be empty", _filled

    yield "ami-family-missing", spec, "have an amiFamily unless an image is an alias", _has_family
    for family, name in _FAMILIES.items():
        yield f"ami-family-{family}", spec, f"have amiFamily {name} or Custom with this alias", _fits_alias(family)

    images = "spec.amiSelectorTerms"
    yield from _selector_rows("ami", images, "tags", "id", "name", "alias", "ssmParameter")
    yield "ami-id-alone", f"{images}[]", "have only id", _alone("id", "alias", "tags", "name", "owner")
    yield "ami-alias-alone", f"{images}[]", "have only alias", _alone("alias", "id", "tags", "name", "owner")
    yield "ami-alias-single", images, "have no other term next to an alias", _alias_is_only_term
    alias = f"{images}[].alias"
    yield "ami-alias-form", alias, "read family@version", _matches(r"[a-zA-Z0-9]+@.+")
    yield "ami-alias-family", alias, f"begin with one of {', '.join(_FAMILIES)}", _is_family
    yield "ami-alias-windows", alias, "be @latest for Windows", _windows_is_latest

    yield from _selectors_of_places()

    group = "spec.placementGroupSelector"
    yield "placement-group-one", group, "have either name or id", lambda it: ("name" in it) != ("id" in it)

    yield "root-volume-single", "spec.blockDeviceMappings", "have at most one rootVolume", _one_root_volume
    ebs = "spec.blockDeviceMappings[].ebs"
    yield "volume-size-or-snapshot", ebs, "have snapshotID or volumeSize", _any_field("snapshotID", "volumeSize")
    yield "volume-rate-snapshot", ebs, "have a snapshotID with volumeInitializationRate", _rate_has_snapshot

    interfaces = "spec.networkInterfaces"
    yield "interfaces-primary", interfaces, "have an interface (not efa-only) at card 0, device 0", _has_primary
    yield "interfaces-unique", interfaces, "use each card and device once", _places_differ
    yield "interfaces-efa-only", interfaces, "have one efa-only interface on a card", _one_efa_only_for_each_card

    tag = "spec.tags<>"
    yield "tag-key-empty", tag, "not be empty", _filled
    yield "tag-cluster", tag, "not name a cluster", lambda key: not key.startswith("kubernetes.io/cluster")
    owned = (
        ("eks-cluster-name", "eks:eks-cluster-name"),
        ("nodepool", "karpenter.sh/nodepool"),
        ("nodeclaim", "karpenter.sh/nodeclaim"),
        ("ec2nodeclass", "karpenter.k8s.aws/ec2nodeclass"),
    )
    for name, key in owned:
        yield f"tag-{name}", tag, "not be a tag that Karpenter sets", _not(key)

    yield from _newer_fields()
    yield from _kubelet_rows()


def _selectors_of_places() -> Iterator[Row]:
    """Return the rules for subnets, security groups and reservations."""
    yield from _selector_rows("subnet", "spec.subnetSelectorTerms", "tags", "id")
    yield "subnet-id-alone", "spec.subnetSelectorTerms[]", "have only id", _alone("id", "tags")
    yield "subnet-none", "spec.subnetSelectorTerms", "have a term", _filled
    groups = "spec.securityGroupSelectorTerms"
    yield from _selector_rows("security-group", groups, "tags", "id", "name")
    yield "security-group-id-alone", f"{groups}[]", "have only id", _alone("id", "tags", "name")
    yield "security-group-name-alone", f"{groups}[]", "have only name", _alone("name", "tags", "id")
    yield "security-group-none", groups, "have a term", _filled
    reservations = "spec.capacityReservationSelectorTerms"
    alone = _alone("id", "tags", "ownerID", "instanceMatchCriteria")
    yield from _selector_rows("reservation", reservations, "tags", "id", "instanceMatchCriteria")
    yield "reservation-id-alone", f"{reservations}[]", "have only id", alone
    # In the CRD, this is a side effect of the rule above.
    yield "reservation-none", reservations, "have a term, or be left out", _filled
    yield "reservation-owner", f"{reservations}[].ownerID", "be an account's 12 digits", _matches(r"\d{12}")


def _newer_fields() -> Iterator[Row]:
    """Return the rules for two fields that the generated validators are too old for."""
    tracking = "spec.connectionTracking"
    timeouts = {"tcpEstablishedTimeout": (60, 432000), "udpStreamTimeout": (60, 180), "udpTimeout": (30, 60)}
    yield "tracking-empty", tracking, "set a timeout", _any_field(*timeouts)
    yield "tracking-fields", tracking, f"have no other fields than {', '.join(timeouts)}", _only_fields(*timeouts)
    for timeout, (low, high) in timeouts.items():
        yield f"tracking-{timeout}", f"{tracking}.{timeout}", f"be {low} to {high}", _between(low, high)
    options, nested = "spec.cpuOptions", "nestedVirtualization"
    yield "cpu-options-fields", options, f"have no other field than {nested}", _only_fields(nested)
    yield "cpu-options-nested", f"{options}.{nested}", "be enabled or disabled", _one_of("enabled", "disabled")


def _kubelet_rows() -> Iterator[Row]:
    kubelet = "spec.kubelet"
    signals, reservable = f"be one of {', '.join(_SIGNALS)}", f"be one of {', '.join(_RESERVABLE)}"
    for name in ("evictionHard", "evictionSoft", "evictionSoftGracePeriod"):
        yield f"kubelet-{name}-keys", f"{kubelet}.{name}<>", signals, _one_of(*_SIGNALS)
    for name in ("evictionHard", "evictionSoft"):
        # The CRD accepts an empty string, but the kubelet would not start with it.
        yield f"kubelet-{name}-values", f"{kubelet}.{name}{{}}", "be a percentage or a quantity", _threshold
    for name in ("kubeReserved", "systemReserved"):
        yield f"kubelet-{name}-keys", f"{kubelet}.{name}<>", reservable, _one_of(*_RESERVABLE)
        yield f"kubelet-{name}-values", f"{kubelet}.{name}{{}}", "be a quantity", _quantity
        yield f"kubelet-{name}-negative", f"{kubelet}.{name}{{}}", "not be negative", lambda it: it[:1] != "-"
    yield "kubelet-gc-order", kubelet, "have the low GC threshold below the high one", _gc_thresholds_in_order
    yield "kubelet-soft-grace", kubelet, "have a grace period for each evictionSoft", _eviction_has_grace_period
    yield "kubelet-grace-soft", kubelet, "have an evictionSoft for each grace period", _grace_period_has_eviction


# --- labels that Karpenter owns ---------------------------------------------------------------------------------

_INSTANCE_LABELS = (
    "accelerator-count",
    "accelerator-manufacturer",
    "accelerator-name",
    "capability-flex",
    "category",
    "cpu",
    "cpu-manufacturer",
    "cpu-sustained-clock-speed-mhz",
    "ebs-bandwidth",
    "encryption-in-transit-supported",
    "family",
    "generation",
    "gpu-count",
    "gpu-manufacturer",
    "gpu-memory",
    "gpu-name",
    "hypervisor",
    "local-nvme",
    "memory",
    "network-bandwidth",
    "size",
)
_OVERLAY_LABELS = {"ec2nodeclass", *(f"instance-{name}" for name in _INSTANCE_LABELS)}
_POOL_LABELS = {
    *_OVERLAY_LABELS,
    "capacity-reservation-id",
    "capacity-reservation-interruptible",
    "capacity-reservation-type",
    "instance-tenancy",
    "placement-group-id",
    "placement-group-partition",
}


def _in_domain(key: str, domain: str) -> bool:
    return key.partition("/")[0].endswith(domain)


def _aws_label(known: set[str]) -> Callable[[Any], bool]:
    allowed = {f"karpenter.k8s.aws/{name}" for name in known}
    return lambda key: key in allowed or not _in_domain(key, "karpenter.k8s.aws")


def _karpenter_label(key: Any) -> bool:
    known = ("karpenter.sh/capacity-type", "karpenter.sh/nodepool")
    return key in known or not _in_domain(key, "karpenter.sh")


def _label_rows(prefix: str, path: str, known: set[str], *, of_a_pool: bool) -> Iterator[Row]:
    yield f"{prefix}-karpenter", path, "not be a label that only Karpenter sets", _karpenter_label
    yield f"{prefix}-hostname", path, "not be the host name", _not("kubernetes.io/hostname")
    yield f"{prefix}-aws", path, "be one of Karpenter's labels in its AWS domain", _aws_label(known)
    if of_a_pool:
        yield f"{prefix}-nodepool", path, "not be the label that names the pool", _not("karpenter.sh/nodepool")


# --- requirements -----------------------------------------------------------------------------------------------

_COMPARISONS = ("Gt", "Lt", "Gte", "Lte")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", *_COMPARISONS)


def _has_values(operator: str) -> Callable[[Any], bool]:
    return lambda item: item["operator"] != operator or len(item["values"]) > 0


def _compares_one_number(item: Any) -> bool:
    if item["operator"] not in _COMPARISONS:
        return True
    values = item["values"]
    return len(values) == 1 and values[0].isascii() and values[0].isdigit()


def _has_min_values(item: Any) -> bool:
    return item["operator"] != "In" or "minValues" not in item or len(item["values"]) >= item["minValues"]


def _requirement_rows(path: str) -> Iterator[Row]:
    item = f"{path}[]"
    yield "requirements-many", path, "have at most 100 items", _at_most(100)
    yield "requirement-key", f"{item}.key", "be a label's name", _label_key
    yield "requirement-operator", f"{item}.operator", f"be one of {', '.join(_OPERATORS)}", _one_of(*_OPERATORS)
    yield "requirement-in", item, "have values with In", _has_values("In")
    yield "requirement-compares", item, "compare with one positive whole number", _compares_one_number


# --- NodePool ---------------------------------------------------------------------------------------------------

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MACROS = "annually|yearly|monthly|weekly|daily|midnight|hourly"
_POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")


def _static_limits(spec: Any) -> bool:
    return "replicas" not in spec or set(spec.get("limits", {})) <= {"nodes"}


def _reasons_differ(reasons: Any) -> bool:
    return len(reasons) == len(set(reasons))


def _taints_differ(template: Any) -> bool:
    taints = [*template.get("taints", ()), *template.get("startupTaints", ())]
    return len(taints) == len({(taint["key"], taint["effect"]) for taint in taints})


def _node_pool_rows() -> Iterator[Row]:
    yield "static-limits", "spec", "limit only nodes if replicas is set", _static_limits
    yield "static-weight", "spec", "have no weight if replicas is set", _alone("replicas", "weight")
    yield "limit-quantity", "spec.limits{}", "be a quantity", _resource_amount

    policy = "spec.disruption.consolidationPolicy"
    yield "consolidation-policy", policy, f"be one of {', '.join(_POLICIES)}", _one_of(*_POLICIES)
    budget = "spec.disruption.budgets[]"
    window = "have schedule and duration together"
    yield "budget-window", budget, window, lambda it: ("schedule" in it) == ("duration" in it)
    yield "budget-duration", f"{budget}.duration", "be hours and minutes", _matches(r"(?:\d+[hm]|\d+h\d+m)(?:0s)?")
    # The CRD accepts more fields and surrounding text, but Karpenter's parser does not.
    schedule = _matches(rf"@(?:{_MACROS})|(?:\S+\s+){{4}}\S+")
    yield "budget-schedule", f"{budget}.schedule", "be cron's five fields, or a name such as @daily", schedule
    yield "budget-reasons", f"{budget}.reasons", "have each reason once", _reasons_differ

    labels = "spec.template.metadata.labels"
    yield from _label_rows("label", f"{labels}<>", _POOL_LABELS, of_a_pool=True)
    yield "labels-many", labels, "have at most 100 labels", _at_most(100)
    yield "label-value", f"{labels}{{}}", "be a label's value", _label_value

    template = "spec.template.spec"
    for field in ("group", "kind", "name"):
        yield f"node-class-{field}", f"{template}.nodeClassRef.{field}", "not be empty", _filled
    yield "expire-after", f"{template}.expireAfter", "be a duration in s, m and h, or Never", _lifetime
    yield "grace-period", f"{template}.terminationGracePeriod", "be a duration in s, m, h", _matches(r"(?:\d+[smh])+")

    requirements = f"{template}.requirements"
    yield from _requirement_rows(requirements)
    yield from _label_rows("requirement", f"{requirements}[].key", _POOL_LABELS, of_a_pool=True)
    yield "requirement-min-values", f"{requirements}[]", "have as many values as minValues says", _has_min_values

    for taints in ("taints", "startupTaints"):
        taint = f"{template}.{taints}[]"
        yield f"{taints}-effect", f"{taint}.effect", f"be one of {', '.join(_EFFECTS)}", _one_of(*_EFFECTS)
        yield f"{taints}-key", f"{taint}.key", "be a label's name", _qualified_name
        # An empty value is refused, too: leave out the field.
        yield f"{taints}-value", f"{taint}.value", "be a label's value", _qualified_name


# --- NodeOverlay ------------------------------------------------------------------------------------------------


def _node_overlay_rows() -> Iterator[Row]:
    yield "overlay-price", "spec", "have either price or priceAdjustment", _alone("price", "priceAdjustment")
    yield "overlay-price-form", "spec.price", "be a number", _matches(r"\d+(?:\.\d+)?")
    adjustment = _matches(r"[+-]\d*\.?\d+|\+\d*\.?\d+%|-\d{1,2}(?:\.\d+)?%|-100%")
    yield "overlay-adjustment-form", "spec.priceAdjustment", "be signed, and at least -100%", adjustment
    yield "overlay-weight", "spec.weight", "be 1 to 10000", _between(1, 10000)
    restricted = ("cpu", "memory", "ephemeral-storage", "pods")
    yield "overlay-capacity", "spec.capacity<>", f"be none of {', '.join(restricted)}", _not(*restricted)
    yield "overlay-quantity", "spec.capacity{}", "be a quantity", _resource_amount
    yield from _requirement_rows("spec.requirements")
    yield "requirement-not-in", "spec.requirements[]", "have values with NotIn", _has_values("NotIn")
    yield from _label_rows("requirement", "spec.requirements[].key", _OVERLAY_LABELS, of_a_pool=False)


# --- all of them ------------------------------------------------------------------------------------------------


def _object_name(name: Any) -> bool:
    return len(name) <= 253 and re.fullmatch(_DOMAIN, name) is not None


def _rows() -> Iterator[Rule]:
    kinds = {"EC2NodeClass": _node_class_rows, "NodePool": _node_pool_rows, "NodeOverlay": _node_overlay_rows}
    for kind, rows in kinds.items():
        for id_, path, demand, holds in rows():
            yield Rule(id_, kind, path, demand, holds, SOURCES[kind])
        yield Rule("name", kind, "metadata.name", "be lower-case letters, digits, - and .", _object_name, _NAMES)
    # The controller checks these, and launches no nodes for an invalid pool. (The CRD sets its pattern for the values
    # on the list, where it has no effect.)
    template = "spec.template.spec"
    yield Rule("taints-unique", "NodePool", template, "have each taint once", _taints_differ, _RUNTIME)
    for kind, path in (("NodePool", f"{template}.requirements"), ("NodeOverlay", "spec.requirements")):
        yield Rule("requirement-value", kind, f"{path}[].values[]", "be a label's value", _label_value, _RUNTIME)


RULES: tuple[Rule, ...] = tuple(_rows())
_STEP = re.compile(r"\[\]|\{\}|<>|[^.\[\]{}<>]+")
_STEPS = {kind: [(rule, tuple(_STEP.findall(rule.path))) for rule in RULES if rule.kind == kind] for kind in SOURCES}
"""The rules of each kind, with the steps of their paths."""


def _is_static(pool: dict[str, Any]) -> bool:
    return "replicas" in pool["spec"]


def _class_field(field: str) -> Callable[[dict[str, Any]], Any]:
    return lambda pool: pool["spec"]["template"]["spec"]["nodeClassRef"][field]


UPDATES: tuple[tuple[str, str, str, Callable[[dict[str, Any]], Any]], ...] = (
    ("pool-mode", "spec.replicas", "stay set, or stay unset", _is_static),
    ("node-class-group-fixed", "spec.template.spec.nodeClassRef.group", "stay as it is", _class_field("group")),
    ("node-class-kind-fixed", "spec.template.spec.nodeClassRef.kind", "stay as it is", _class_field("kind")),
)
"""Fields of a NodePool that an update must not change."""

_ERRORS = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def _pruned(value: Any) -> Any:
    """Return the object without null values, as the API server reads it."""
    if isinstance(value, dict):
        return {key: _pruned(item) for key, item in value.items() if item is not None}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def _found(
    value: Any, path: tuple[str, ...], way: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield each position that matches a path, with its value."""
    if not path:
        yield way, value
        return
    step, rest = path[0], path[1:]
    if step == "[]":
        items = enumerate(value) if isinstance(value, list) else ()
        for index, item in items:
            yield from _found(item, rest, (*way, index))
    elif not isinstance(value, dict):
        return
    elif step in ("{}", "<>"):
        for key, item in value.items():
            yield from _found(key if step == "<>" else item, rest, (*way, key))
    elif step in value:
        yield from _found(value[step], rest, (*way, step))


def _holds(rule: Rule, value: Any) -> bool:
    try:
        return rule.holds(value)
    except _ERRORS:  # A rule that cannot be evaluated also fails in the API server.
        return False


def check_rules(obj: dict[str, Any]) -> list[str]:
    """Return violations of the rules for the object's kind: ``NodePool/gpu: spec.weight: must ... [rule-id]``."""
    kind = obj.get("kind")
    if kind not in SOURCES:
        return [f"{label(obj)}: no rules for this kind [unknown-kind]"]
    content = _pruned(obj)
    return [
        f"{label(obj)}: {place(way)}: must {rule.demand}, is {value!r:.200} [{rule.id}]"
        for rule, steps in _STEPS[kind]
        for way, value in _found(content, steps)
        if not _holds(rule, value)
    ]


def check_update(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return forbidden changes between two versions of a NodePool; other kinds can change in all fields."""
    if new.get("kind") != "NodePool":
        return []
    before, after = _pruned(old), _pruned(new)
    return [
        f"{label(new)}: {path}: must {demand} [{id_}]" for id_, path, demand, of in UPDATES if of(before) != of(after)
    ]
