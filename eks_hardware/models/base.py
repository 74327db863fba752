"""The base of all strategy models (immutable, without unknown fields), and field types with AWS's limits."""

from __future__ import annotations

import ipaddress
import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from eks_hardware import facts, field_paths
from eks_hardware.models.text_patterns import pattern
from eks_hardware.printable import joined, quoted
from eks_hardware.spellings import DNS_LABEL


def _without_examples(schema: dict[str, Any]) -> None:
    """Remove examples from descriptions: the JSON Schema is for authors of YAML, not of Python."""
    if "description" in schema:
        schema["description"] = schema["description"].partition("\n\nExamples:\n")[0]
    for field in schema.get("properties", {}).values():
        field.pop("examples", None)


class StrategyModel(BaseModel):
    """Base of every model in a strategy file: immutable, and an unknown field is an error.

    In addition to a field's own limits, no text may contain anything that Terraform or CDK for Terraform would
    evaluate.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        str_strip_whitespace=False,
        defer_build=True,
        json_schema_extra=_without_examples,
    )

    if not TYPE_CHECKING:

        def __init__(self, /, **data: Any) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                # Only for models built in Python: a file's errors are translated separately, with positions.
                from eks_hardware.loader.python_errors import translated

                raise translated(error, type(self), data) from None

        # Nested models, and models of files, are still created without this method.
        __init__.__pydantic_base_init__ = True

    @field_validator("*", mode="after")
    @staticmethod
    def _is_not_evaluated(value: object) -> Any:
        if not isinstance(value, (str, dict, list, tuple)):
            return value
        for path, text in _texts(value, ""):
            if fault := _fault_of_evaluation(text):
                raise fault.error(path)
        return value


def invalid(code: str, message: str, field: str = "", *, fix: str = "") -> PydanticCustomError:
    """Return the error for a value, or for the field at a path below it.

    With a separate ``fix``, the loader can insert the given value into the message, before the fix.
    """
    # The message must be last, because pydantic also replaces names in braces in the user's text. Pydantic's
    # types require literals.
    context = {**({"field": field} if field else {}), **({"fix": fix} if fix else {}), "message": message}
    template = "{message}; {fix}" if fix else "{message}"
    return PydanticCustomError(code, template, context)  # type: ignore[arg-type, unused-ignore]


def refuse_other_than_one(code: str, given: Mapping[str, object], *, at_second: bool = False) -> None:
    """Raise an error unless exactly one of the given fields has a value.

    Args:
        code: the code of the error.
        given: the fields with their values; None or an empty collection counts as missing.
        at_second: if several fields have a value, report the error at the second of them, not at the model.
    """
    names = [f"'{name}'" for name in given]
    used = [name for name, value in given.items() if value is not None and value != () and value != {}]
    if len(used) == 1:
        return
    if used:
        got = "both" if len(names) == 2 else joined([f"'{name}'" for name in used], "and")
    else:
        got = "neither" if len(names) == 2 else "none"
    fix = f"{got}; {'remove' if len(used) == 2 else 'keep' if used else 'add'} one"
    raise invalid(
        code, f"must have exactly one of {joined(names, 'and')}, got {fix}", used[1] if used and at_second else ""
    )


LISTED_TWICE = '"{value}" is listed twice; remove one'


def refuse_second(
    values: Iterable[object], field: str, code: str, message: str = LISTED_TWICE, *, key: str = ""
) -> None:
    """Raise an error for the first value that occurs twice in the list ``field``, or as the ``key`` of its items.

    ``{value}`` in the message is replaced by the value.
    """
    seen: list[object] = []
    for path, value in field_paths.items(field, values):
        if value in seen:
            at_fault = field_paths.below(path, key) if key else path
            raise invalid(code, message.replace("{value}", str(value)), at_fault)
        seen.append(value)


def refuse_second_name(items: Iterable[Any], field: str, message: str) -> None:
    """Raise an error for the first list item that has the same name as an earlier item."""
    refuse_second([item.name for item in items], field, "name_duplicate", message, key="name")


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield keys and texts within lists and mappings, each with its path; models inside validate their own."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            place = field_paths.below(path, str(key))
            yield from ((place, text) for _, text in _texts(key, place))
            yield from _texts(each, place)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _texts(each, field_paths.item(path, index))


class _ValueFault(NamedTuple):
    """An error in a value whose path is not known yet."""

    code: str
    message: str
    fix: str = ""

    def error(self, field: str = "") -> PydanticCustomError:
        """Return the error for the field at a path below the value."""
        return invalid(self.code, self.message, field, fix=self.fix)


def _no_control_characters_or_template(value: str) -> str:
    if fault := _fault_of_text(value):
        raise fault.error()
    return value


# Control characters, and invisible characters that reverse or hide text, or end a line for some programs only:
# https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def _fault_of_text(value: str, allowed: str = "") -> _ValueFault | None:
    unseen = next((character for character in _UNSEEN.findall(value) if character not in allowed), None)
    if unseen is not None:
        if unseen in "\r\n":
            fix = "write it on one line, or with >- instead of |"
            return _ValueFault("text_control_character", "must not contain line breaks", fix)
        message = f"must not contain the control character U+{ord(unseen):04X}"
        return _ValueFault("text_control_character", message, "remove it")
    return _fault_of_evaluation(value)


# CDK for Terraform encodes references as text or as numbers, and searches every text for both. Text that only looks
# like a reference makes it fail with its own error.
# https://github.com/hashicorp/terraform-cdk/blob/v0.21.0/packages/cdktf/lib/tokens/private/encoding.ts
_TOKEN = "{TfToken["
_TOKEN_VALUES = ("String Map Token Value", "Any Map Token Value")
_TOKEN_BITS = b"\xfd\xff"
_DIGITS = re.compile(r"[-|0-9.+]+")
_EXPONENT = re.compile(r"e[-|0-9.eE+]")
# Bounded like a run of digits, so matching stays fast.
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]{1,1000})?")
# The matching time grows with the square of the length of a run.
_LONGEST_DIGITS = 1000


# eks-hardware's own marks for values that are unknown until AWS has created a resource.
_MARK = re.compile(r"@\{[a-z][a-z0-9_]*\}|@eks-hardware:")


def _fault_of_evaluation(value: str) -> _ValueFault | None:
    # A strategy's text is written to Terraform JSON, where ${ and %{ start an expression.
    if "${" in value or "%{" in value:
        message = "must not contain '${' or '%{', which Terraform would evaluate"
        return _ValueFault("text_template", message, "remove them")
    if mark := _MARK.search(value):
        message = f"must not contain {quoted(mark.group())}, which marks a reference"
        return _ValueFault("text_template", message, "use other text")
    if _TOKEN in value or value in _TOKEN_VALUES:
        message = "must not contain a reference marker of CDK for Terraform"
        return _ValueFault("text_template", message, "use other text")
    for digits in _DIGITS.finditer(value):
        if digits.end() - digits.start() > _LONGEST_DIGITS:
            message = f"must have at most {_LONGEST_DIGITS} digits, dots and dashes in a row"
            return _ValueFault("field_length", message, "shorten it")
        if _EXPONENT.match(value, digits.end()) and _is_token(_NUMBER.match(value, digits.start())):
            numbers = "a number from -8.37e298 to -8.1e298, which CDK for Terraform uses as a reference"
            return _ValueFault("text_template", f"must not contain {numbers}", "use another number")
    return None


def _is_token(number: re.Match[str] | None) -> bool:
    return number is not None and struct.pack(">d", float(number.group()))[:2] == _TOKEN_BITS


def _json(value: dict[str, Any]) -> dict[str, Any]:
    for path, fault in _faults_of_json(value, ""):
        raise fault.error(path)
    return value


def _faults_of_json(value: object, path: str) -> Iterator[tuple[str, _ValueFault]]:
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                yield path, _ValueFault("json_key", "must have strings as keys", "put the key in quotes")
                continue
            if fault := _fault_of_text(key):
                yield path, fault._replace(message=f"a key {fault.message}")
            yield from _faults_of_json(each, field_paths.below(path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _faults_of_json(each, field_paths.item(path, index))
    elif isinstance(value, str):
        # Configuration files inside a setting can have lines and tabs.
        if fault := _fault_of_text(value, allowed="\n\t"):
            yield path, fault
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, _ValueFault("json_number", "must be a finite number in JSON", "write a number, or text in quotes")
    elif isinstance(value, float) and (fault := _fault_of_evaluation(repr(value))):
        yield path, fault
    elif value is not None and not isinstance(value, bool | int | float):
        yield path, _ValueFault("json_type", "must be text, a number, true, false, a list or a mapping")


JsonObject = Annotated[dict[str, Any], AfterValidator(_json)]
"""Settings of any shape that JSON supports, safe in Terraform JSON."""


def _network(value: str) -> str:
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError:
        try:
            fix = f"write {ipaddress.IPv4Network(value, strict=False)}"
        except ValueError:
            fix = "write an address and a prefix length, such as 10.0.0.0/16"
            raise invalid("cidr_invalid", "must be an IPv4 network", fix=fix) from None
        raise invalid("cidr_invalid", "must be an IPv4 network without host bits", fix=fix) from None
    if value != str(network):  # 10.0.0.0 without a prefix, 10.0.0.0/255.255.0.0, 10.0.0.0/016: AWS rejects them all
        raise invalid("cidr_invalid", "must be an IPv4 network in CIDR notation", fix=f"write {network}")
    return value


Text = Annotated[str, AfterValidator(_no_control_characters_or_template)]
"""Free text that is safe in Terraform JSON."""

Name = Annotated[
    str,
    pattern(
        f"^{DNS_LABEL.pattern}$",
        "a name of lower-case letters, digits and hyphens, such as gpu-training",
        min_length=1,
        max_length=63,
    ),
]
"""The name of a node group or another item: a DNS label, and therefore also a valid Kubernetes label value."""

ClusterName = Annotated[
    str,
    pattern(
        r"^[0-9A-Za-z][0-9A-Za-z_-]*$",
        "a name of letters, digits, hyphens and underscores, such as research-prod",
        min_length=1,
        max_length=100,
    ),
]
"""EKS: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html (name)."""

Cidr = Annotated[str, AfterValidator(_network)]
"""An IPv4 network such as ``10.0.0.0/16``, host bits zero."""

ZoneId = Annotated[
    str,
    pattern(
        r"^[a-z]{2,5}[0-9]{1,2}(-az[1-8]|(-[a-z0-9]{2,8}){1,3}-(az|wlz)[1-8])$",
        "a zone ID such as usw2-az1 (names such as us-west-2a differ between accounts)",
    ),
]
"""The *ID* of an Availability Zone, such as ``usw2-az1``, of a Local Zone, such as ``use1-dfw2-az1``, or of a
Wavelength Zone, such as ``use1-wl1-bos-wlz1``.

