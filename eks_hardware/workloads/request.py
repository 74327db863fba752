"""The requested workload: its kind, where it runs, and its size."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from eks_hardware.spellings import DNS_LABEL

Kind = Literal["job", "deployment", "pytorchjob", "smoke-test"]
Check = Literal["nvidia-smi", "neuron-ls", "efa", "nccl", "neuron-collective"]

KINDS: tuple[Kind, ...] = get_args(Kind)
CHECKS: tuple[Check, ...] = get_args(Check)
"""Smoke tests in the order in which they run: later ones assume that earlier ones passed."""

# Names of Services and PyTorchJobs start with a letter, and a pod's name adds `-worker-` and a number:
# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#rfc-1035-label-names
NAME_LENGTH = 48
_NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_LABEL_LENGTH = 63
# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names
_SECRET = re.compile(rf"(?=.{{1,253}}$){DNS_LABEL.pattern}(\.{DNS_LABEL.pattern})*")
# https://github.com/distribution/reference/blob/main/reference.go, without the Docker Hub's short forms.
_IMAGE = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?"
    r"(@sha256:[0-9a-f]{64})?"
)
_IMAGE_LENGTH = 512
# Scripts contain line breaks and tabs. Other control characters are not allowed in a manifest.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_MOST = 100_000


class WorkloadError(ValueError):
    """Raised for an impossible workload, with a code, the option at fault, and a fix.

    Attributes:
        code: stable, upper-case identifier.
        option: the option at fault: ``--group``.
    """

    def __init__(self, code: str, option: str, message: str) -> None:
        self.code = code
        self.option = option
        self.message = message
        super().__init__(f"error {code} {option}: {message}")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A workload from the command line. None lets the hardware decide."""

    kind: Kind
    group: str  # name of a node group or a node pool
    nodes: int = 1  # pods of a job or PyTorchJob, replicas of a deployment
    accelerators: int | None = None  # GPUs, Neuron devices, shares or slices of each pod
    image: str | None = None
    command: tuple[str, ...] = ()  # words of the container's command; empty for the image's own
    port: int | None = None  # port that a deployment's containers listen on
    env_from: str | None = None  # Secret whose keys become environment variables
    name: str | None = None
    namespace: str | None = None
    queue: str | None = None  # Kueue LocalQueue
    checks: tuple[Check, ...] = ()  # smoke tests; empty for all that apply
    independent: bool = False  # whether the pods of a job do not communicate

    @property
    def is_distributed(self) -> bool:
        """Whether several pods work on one job and communicate."""
        return self.nodes > 1 and self.kind != "deployment" and not self.independent

    def check(self) -> None:
        """Refuse texts and numbers that are not valid in a manifest.

        Raises:
            WorkloadError: WORKLOAD_NAME, WORKLOAD_IMAGE, WORKLOAD_COMMAND, WORKLOAD_NUMBER, WORKLOAD_OPTION.
        """
        if self.name is not None and not (_NAME.fullmatch(self.name) and len(self.name) <= NAME_LENGTH):
            _refuse(
                "--name",
                self.name,
                f"at most {NAME_LENGTH} lower-case letters, digits and hyphens, starting with a letter",
            )
        for option, given in (("--namespace", self.namespace), ("--queue", self.queue)):
            if given is not None and not (DNS_LABEL.fullmatch(given) and len(given) <= _LABEL_LENGTH):
                _refuse(option, given, f"at most {_LABEL_LENGTH} lower-case letters, digits and hyphens")
        if self.env_from is not None and not _SECRET.fullmatch(self.env_from):
            _refuse("--env-from", self.env_from, "at most 253 lower-case letters, digits, hyphens and dots")
        if self.image is not None and not (_IMAGE.fullmatch(self.image) and len(self.image) <= _IMAGE_LENGTH):
            message = (
                f"{shown(self.image)} is not an image name; use REGISTRY/NAME:TAG, such as registry.example/train:1.0"
            )
            raise WorkloadError("WORKLOAD_IMAGE", "--image", message)
        for word in self.command:
            if _CONTROL.search(word):
                message = f"{shown(word)} contains a control character; remove it"
                raise WorkloadError("WORKLOAD_COMMAND", "--command", message)
        for option, number, most in (
            ("--nodes", self.nodes, _MOST),
            ("--accelerators", self.accelerators, _MOST),
            ("--port", self.port, 65535),
        ):
            if number is not None and not 1 <= number <= most:
                raise WorkloadError("WORKLOAD_NUMBER", option, f"must be from 1 to {most}, got {number}")
        self._check_options()

    def _check_options(self) -> None:
        smoke = self.kind == "smoke-test"
        if self.checks and not smoke:
            raise WorkloadError("WORKLOAD_OPTION", "--check", f"a {self.kind} has no checks; use --kind smoke-test")
        if self.command and smoke:
            raise WorkloadError("WORKLOAD_OPTION", "--command", "a smoke test has its own command; use --kind job")
        if self.independent and self.kind != "job":
            fix = "replicas are always independent; omit the option" if self.kind == "deployment" else "use --kind job"
            raise WorkloadError("WORKLOAD_OPTION", "--independent", f"only a job has independent pods; {fix}")
        if self.port is not None and self.kind != "deployment":
            raise WorkloadError("WORKLOAD_OPTION", "--port", f"a {self.kind} has no port; use --kind deployment")


def shown(text: str) -> str:
    """Return the user's text for a message: shortened, and with control characters escaped."""
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return ascii(short)


def _refuse(option: str, given: str, allowed: str) -> None:
    raise WorkloadError("WORKLOAD_NAME", option, f"{shown(given)} is not a valid name; use {allowed}")
