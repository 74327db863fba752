"""Rules about containerd's configuration in a NodeConfig."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from eks_hardware import facts
from eks_hardware.rules.registry import Breach, Context, Node, error, warning
from eks_hardware.rules.user_data import setting, setting_path, with_user_data
from eks_hardware.rules.value_kinds import wrong_values

_PLACE = ("containerd", "config")
_SPECIFICATION = ("containerd", "baseRuntimeSpec")
_STOPS = "containerd does not start and the node never joins"


@error("CONTAINERD_CONFIG")
def _config(context: Context) -> Iterator[Breach]:
    for node in with_user_data(context, "al2023"):
        text = setting(node.user_data, _PLACE)
        if isinstance(text, str) and text.strip():
            for fault in dict.fromkeys(_faults(text)):
                yield setting_path(node, _PLACE), fault
        yield from _specification(node)


@warning("CONTAINERD_CONFIG_VERSION")
def _version(context: Context) -> Iterator[Breach]:
    fact = facts.containerd()["config_versions"]
    for node in with_user_data(context, "al2023"):
        text = setting(node.user_data, _PLACE)
        version = _parsed(text)[0].get("version") if isinstance(text, str) else None
        if first := fact["first"].get(str(version)):
            yield (
                setting_path(node, _PLACE),
                f"version {version} requires containerd {first}, but release {fact['image']} of the EKS image has "
                f"{fact['containerd']}, so the node never joins; write version = 3, which containerd {first} also "
                "reads",
            )


def _specification(node: Node) -> Iterator[Breach]:
    """Yield what containerd or runc refuses in the specification on which every container is based."""
    given = setting(node.user_data, _SPECIFICATION)
    if not isinstance(given, Mapping):
        return
    for found in wrong_values(given, facts.containerd()["base_runtime_spec"]["fields"]):
        if found.value is not None:
            path = setting_path(node, (*_SPECIFICATION, *found.path))
            yield path, f"{found}, so containerd or runc refuses it and no pod starts"
    limits = setting(given, ("process", "rlimits"))
    for index, limit in enumerate(limits if isinstance(limits, list | tuple) else ()):
        soft, hard = (limit.get(name) if isinstance(limit, Mapping) else None for name in ("soft", "hard"))
        if isinstance(soft, int) and isinstance(hard, int) and soft > hard:
            yield (
                setting_path(node, (*_SPECIFICATION, "process", "rlimits", str(index))),
                f"soft must be at most hard, got {soft} and {hard}; runc cannot set this limit, so no pod starts",
            )


def _faults(text: str) -> Iterator[str]:
    """Yield what is wrong with containerd's configuration, as text."""
    settings, wrong = _parsed(text)
    if wrong:
        yield f"must be TOML ({wrong}), or nodeadm cannot merge it and the node never joins"
    fact = facts.containerd()["settings"]
    for found in wrong_values(settings, fact["top"]):
        yield f"{'.'.join(found.path)} {found}, so {_STOPS}"
    disabled = settings.get("disabled_plugins")
    for plugin in disabled if isinstance(disabled, list | tuple) else ():
        if str(plugin) == "cri" or ".cri" in str(plugin):
            yield f"disabled_plugins must not list {plugin}, which the kubelet uses to run pods; remove this item"
    plugins = settings.get("plugins")
    for path, name, value in _leaves(plugins, ()) if isinstance(plugins, Mapping) else ():
        kind = fact["plugins"].get(name)
        for found in wrong_values({name: value}, {name: kind}) if kind else ():
            yield f"{'.'.join((*path, name))} {found}, so {_STOPS}"
        # https://github.com/containerd/containerd/blob/main/docs/containerd-2.0.md
        if name == "runtime_type" and value in ("io.containerd.runtime.v1.linux", "io.containerd.runc.v1"):
            yield f"containerd 2 has no runtime {value}; write io.containerd.runc.v2"
        if name == "SystemdCgroup" and value is False:
            yield "SystemdCgroup must be true, because the kubelet in the EKS image uses systemd; remove this setting"
        if name in ("mirrors", "configs") and path[-1:] == ("registry",):
            yield (
                f"containerd refuses registry.{name} together with config_path, which the EKS image sets; write "
                "/etc/containerd/certs.d/HOST/hosts.toml instead"
            )
    # https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/containerd/config.go
    both = isinstance(plugins, Mapping) and {name.split(".v1")[0] for name in plugins if ".cri" in name}
    if both and {"io.containerd.grpc", "io.containerd.cri"} <= both and settings.get("version") == 2:
        yield "version 2 has no plugins io.containerd.cri.v1.images and .runtime; set version = 3, or remove it"


def _leaves(table: Mapping[str, object], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, object]]:
    """Yield the path, name and value of every setting below a table, tables included."""
    for name, value in table.items():
        yield above, name, value
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, name))


def _parsed(text: str) -> tuple[Mapping[str, object], str]:
    """Return TOML as a mapping, and the reason if the text is not TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # pyright: ignore[reportMissingImports]
    try:
        return tomllib.loads(text), ""
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return {}, str(error).splitlines()[0]