Names (``us-west-2a``) differ between accounts. Local Zones:
https://docs.aws.amazon.com/local-zones/latest/ug/available-local-zones.html
"""

Arn = Annotated[
    str, StringConstraints(pattern=r"^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:([0-9]{12}|aws)?:[A-Za-z0-9+=,.@_:/*-]+$")
]
"""Any ARN. In the ARNs of AWS's own policies, the account is ``aws``."""

IamPrincipalArn = Annotated[
    str,
    pattern(
        r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9+=,.@_/-]+$",
        "the ARN of an IAM role or user, such as arn:aws:iam::111122223333:role/platform",
    ),
]

IamPolicyArn = Annotated[
    str,
    pattern(
        r"^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[A-Za-z0-9+=,.@_/-]+$",
        "the ARN of an IAM policy, such as arn:aws:iam::111122223333:policy/boundary",
    ),
]

KmsKeyArn = Annotated[
    str,
    pattern(
        r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$",
        "the ARN of a KMS key (not of an alias), such as arn:aws:kms:us-west-2:111122223333:key/1234abcd",
    ),
]

SubnetId = Annotated[str, pattern(r"^subnet-[0-9a-f]{8,17}$", "a subnet ID such as subnet-0123456789abcdef0")]
VpcId = Annotated[str, pattern(r"^vpc-[0-9a-f]{8,17}$", "a VPC ID such as vpc-0123456789abcdef0")]
ImageId = Annotated[str, pattern(r"^ami-[0-9a-f]{8,17}$", "an AMI ID such as ami-0123456789abcdef0")]
ReservationId = Annotated[
    str, pattern(r"^cr-[0-9a-f]{8,17}$", "the ID of a capacity reservation, such as cr-0123456789abcdef0")
]
AccountId = Annotated[str, pattern(r"^[0-9]{12}$", 'an account ID of 12 digits in quotes, such as "111122223333"')]
KubernetesMinor = Annotated[str, pattern(r"^1\.[0-9]{2}$", 'a Kubernetes minor version in quotes, such as "1.35"')]
InstanceTypeName = Annotated[str, pattern(r"^[a-z0-9-]+\.[a-z0-9-]+$", "an instance type such as p5.48xlarge")]


