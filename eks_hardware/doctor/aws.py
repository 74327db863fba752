"""AWS calls with short timeouts. Each call is made once, and errors are translated for users.

boto3 is an optional dependency, imported with the first client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any

from eks_hardware.installed_from import install_command
from eks_hardware.models import AssumeRole

_CONNECT_SECONDS = 5
_READ_SECONDS = 20
_ATTEMPTS = 4


class AwsError(Exception):
    """AWS cannot be queried: no credentials, no network, an expired token, or throttling. The message says which."""


class DeniedError(Exception):
    """The caller is not allowed to make a call. ``permission`` is its IAM action, such as ``ec2:DescribeSubnets``."""

    def __init__(self, permission: str) -> None:
        self.permission = permission
        super().__init__(permission)


class CallError(Exception):
    """AWS returned another error, such as ``NoSuchEntity``. ``action`` is the call as an IAM action."""

    def __init__(self, action: str, code: str, message: str) -> None:
        self.action = action
        self.code = code
        super().__init__(message)


@dataclass(frozen=True)
class Caller:
    """The caller's identity from STS. The ARN is of the user, the root user, or the session of a role."""

    account: str
    arn: str

    @property
    def is_root(self) -> bool:
        """Whether the caller is the account's root user, which IAM policies do not limit."""
        return self.arn.endswith(":root")

    @property
    def role_name(self) -> str | None:
        """Name of the role if the caller is a role session; otherwise None."""
        match = re.search(r":assumed-role/([^/]+)/", self.arn)
        return match[1] if match else None


class Aws:
    """A thread-safe client for the APIs of one account."""

    def __init__(self, client: Callable[[str], object]) -> None:
        self._make = client  # by service name
        self._clients: dict[str, object] = {}
        self._clients_lock = Lock()
        self._answers: dict[str, Future[object]] = {}
        self._answers_lock = Lock()
        self._asked: set[str] = set()

    @property
    def asked(self) -> frozenset[str]:
        """Every call made so far, as IAM actions."""
        return frozenset(self._asked)

    def call(self, service: str, operation: str, **parameters: object) -> Mapping[str, Any]:
        """Return the response of one call, such as ``call("ec2", "describe_vpcs", VpcIds=[...])``, made only once.

        Raises:
            DeniedError: the caller is not allowed to make it.
            CallError: AWS returns another error.
            AwsError: AWS cannot be queried.
        """
        answer: Mapping[str, Any] = self._once(service, operation, None, parameters)
        return answer

    def pages(self, service: str, operation: str, key: str, **parameters: object) -> list[Any]:
        """Return all items that a call lists under ``key``, from all pages."""
        items: list[object] = self._once(service, operation, key, parameters)
        return items

    def found(
        self, codes: Sequence[str], service: str, operation: str, **parameters: object
    ) -> Mapping[str, Any] | None:
        """Return the response of one call; None if AWS returns one of these error codes."""
        try:
            return self.call(service, operation, **parameters)
        except CallError as error:
            if error.code not in codes:
                raise
            return None

    def caller(self) -> Caller:
        """Return the identity behind the credentials."""
        identity = self.call("sts", "get_caller_identity")
        return Caller(identity["Account"], identity["Arn"])

    def _once(self, service: str, operation: str, key: str | None, parameters: Mapping[str, Any]) -> Any:
        name = json.dumps([service, operation, key, parameters], sort_keys=True)
        with self._answers_lock:
            answer = self._answers.get(name)
            mine = answer is None
            if answer is None:
                answer = self._answers[name] = Future()
        if mine:
            try:
                answer.set_result(self._ask(service, operation, key, parameters))
            except BaseException as error:
                answer.set_exception(error)
        return answer.result()

    def _ask(self, service: str, operation: str, key: str | None, parameters: Mapping[str, Any]) -> object:
        client = self._client(service)
        if operation not in client.meta.method_to_api_mapping:
            raise CallError(
                f"{service}:{operation}", "UnknownOperation", "boto3 is too old for this call; update boto3"
            )
        action = f"{client.meta.service_model.signing_name}:{client.meta.method_to_api_mapping[operation]}"
        self._asked.add(action)
        try:
            if key is None:
                return getattr(client, operation)(**parameters)
            if not client.can_paginate(operation):
                return getattr(client, operation)(**parameters)[key]
            pages = client.get_paginator(operation).paginate(**parameters)
            return [item for page in pages for item in page.get(key, ())]
        except Exception as error:
            raise translated(error, action) from None

    def _client(self, service: str) -> Any:
        # boto3 sessions are not thread-safe, its clients are.
        with self._clients_lock:
            if service not in self._clients:
                try:
                    self._clients[service] = self._make(service)
                except Exception as error:
                    raise translated(error, f"{service}:*") from None
            return self._clients[service]


