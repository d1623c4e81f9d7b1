"""Finds the cause of a container that is not ready, in its state from the kubelet.

The state of a failing container changes in a loop: pull and backoff, or run, exit and backoff. The cause must stay the
same in each state of the loop, or each change would cause a status write. So it has no pod name and no restart count.
The states are defined in pkg/kubelet/kubelet_pods.go, container/sync_result.go and images/types.go of Kubernetes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

from coxswain.kernel.objects.quote import abridged, last_lines, quoted, without_numbers
from coxswain.webapp.diagnosis.commands import describe_pods, logs

STABLE_RUN = timedelta(minutes=10)
"""A run of this length is not part of a crash loop: the kubelet resets its backoff after it
(https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy)."""

_STARTING = ("", "ContainerCreating", "PodInitializing", "RestartingAllContainers")
_PULLS = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed")
"""Reasons of the kubelet while it retries a pull."""
_NEVER_RAN = ("StartError", "ContainerCannotRun")
"""Termination reasons of containerd and CRI-O if the command could not be started."""
_SIGNAL_EXIT_CODES = (0, 137, 143)
"""Exit codes after SIGTERM or SIGKILL."""

_DEFAULTS = {
    "initialDelaySeconds": 0,
    "periodSeconds": 10,
    "timeoutSeconds": 1,
    "failureThreshold": 3,
    "successThreshold": 1,
}
"""Kubernetes' defaults for a probe."""

_COMMAND = "{path}.command and {path}.image"

_BACK_OFF = re.compile(r'^Back-off pulling image "[^"]*"(: )?')
_PULL_ERROR = re.compile(rf"^({'|'.join(_PULLS)}): ")
_POD_ASIDE = re.compile(r' \(pod: "[^"]*", container: [^)]*\)')
_NO_IMAGE = re.compile(r"not found|manifest unknown|name unknown|no such image|no match for platform", re.IGNORECASE)
"""What registries and container runtimes say about an image that does not exist. A lost network reads differently."""
_NO_COMMAND = re.compile(
    r"\bexec(utable file)?\b.*(not found|no such file|permission denied|is a directory|format error)"
    r"|no command specified",
    re.IGNORECASE,
)
"""What runc and crun say about a command that cannot be started. A mount that fails reads differently."""
_MOUNT = re.compile(r"^(?!.*\bexec: ).*(\bmounting\b|mountpoint|\bmount `|not a directory)", re.IGNORECASE | re.DOTALL)
"""What runc and crun say about a mount that fails, mostly of a file over a directory (kubernetes/kubernetes#61545)."""
_SUB_PATH = re.compile(r"\bsubPath\b.* for volumeMount ")
"""What the kubelet says about a subPath that it cannot prepare (pkg/kubelet/kubelet_pods.go)."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")

_CREATION_ADVICE = {
    "CreateContainerConfigError": "the ConfigMaps and Secrets in {path}.env and {path}.envFrom, and {path}.runAsUser",
    "ErrImageNeverPull": "{path}.image and {path}.imagePullPolicy",
    "ImageInspectError": "{path}.image",
    "InvalidImageName": "{path}.image",
}


class Rank(IntEnum):
    """Rank of a cause. Report the first one: it is least likely to resolve by retrying."""

    NOT_MADE = 0
    CRASHES = 1
    UNSCHEDULED = 2
    NOT_PREPARED = 3
    UNREADY = 4
    FAILED = 5
    NOT_ENDED = 6


MAIN = "spec"
"""Path of the main container's fields in a WebApp."""


@dataclass(frozen=True)
class Container:
    """A container as the diagnosis knows it. The default is a container that another manager injected."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """Its fields in the Deployment's template."""
    path: str = ""
    """Path of its fields in the WebApp; empty if it is not the WebApp's."""
    role: str = "container"
    pods: str = ""
    """The options of kubectl that select the pods."""
    edit: str = ""
    """The command that changes the WebApp."""

    def advice(self, fields: str, command: str = "") -> str:
        """Return a sentence about some fields of the WebApp, with a command: by default the one that changes them.

        `{path}` stands for the path. The fields of a container that is not the WebApp's cannot be changed there.
        """
        if not self.path:
            return f". See: {describe_pods(self.pods)}"
        return f". Check {fields.format(path=self.path)}: {command or self.edit}"

    @property
    def command(self) -> str:
        """The fields with the command."""
        return "{path}.command, {path}.workingDir and {path}.image" if self.path == MAIN else _COMMAND

    @property
    def mounts(self) -> str:
        """The fields with the mounts."""
        return "{path}.files, {path}.volumes and {path}.writablePaths" if self.path == MAIN else "{path}.volumeMounts"

    @property
    def sub_paths(self) -> str:
        """The fields with the subPaths."""
        return "{path}.volumes[].subPath" if self.path == MAIN else "{path}.volumeMounts"