def _bucket_name(value: str) -> str:
    reserved = facts.account()["bucket_names"]
    if ".." in value or _IP_ADDRESS.fullmatch(value):
        wrong = "have two dots in a row" if ".." in value else "look like an IP address"
        raise invalid("bucket_name", f"must not {wrong}", fix="correct the name")
    for prefix in reserved["prefixes"]:
        if value.startswith(prefix):
            raise invalid("bucket_name", f"must not start with '{prefix}', which S3 reserves", fix="correct the name")
    for suffix, what in reserved["suffixes"].items():
        if value.endswith(suffix):
            raise invalid(
                "bucket_name",
                f"must not end with '{suffix}', which S3 reserves for {what}",
                fix="write the name of a bucket",
            )
    if value.endswith(reserved["directory_suffix"]) and not _DIRECTORY_BUCKET.fullmatch(value):
        raise invalid(
            "bucket_name",
            "must end with the zone ID and --x-s3, as the names of directory buckets do",
            fix="write it like models--usw2-az1--x-s3",
        )
    return value


_DIRECTORY_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]*--[a-z]{2,5}[0-9]{1,2}(-[a-z]{3}[0-9])?-az[1-8]--x-s3")
_IP_ADDRESS = re.compile(r"([0-9]{1,3}\.){3}[0-9]{1,3}")

BucketName = Annotated[
    str,
    pattern(r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", "a bucket name such as my-models"),
    AfterValidator(_bucket_name),
]
"""Name of an S3 bucket: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html"""


def _tag_key(value: str) -> str:
    if value.lower().startswith("aws:"):
        raise invalid("tag_reserved", "must not start with 'aws:', which AWS reserves", fix="choose another key")
    return value


Tags = dict[
    Annotated[
        Text,
        pattern(r"^[\w .:/=+@-]+$", "text of letters, digits, spaces and .:/=+@_-", min_length=1, max_length=128),
        AfterValidator(_tag_key),
    ],
    Annotated[Text, pattern(r"^[\w .:/=+@-]*$", "text of letters, digits, spaces and .:/=+@_-", max_length=256)],
]
"""AWS tags: https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html#tag-conventions."""