class RoleNotAssumedError(Exception):
    """The role that Terraform would assume cannot be assumed. The message says why."""


def connect(region: str, *, profile: str | None = None, assume_role: AssumeRole | None = None) -> Aws:
    """Return a client for the account that Terraform would deploy to.

    The credentials are those of the profile or the environment, or of the role that is assumed with them.

    Raises:
        AwsError: boto3 is missing, the profile does not exist, or AWS cannot be queried.
        RoleNotAssumedError: ``assume_role`` is refused.
    """
    try:
        boto3 = import_module("boto3")
        config = import_module("botocore.config").Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            user_agent_extra="eks-hardware-doctor",
        )
    except ModuleNotFoundError:
        raise AwsError(f"boto3 is not installed: {install_command('doctor')}") from None
    try:
        session = boto3.Session(profile_name=profile, region_name=region)
    except Exception as error:
        raise translated(error, "sts:GetCallerIdentity") from None
    aws = Aws(lambda service: session.client(service, config=config))
    if assume_role is None:
        return aws
    given = {
        "RoleArn": assume_role.role_arn,
        "RoleSessionName": assume_role.session_name or "eks-hardware-doctor",
        **({"ExternalId": assume_role.external_id} if assume_role.external_id else {}),
    }
    try:
        credentials = aws.call("sts", "assume_role", **given)["Credentials"]
    except (DeniedError, CallError) as error:
        raise RoleNotAssumedError(str(error)) from None
    assumed = boto3.Session(
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
        region_name=region,
    )
    return Aws(lambda service: assumed.client(service, config=config))


# --- errors

_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnauthorizedAccess", "NotAuthorized"}
_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "RequestExpired"}
_NOT_ACCEPTED = {
    "AuthFailure",
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "OptInRequired",
    "SignatureDoesNotMatch",
    "SubscriptionRequiredException",
    "UnrecognizedClientException",
}
_THROTTLED = {
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
}
_NO_CREDENTIALS = ("CredentialRetrievalError", "InvalidConfigError", "NoCredentialsError", "PartialCredentialsError")
_SIGN_IN = ("SSOError", "TokenRetrievalError", "LoginError")


def translated(error: Exception, action: str) -> Exception:
    """Translate a boto3 exception into :class:`DeniedError`, :class:`CallError` or :class:`AwsError`.

    Other exceptions are returned unchanged. ``action`` is the call that raised it.
    """
    known = import_module("botocore.exceptions")
    if isinstance(error, known.ClientError):
        return _of_answer(getattr(error, "response", {}).get("Error", {}), action)
    if not isinstance(error, known.BotoCoreError):
        return error
    text = str(error).rstrip(".")
    lower = f"{text[:1].lower()}{text[1:]}"
    if _is(error, known, _SIGN_IN):
        return AwsError(f"the sign-in has expired: {text}; run aws sso login")
    if _is(error, known, _NO_CREDENTIALS):
        return AwsError(f"no AWS credentials ({text}); set AWS_PROFILE, use --profile, or run aws configure")
    if _is(error, known, ("ProfileNotFound",)):
        return AwsError(f"{lower}; aws configure list-profiles lists the existing ones")
    if _is(error, known, ("HTTPClientError", "ConnectionError")):
        return AwsError(f"no response from AWS ({action}): {lower}")
    return AwsError(f"{action}: {lower}")


def _is(error: Exception, known: object, names: tuple[str, ...]) -> bool:
    # Not every botocore version has all of these exceptions.
    return isinstance(
        error, tuple(error_class for error_class in (getattr(known, name, None) for name in names) if error_class)
    )


def _of_answer(answer: Mapping[str, Any], action: str) -> Exception:
    code, message = str(answer.get("Code", "")), str(answer.get("Message", "")).rstrip(".")
    if code in _DENIED:
        return DeniedError(action)
    if code in _EXPIRED:
        return AwsError(f"the credentials have expired ({action}); renew them, for example with aws sso login")
    if code in _NOT_ACCEPTED:
        hint = "check the access key, and that the region is enabled in the account"
        return AwsError(f"AWS rejected the credentials ({action}, {code}); {hint}")
    if code in _THROTTLED:
        return AwsError(f"AWS throttles {action} ({code}); wait a minute and try again")
    return CallError(action, code, message)
