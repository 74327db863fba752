"""``assert_no_public_api``: accepted stacks, and failure messages for others."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.testing import Template, assert_no_public_api
from helpers.cases import in_one_test

OFFICE = ["198.51.100.0/24"]


def template_with_clusters(*configs: dict[str, Any] | list[dict[str, Any]] | None) -> Template:
    clusters = {
        f"c{index}": {"//": {"metadata": {"path": f"demo/c{index}"}}, "name": "x", "vpc_config": config}
        for index, config in enumerate(configs)
    }
    return Template({"resource": {"aws_eks_cluster": clusters}})


def vpc_config(public: object = None, cidrs: object = None) -> dict[str, Any]:
    given = {"endpoint_public_access": public, "public_access_cidrs": cidrs}
    return {key: value for key, value in given.items() if value is not None}


CLOSED: dict[str, dict[str, Any] | list[dict[str, Any]]] = {
    "private": vpc_config(False),
    "private, whatever is listed": vpc_config(False, ["0.0.0.0/0"]),
    "as text": vpc_config("false"),
    "for the office": vpc_config(True, OFFICE),
    "for the office, by default public": vpc_config(None, OFFICE),
    "two halves of a half": vpc_config(True, ["0.0.0.0/2", "64.0.0.0/2"]),
    "one kind of address": vpc_config(True, ["2600:1f14::/32"]),
    "a block in a list": [vpc_config(False)],
}

OPEN: dict[str, tuple[dict[str, Any] | list[dict[str, Any]] | None, str]] = {
    "everyone": (vpc_config(True, ["0.0.0.0/0"]), "public_access_cidrs has 0.0.0.0/0"),
    "everyone among others": (vpc_config(True, [*OFFICE, "0.0.0.0/0"]), "public_access_cidrs has 0.0.0.0/0"),
    "everyone with IPv6": (vpc_config(True, [*OFFICE, "::/0"]), "public_access_cidrs has ::/0"),
    "host bits set": (vpc_config(True, ["10.0.0.0/0"]), "public_access_cidrs has 10.0.0.0/0"),
    "two halves": (vpc_config(True, ["0.0.0.0/1", "128.0.0.0/1"]), "public_access_cidrs has 0.0.0.0/1, 128.0.0.0/1"),
    "no networks": (vpc_config(True), "public_access_cidrs is not set, and the default is 0.0.0.0/0"),
    "no networks in the list": (vpc_config(True, []), "public_access_cidrs is not set, and the default is 0.0.0.0/0"),
    "nothing at all": (
        {},
        "endpoint_public_access is not set, and the default is true; "
        "public_access_cidrs is not set, and the default is 0.0.0.0/0",
    ),
    "no block": (
        None,
        "endpoint_public_access is not set, and the default is true; "
        "public_access_cidrs is not set, and the default is 0.0.0.0/0",
    ),
    "a block in a list": ([vpc_config(True, ["0.0.0.0/0"])], "public_access_cidrs has 0.0.0.0/0"),
    "as text": (vpc_config("true", "0.0.0.0/0"), "public_access_cidrs has 0.0.0.0/0"),
    "not a network": (vpc_config(True, ["office"]), "public_access_cidrs has office, which is not a valid network"),
    "a variable": (
        vpc_config(True, ["${var.cidrs}"]),
        "public_access_cidrs has ${var.cidrs}, which only Terraform knows",
    ),
    "a list that is a variable": (
        vpc_config(True, "${var.cidrs}"),
        "public_access_cidrs has ${var.cidrs}, which only Terraform knows",
    ),
    "a switch that is a variable": (
        vpc_config("${var.public}"),
        "endpoint_public_access is '${var.public}', which only Terraform knows; "
        "public_access_cidrs is not set, and the default is 0.0.0.0/0",
    ),
}


@in_one_test("given", CLOSED.values(), ids=CLOSED)
def test_passes(given: dict[str, Any] | list[dict[str, Any]]) -> None:
    assert_no_public_api(template_with_clusters(given))


@in_one_test(("given", "said"), OPEN.values(), ids=OPEN)
def test_fails_with_the_address_and_the_networks(
    given: dict[str, Any] | list[dict[str, Any]] | None, said: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_no_public_api(template_with_clusters(given))
    assert str(caught.value) == (
        f"the whole internet can reach the Kubernetes API of\n  aws_eks_cluster.c0 (demo/c0): {said}"
    )


def test_every_open_cluster_is_named() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_no_public_api(template_with_clusters(vpc_config(True), vpc_config(False), vpc_config(True, ["::/0"])))
    assert [line.split()[0] for line in str(caught.value).splitlines()[1:]] == [
        "aws_eks_cluster.c0",
        "aws_eks_cluster.c2",
    ]


def test_a_stack_without_a_cluster_passes() -> None:
    assert_no_public_api(Template({"resource": {"aws_vpc": {"a": {}}}}))


def test_a_stack_is_synthesized_first() -> None:
    class Stack:
        def prepare_stack(self) -> None: ...

        def run_all_validations(self) -> None: ...

        def to_terraform(self) -> dict[str, object]:
            return {"resource": {"aws_eks_cluster": {"main": {"vpc_config": {}}}}}

    with pytest.raises(AssertionError, match=r"aws_eks_cluster\.main"):
        assert_no_public_api(Stack())


@pytest.mark.parametrize("cidrs", [["::/1", "8000::/1"], [None]])
def test_halves_of_the_internet_and_nothing_at_all(cidrs: list[str | None]) -> None:
    cluster = {"vpc_config": {"endpoint_public_access": True, "public_access_cidrs": cidrs}}
    with pytest.raises(AssertionError):
        assert_no_public_api(Template({"resource": {"aws_eks_cluster": {"main": cluster}}}))