PULLS = timedelta(seconds=60)
"""Time for three pulls: the kubelet retries after 10, 20 and 40 s."""


@dataclass(frozen=True)
class Cause:
    """Cause of a pod that is not ready: reason, message text, and a quotation of Kubernetes or the program."""

    rank: Rank
    reason: str
    text: str
    quotation: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """Equal for all pods with this cause. Their quotations may differ."""
        return (self.reason, self.text)

    @property
    def order(self) -> tuple[int, str, str, str, str]:
        """Sort key. Report the cause with the lowest one."""
        return (self.rank, self.reason, self.text, without_numbers(quoted("", self.quotation)), self.quotation)


@dataclass(frozen=True)
class Finding:
    """The result of a diagnosis: a cause, or none yet."""

    cause: Cause | None = None
    until: datetime | None = None
    """When to repeat the diagnosis without an event."""
    final_at: datetime | None = None
    """When the cause counts as final: only another spec helps. None if it may resolve."""


def of_container(
    status: Mapping[str, Any], container: Container, pod: str, now: datetime, *, pulls_since: datetime | None
) -> Finding:
    """Return the cause of a container that is not ready.

    Args:
        status: its status, not ready.
        container: the container.
        pod: the pod's name, to remove it from quotations.
        now: the present time. Times in the status come from the node's clock.
        pulls_since: when the kubelet could first pull its image; None if that is unknown.
    """
    state = status.get("state", {})
    waiting, running = state.get("waiting", {}), state.get("running")
    began = moment((running or {}).get("startedAt"))
    last = state.get("terminated") or status.get("lastState", {}).get("terminated") or {}
    reason = waiting.get("reason") or ""
    subject = (
        f"{container.role} {status.get('name', '')} (image {container.fields.get('image') or status.get('image')})"
    )
    if reason == "RunContainerError" or (running is None and last.get("reason") in _NEVER_RAN):
        source = last if last.get("reason") in _NEVER_RAN else waiting
        message = message_of(source, pod)
        advice = container.advice(_fields_at_fault("", message, container))
        text = f"{subject} cannot be started. The kubelet retries with backoff{advice}"
        cause = Cause(Rank.NOT_MADE, "RunContainerError", text, message)
        return Finding(cause, final_at=_if_final(_NO_COMMAND, message, pulls_since))
    if reason in _PULLS:
        # A container that has run had its image. Until the next pull its backoff may last for 5 minutes, and no field
        # has the time of that pull.
        has_run = bool(last) or status.get("restartCount", 0) > 0
        return _not_pulled(subject, message_of(waiting, pod), container, None if has_run else pulls_since)
    if reason not in (*_STARTING, "CrashLoopBackOff"):
        return _not_created(subject, reason, message_of(waiting, pod), container, pulls_since)
    if reason == "CrashLoopBackOff" or _loops(state, last, status.get("restartCount", 0), now):
        return Finding(_crash(subject, last, container), after(began, STABLE_RUN))
    if running is None or began is None:
        return Finding()
    return _probed(subject, container, began, now, started=bool(status.get("started")))


def message_of(state: Mapping[str, Any], pod: str) -> str:
    """Return the message of a state without the pod's name."""
    return abridged(_POD_ASIDE.sub("", state.get("message") or "").replace(pod or "\n", "the pod"))


def word(reason: str | None, otherwise: str) -> str:
    """Return a reason if it is one word, as conditions require. The kubelet's reason may be any error text."""
    return reason if reason and _WORD.fullmatch(reason) else otherwise


def moment(text: str | None) -> datetime | None:
    """Parse a time of the API server. Return it in UTC, or None if it is missing or invalid."""
    try:
        time = datetime.fromisoformat(text or "")
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def after(time: datetime | None, delay: timedelta) -> datetime | None:
    """Return the time plus a delay. Return None if the time is unknown or the sum overflows."""
    try:
        return None if time is None else time + delay
    except OverflowError:
        return None


def _not_pulled(subject: str, message: str, container: Container, since: datetime | None) -> Finding:
    message = _PULL_ERROR.sub("", _BACK_OFF.sub("", message))
    text = f"{subject}: the image cannot be pulled. The kubelet retries with backoff"
    text += container.advice("{path}.image or spec.imagePullSecrets")
    cause = Cause(Rank.NOT_MADE, "ImagePullBackOff", text, message)
    return Finding(cause, final_at=_if_final(_NO_IMAGE, message, after(since, PULLS)))


