"""A webhook for kube-apiserver: authenticates tokens and authorizes requests, as EKS's control plane does.

A ``TokenReview`` identifies the caller: a token from ``aws eks get-token`` is a presigned request to STS, and the
caller's access entry sets the user name and groups. A ``SubjectAccessReview`` checks whether the entry's access
policies allow a request; Kubernetes RBAC evaluates the groups' permissions.

Sources:
    https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
    https://docs.aws.amazon.com/eks/latest/userguide/access-policies.html
    https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster (token format)
"""

from __future__ import annotations

import base64
import binascii
import datetime
import fnmatch
import hashlib
import hmac
import json
import os
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

Map = Mapping[str, Any]

NAMES = frozenset(
    {
        "_ACCESS_POLICY_RULES",
        "_access_entry_for_principal",
        "_access_policy_associations",
        "_access_policy_name",
        "_handle_auth_webhook",
        "_json_resp",
        "build_canonical_request",
        "build_string_to_sign",
        "calculate_signature",
        "resolve_credential",
    }
)
"""The names of ministack's module that the patch needs."""

_PREFIX = "k8s-aws-v1."
_CLUSTER_HEADER = "x-k8s-aws-id"
_NO_BODY = hashlib.sha256(b"").hexdigest()
# Longer than the 60 s for which the URL itself is valid, because clients reuse a token.
_VALID = datetime.timedelta(minutes=15)
_ARN = "arn"
"""The user's extra field with the principal of the access entry, as on EKS."""


def install(eks: dict[str, Any]) -> None:
    """Replace ministack's webhook, which accepts every caller and leaves permissions to k3s."""

    def review(cluster: str, account: str, region: str, body: bytes, secret: str) -> object:
        asked = json.loads(body)
        access = _Access(eks, cluster, account, region)
        # The port is open to this machine, but only the API server that the emulator's owner started has the secret.
        trusted = hmac.compare_digest(secret, os.environ.get("MINISTACK_EDITION", ""))
        status = access.authorization if asked["kind"] == "SubjectAccessReview" else access.authentication
        found = status(asked["spec"]) if trusted else {}
        return eks["_json_resp"](200, {"apiVersion": asked["apiVersion"], "kind": asked["kind"], "status": found})

    eks["_handle_auth_webhook"] = review


class _Access:
    """The access entries and access policies of one cluster."""

    def __init__(self, eks: Map, cluster: str, account: str, region: str) -> None:
        self._eks = eks
        self._cluster = (cluster, account, region)

    def authentication(self, spec: Map) -> dict[str, object]:
        """Return the status of a TokenReview: a caller without an access entry is not authenticated."""
        principal = self._principal(str(spec.get("token", "")))
        entry = principal and self._eks["_access_entry_for_principal"](*self._cluster, principal)
        if not entry:
            return {"authenticated": False}
        session = principal.rpartition("/")[2]
        user = {
            "username": (entry["username"] or principal).replace("{{SessionName}}", session),
            "groups": ["system:authenticated", *entry["kubernetesGroups"]],
            "extra": {_ARN: [entry["principalArn"]]},
        }
        return {"authenticated": True, "user": user}

    def authorization(self, spec: Map) -> dict[str, object]:
        """Return the status of a SubjectAccessReview. RBAC may still allow a request that no access policy allows."""
        (principal,) = (spec.get("extra") or {}).get(_ARN) or [""]
        return {"allowed": any(_allows(rule, spec) for rule in self._rules(principal, spec))}

    def _rules(self, principal: str, spec: Map) -> Iterator[Map]:
        """Yield the rules of the principal's access policies whose scope includes the request's namespace."""
        namespace = (spec.get("resourceAttributes") or {}).get("namespace", "")
        for each, policy, association in self._eks["_access_policy_associations"](*self._cluster):
            scope = association["accessScope"]
            in_scope = scope["type"] == "cluster" or any(
                fnmatch.fnmatchcase(namespace, pattern) for pattern in scope.get("namespaces") or () if namespace
            )
            if each == principal and in_scope:
                yield from self._eks["_ACCESS_POLICY_RULES"][self._eks["_access_policy_name"](policy)]

    def _principal(self, token: str) -> str:
        """Return the ARN of the identity that signed a token for this cluster; empty if the token is invalid."""
        try:
            url = urllib.parse.urlsplit(_url(token))
            query = dict(urllib.parse.parse_qsl(url.query, strict_parsing=True))
            key, date, region, service, _ = query["X-Amz-Credential"].split("/")
            signed_at = datetime.datetime.strptime(query["X-Amz-Date"] + "+0000", "%Y%m%dT%H%M%SZ%z")
            given, headers = query["X-Amz-Signature"], query["X-Amz-SignedHeaders"]
        except (KeyError, ValueError):
            return ""
        age = abs(datetime.datetime.now(datetime.timezone.utc) - signed_at)
        if query.get("Action") != "GetCallerIdentity" or service != "sts" or age > _VALID:
            return ""
        # The cluster's name is not in the URL: the client signed it as a header.
        values = {"host": url.netloc, _CLUSTER_HEADER: self._cluster[0]}
        if sorted(headers.split(";")) != sorted(values):
            return ""
        credential = self._eks["resolve_credential"](key, self._cluster[1], query.get("X-Amz-Security-Token"))
        secret = getattr(credential, "secret_access_key", None)
        if secret is None:
            return ""
        canonical = self._eks["build_canonical_request"](
            "GET", url.path or "/", values, query, headers, payload_hash=_NO_BODY
        )
        text = self._eks["build_string_to_sign"](query["X-Amz-Date"], date, region, service, canonical)
        expected = self._eks["calculate_signature"](secret, date, region, service, text)
        return str(credential.principal_arn) if hmac.compare_digest(expected, given) else ""


def _url(token: str) -> str:
    """Return the presigned URL in a token.

    Raises:
        ValueError: this is not an EKS token.
    """
    if not token.startswith(_PREFIX):
        raise ValueError(token)
    encoded = token.removeprefix(_PREFIX)
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except binascii.Error as error:
        raise ValueError(token) from error


def _allows(rule: Map, spec: Map) -> bool:
    """Return whether a rule, as in a ClusterRole, allows a request."""
    values: tuple[tuple[str, str], ...]
    if resource := spec.get("resourceAttributes"):
        name = "/".join(filter(None, (resource.get("resource"), resource.get("subresource"))))
        values = (("apiGroups", resource.get("group", "")), ("resources", name), ("verbs", resource["verb"]))
    else:
        other = spec["nonResourceAttributes"]
        values = (("nonResourceURLs", other["path"]), ("verbs", other["verb"]))
    return all(value in rule.get(field, ()) or "*" in rule.get(field, ()) for field, value in values)
