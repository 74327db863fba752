"""Generate a TypeScript CDKTF app that defines the resources of synthesized stacks, as a baseline for Python.

Each resource becomes one ``new Vpc(scope, id, {...})`` at the same path in the tree, and references between resources
become tokens (``vpc.id``). The app synthesizes the same JSON; :func:`differences` lists any differences. A team would
write such an app by hand only for one known result, without a strategy, a catalogue or rules.
"""

from __future__ import annotations

import importlib
import json
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

import eks_hardware  # noqa: F401  the providers are imported lazily

PROVIDERS = {
    "aws": ("cdktf_cdktf_provider_aws", "@cdktf/provider-aws"),
    "helm": ("cdktf_cdktf_provider_helm", "@cdktf/provider-helm"),
}

_REFERENCE = re.compile(r"\$\{((?:data\.)?(?:aws|helm)_\w+\.[\w-]+)\.(\w+)\}")
_ADDRESS = re.compile(r"\b((?:data\.)?(?:aws|helm)_\w+\.[A-Za-z_][\w-]*)")


@dataclass(frozen=True)
class _Element:
    """A resource or data source in the JSON, with the class that defines it."""

    address: str
    path: tuple[str, ...]
    body: Mapping[str, Any]
    module: str
    package: str
    cls: type

    @property
    def config(self) -> type:
        return typing.cast(type, getattr(importlib.import_module(self.cls.__module__), f"{self.cls.__name__}Config"))


