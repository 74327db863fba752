"""The AWS price list as Karpenter reads it, with prices from ``config/prices``. ministack does not emulate it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.local.emulator_patches.asgi import answer, body_of
from eks_hardware.local.emulator_patches.ec2_protocol import page

_TARGET = b"AWSPriceListService.GetProducts"
_PER_PAGE = 100
_METAL = "Compute Instance (bare metal)"


def priced(app: Callable[..., Any]) -> Callable[..., object]:
    """Wrap an ASGI application to answer ``GetProducts``, too."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or dict(scope["headers"]).get(b"x-amz-target") != _TARGET:
            await app(scope, receive, send)
            return
        products = get_products(json.loads(await body_of(receive)))
        await answer(send, json.dumps(products).encode(), content_type="application/x-amz-json-1.1")

    return call


def get_products(asked: Mapping[str, Any]) -> dict[str, object]:
    """Answer ``GetProducts`` for Linux instances with shared tenancy, and for bare metal, which has no shared tenancy.

    The answer contains no other kinds of products.

    Source: https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html
    """
    wanted = {filter_["Field"]: filter_["Value"] for filter_ in asked.get("Filters", ())}
    is_metal = wanted.get("productFamily") == _METAL
    is_known = is_metal or wanted.get("tenancy", "Shared") == "Shared"
    products = list(_products(wanted, is_metal=is_metal)) if is_known else []
    shown, more = page(products, asked, _PER_PAGE)
    return {"FormatVersion": "aws_v1", "PriceList": [json.dumps(each) for each in shown], **more}


def _products(wanted: Mapping[str, str], *, is_metal: bool) -> Iterator[dict[str, object]]:
    region = wanted.get("regionCode", "us-east-1")
    for name in sorted(facts.on_demand_prices()["types"]):
        price = load().price(name, region)
        if price is None or (".metal" in name) != is_metal or wanted.get("instanceType", name) != name:
            continue
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": f"{price.usd_per_hour:.10f}"}}
        yield {
            "product": {
                "productFamily": _METAL if is_metal else "Compute Instance",
                "attributes": {"instanceType": name, "regionCode": region},
            },
            "serviceCode": "AmazonEC2",
            "terms": {"OnDemand": {f"{name}.term": {"priceDimensions": {f"{name}.rate": dimension}}}},
        }