def _not_created(subject: str, reason: str, message: str, container: Container, since: datetime | None) -> Finding:
    advice = container.advice(_fields_at_fault(reason, message, container))
    text = f"{subject} cannot be created. The kubelet retries{advice}"
    cause = Cause(Rank.NOT_MADE, word(reason, "CreateContainerError"), text, message)
    return Finding(cause, final_at=since if reason == "InvalidImageName" else _if_final(_NO_COMMAND, message, since))


def _fields_at_fault(reason: str, message: str, container: Container) -> str:
    """Return the fields to check after a failed creation or start. The reason alone does not tell a failed mount."""
    if _MOUNT.search(message):
        return container.mounts
    if _SUB_PATH.search(message):
        return container.sub_paths
    return _CREATION_ADVICE.get(reason, container.command)


def _if_final(pattern: "re.Pattern[str]", message: str, at: datetime | None) -> datetime | None:
    """Return `at` if the message of the container runtime matches; then no retry helps."""
    return at if pattern.search(message) else None


def _loops(state: Mapping[str, Any], last: Mapping[str, Any], restarts: int, now: datetime) -> bool:
    """Tell whether a container is in a crash loop while the kubelet does not report CrashLoopBackOff.

    A first exit is no loop: the kubelet restarts the container at once. Nor is an exit after a long run.
    """
    began, ended = moment(last.get("startedAt")), moment(last.get("finishedAt"))
    if began is None or ended is None or restarts < (1 if "terminated" in state else 2):
        return False
    stable_at = after(moment(state.get("running", {}).get("startedAt")), STABLE_RUN)
    return ended - began < STABLE_RUN and (stable_at is None or now < stable_at)


def _crash(subject: str, last: Mapping[str, Any], container: Container) -> Cause:
    code, exit_reason = last.get("exitCode"), last.get("reason")
    text = f"{subject} exits repeatedly"
    text += "" if code is None else f", exit code {code}" + (f" ({exit_reason})" if exit_reason else "")
    killers = [probe for probe in ("startupProbe", "livenessProbe") if probe in container.fields]
    log = f"its log: {logs(container.pods, all_containers=container.path != MAIN)}"
    if exit_reason == "OOMKilled":
        text += ", because it exceeds its memory limit"
        limit = f"Raise {container.path}.resources.limits.memory: {container.edit}"
        advice = limit if container.path else f"See that limit: {describe_pods(container.pods)}"
    elif code in _SIGNAL_EXIT_CODES and killers:
        text += f", possibly because its {' or '.join(killers)} fails"
        prefix = f"{container.path}." if container.path else "its "
        advice = f"Check {' and '.join(prefix + probe for probe in killers)}, and {log}"
    else:
        advice = f"Check {log}"
    reason = "OOMKilled" if exit_reason == "OOMKilled" else "CrashLoopBackOff"
    text += f". The kubelet restarts it with backoff. {advice}"
    return Cause(Rank.CRASHES, reason, text, last_lines(last.get("message") or ""))


def _probed(subject: str, container: Container, began: datetime, now: datetime, *, started: bool) -> Finding:
    """Return a cause if a running container is unready for longer than its probes allow.

    The status does not tell when the startupProbe passed, so assume the last moment. Times are cut to seconds.
    """
    spec = container.fields
    past = ["startupProbe"] if "startupProbe" in spec else []
    name = "readinessProbe" if started or not past else "startupProbe"
    if name not in spec:
        return Finding()
    late = after(began, timedelta(seconds=1 + sum(_seconds(spec[probe]) for probe in {*past, name})))
    if late is None or now < late:
        return Finding(until=late)
    reason = "ReadinessProbeFailing" if name == "readinessProbe" else "StartupProbeFailing"
    text = f"{subject} runs, but its {name} fails: {_check(spec[name])}"
    text += container.advice(f"the application and {{path}}.{name}", describe_pods(container.pods))
    return Finding(Cause(Rank.UNREADY, reason, text))


def _seconds(probe: Mapping[str, Any]) -> int:
    """Return the seconds after which a probe has certainly passed or failed.

    The kubelet probes once in a period, or later if the previous probe takes longer. The first period may start early.
    """
    delay, period, timeout, failures, successes = (int(probe.get(name, default)) for name, default in _DEFAULTS.items())
    return delay + (failures + successes - 1) * max(period, timeout) + timeout


def _check(probe: Mapping[str, Any]) -> str:
    """Describe a probe by its fields."""
    for kind in ("httpGet", "tcpSocket", "grpc"):
        if kind in probe:
            return f"{kind} {probe[kind].get('path', '')} on port {probe[kind].get('port', '')}".replace("  ", " ")
    return abridged("exec " + " ".join(map(str, probe.get("exec", {}).get("command", []))))