@dataclass
class _Source:
    """Lines of TypeScript and their imports."""

    lines: list[str] = field(default_factory=list)
    imports: dict[str, set[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    classes: dict[str, type] = field(default_factory=dict)
    scopes: dict[tuple[str, ...], str] = field(default_factory=dict)

    def import_(self, package: str, name: str) -> str:
        self.imports.setdefault(package, set()).add(name)
        return name


def stack_source(name: str, document: Mapping[str, Any]) -> str:
    """Return the TypeScript of one stack: a module that exports ``define(app)``.

    Args:
        name: the stack's name.
        document: the stack's ``cdk.tf.json``.
    """
    source = _Source(scopes={(): "stack"})
    source.import_("cdktf", "App")
    source.import_("cdktf", "TerraformStack")
    out = source.lines
    out.append(f"const stack = new TerraformStack(app, {json.dumps(name)});")
    _backend(source, document["terraform"]["backend"])
    elements = list(_in_order(_elements(document)))
    providers = document.get("provider", {})
    if "aws" in providers:
        _provider(source, "aws", providers["aws"][0])
    pending_helm = "helm" in providers
    for element in elements:
        if pending_helm and element.address.startswith("helm_"):
            _provider(source, "helm", providers["helm"][0])
            pending_helm = False
        _define(source, element)
    for provider, value in document["terraform"]["required_providers"].items():
        out.append(f'stack.addOverride("terraform.required_providers.{provider}", {json.dumps(value)});')
    for output, value in document.get("output", {}).items():
        source.import_("cdktf", "TerraformOutput")
        out.append(f"new TerraformOutput(stack, {json.dumps(output)}, {{ value: {_text(source, value['value'])} }});")
    imports = [
        f'import {{ {", ".join(sorted(names))} }} from "{package}";'
        for package, names in sorted(source.imports.items())
    ]
    body = "\n".join(f"  {line}" for line in out)
    return "\n".join([*imports, "", "export function define(app: App): void {", body, "}", ""])


def main_source(names: Sequence[str]) -> str:
    """Return the TypeScript of an app with these stacks."""
    imports = [f'import {{ define as define{index} }} from "./stacks/{name}";' for index, name in enumerate(names)]
    calls = [f"define{index}(app);" for index in range(len(names))]
    return "\n".join(
        ['import { App } from "cdktf";', *imports, "", "const app = new App();", *calls, "app.synth();", ""]
    )


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Return the differences between two documents, without CDKTF's ``//`` metadata."""
    return list(_differing(_plain(ours), _plain(theirs), ""))


# --- reading the JSON


def _elements(document: Mapping[str, Any]) -> Iterator[_Element]:
    for section, prefix in (("data", "data."), ("resource", "")):
        for type_, named in document.get(section, {}).items():
            cls, module, package = _class_of(type_, data=section == "data")
            for name, body in named.items():
                path = tuple(body["//"]["metadata"]["path"].split("/")[1:])
                plain = {key: value for key, value in body.items() if key != "//"}
                yield _Element(f"{prefix}{type_}.{name}", path, plain, module, package, cls)


@cache
def _class_of(type_: str, *, data: bool) -> tuple[type, str, str]:
    python, npm = PROVIDERS[type_.partition("_")[0]]
    short = type_.partition("_")[2]
    module_name = f"data_{type_}" if data else short
    module = importlib.import_module(f"{python}.{module_name}")
    for value in vars(module).values():
        if getattr(value, "TF_RESOURCE_TYPE", None) == type_ and value.__module__ == module.__name__:
            return value, module_name.replace("_", "-"), npm
    raise LookupError(f"no class for {type_}")


def _in_order(elements: Iterator[_Element]) -> Iterator[_Element]:
    """Yield each element after the elements that it refers to."""
    found = {element.address: element for element in elements}
    graph = {
        address: {each for each in _ADDRESS.findall(json.dumps(element.body)) if each in found and each != address}
        for address, element in found.items()
    }
    # The Helm provider is defined together with the first release, and refers to the cluster.
    cluster = [address for address in found if address.startswith("aws_eks_cluster.")]
    for address in graph:
        if address.startswith("helm_"):
            graph[address].update(cluster)
    return (found[address] for address in TopologicalSorter(graph).static_order())


# --- writing TypeScript


def _define(source: _Source, element: _Element) -> None:
    name = f"r{len(source.names)}"
    cls = source.import_(f"{element.package}/lib/{element.module}", element.cls.__name__)
    scope = _scope(source, element.path[:-1])
    known, unknown = _arguments(source, element.config, element.body, element.package, element.module)
    source.lines.append(f"const {name} = new {cls}({scope}, {json.dumps(element.path[-1])}, {known});")
    source.names[element.address] = name
    source.classes[element.address] = element.cls
    for key, value in unknown.items():
        source.lines.append(f"{name}.addOverride({json.dumps(key)}, {_value(source, value)});")


def _scope(source: _Source, path: tuple[str, ...]) -> str:
    if path not in source.scopes:
        source.import_("constructs", "Construct")
        parent = _scope(source, path[:-1])
        name = f"scope{len(source.scopes)}"
        source.lines.append(f"const {name} = new Construct({parent}, {json.dumps(path[-1])});")
        source.scopes[path] = name
    return source.scopes[path]


def _provider(source: _Source, provider: str, body: Mapping[str, Any]) -> None:
    python, npm = PROVIDERS[provider]
    module = importlib.import_module(f"{python}.provider")
    cls = source.import_(f"{npm}/lib/provider", f"{provider.capitalize()}Provider")
    known, unknown = _arguments(source, getattr(module, f"{cls}Config"), body, npm, "provider")
    if unknown:
        raise LookupError(f"the provider {provider} has no {', '.join(unknown)}")
    source.lines.append(f"new {cls}(stack, {json.dumps(provider)}, {known});")


def _backend(source: _Source, backend: Mapping[str, Any]) -> None:
    ((kind, body),) = backend.items()
    if kind != "local":
        raise LookupError(f"the backend must be local, got {kind}")
    source.import_("cdktf", "LocalBackend")
    source.lines.append(f"new LocalBackend(stack, {{ path: {json.dumps(body['path'])} }});")


def _arguments(
    source: _Source, config: type, body: Mapping[str, Any], package: str, module: str, place: str = ""
) -> tuple[str, dict[str, Any]]:
    """Return an object literal for a struct, and the values for which the struct has no field, by dotted path."""
    names: Mapping[str, str] = config.__jsii_name_mapping__  # type: ignore[attr-defined]
    hints = _hints(config)
    parts, unknown = [], {}
    for key, value in body.items():
        if key not in names:
            unknown[f"{place}{key}"] = value
            continue
        struct = _struct_of(hints[key])
        if key == "depends_on":
            text = f"[{', '.join(source.names[each] for each in value)}]"
        elif struct is None:
            text = _value(source, value)
        elif isinstance(value, list):
            items = []
            for item in value:
                text, more = _arguments(source, struct, item, package, module)
                if more:
                    raise LookupError(f"{config.__name__}.{key} has no {', '.join(more)}")
                items.append(text)
            text = f"[{', '.join(items)}]"
        else:
            text, more = _arguments(source, struct, value, package, module, f"{place}{key}.")
            unknown.update(more)
        parts.append(f"{names[key]}: {text}")
    return f"{{ {', '.join(parts)} }}", unknown


@cache
def _hints(config: type) -> dict[str, Any]:
    module = importlib.import_module(config.__module__)
    return typing.get_type_hints(config.__init__, vars(module))


def _struct_of(hint: Any) -> type | None:
    """Return the struct in ``Optional[Union[IResolvable, Sequence[Union[Struct, Mapping]]]]`` or a simpler form."""
    if hasattr(hint, "__jsii_name_mapping__"):
        return typing.cast(type, hint)
    return next((found for each in typing.get_args(hint) if (found := _struct_of(each))), None)


def _value(source: _Source, value: Any) -> str:
    if isinstance(value, str):
        return _text(source, value)
    if isinstance(value, list):
        return f"[{', '.join(_value(source, each) for each in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)}: {_value(source, each)}' for key, each in value.items())} }}"
    return json.dumps(value)


def _text(source: _Source, text: str) -> str:
    """Return a literal, or a template literal with tokens instead of references to resources."""
    whole = _REFERENCE.fullmatch(text)
    if whole and (token := _token(source, *whole.groups())):
        return token
    parts: list[str] = []
    position, tokens = 0, 0
    for match in _REFERENCE.finditer(text):
        token = _token(source, *match.groups())
        if token:
            parts += [_escaped(text[position : match.start()]), "${", token, "}"]
            position, tokens = match.end(), tokens + 1
    if not tokens:
        return json.dumps(text)
    return f"`{''.join(parts)}{_escaped(text[position:])}`"


def _token(source: _Source, address: str, attribute: str) -> str | None:
    """Return a token such as ``r7.arn``; None for an unknown resource, or an attribute that is not a string."""
    if address not in source.names:
        return None
    accessor = getattr(source.classes[address], attribute, None)
    if not isinstance(accessor, property) or accessor.fget is None:
        return None
    if accessor.fget.__annotations__.get("return") not in ("builtins.str", str):
        return None
    return f"{source.names[address]}.{accessor.fget.__jsii_name__}"  # type: ignore[attr-defined]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")


# --- comparing


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items() if key != "//"}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def _differing(ours: Any, theirs: Any, place: str) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            yield from _differing(ours.get(key), theirs.get(key), f"{place}.{key}" if place else key)
    elif ours != theirs:
        yield f"{place}: {json.dumps(ours)[:200]} and {json.dumps(theirs)[:200]}"
