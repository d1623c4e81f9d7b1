"""Finds the cause of a container that is not ready, in its state from the kubelet.

The state of a failing container changes in a loop: pull and backoff, or run, exit and backoff. The cause must stay the
same in each state of the loop, or each change would cause a status write. So it has no pod name and no restart count.
The states are defined in pkg/kubelet/kubelet_pods.go, container/sync_result.go and images/types.go of Kubernetes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from coxswain.kernel.objects.quote import abridged, last_lines
from coxswain.webapp.diagnosis.cause import Cause, Finding, Rank, message_of, word
from coxswain.webapp.diagnosis.commands import describe_pods, logs
from coxswain.webapp.times import after, moment

STABLE_RUN = timedelta(minutes=10)
"""A run of this length is not part of a crash loop: the kubelet resets its backoff after it
(https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy)."""

PULLS = timedelta(seconds=60)
"""Time for three pulls: the kubelet retries after 10, 20 and 40 s."""

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

_BACK_OFF = re.compile(r'^Back-off pulling image "[^"]*"(: )?')
_PULL_ERROR = re.compile(rf"^({'|'.join(_PULLS)}): ")
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

_CREATION_ADVICE = {
    "CreateContainerConfigError": "the ConfigMaps and Secrets in {path}.env and {path}.envFrom, and {path}.runAsUser",
    "ErrImageNeverPull": "{path}.image and {path}.imagePullPolicy",
    "ImageInspectError": "{path}.image",
    "InvalidImageName": "{path}.image",
}
"""Fields to check after a failed creation, by its reason."""

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

        The fields of a container that is not the WebApp's cannot be changed there.
        """
        return f". Check {fields}: {command or self.edit}" if self.path else f". See: {describe_pods(self.pods)}"

    @property
    def command(self) -> str:
        """The fields with the command."""
        working_dir = f", {self.path}.workingDir" if self.path == MAIN else ""
        return f"{self.path}.command{working_dir} and {self.path}.image"

    @property
    def mounts(self) -> str:
        """The fields with the mounts."""
        return "spec.files, spec.volumes and spec.writablePaths" if self.path == MAIN else f"{self.path}.volumeMounts"

    @property
    def sub_paths(self) -> str:
        """The fields with the subPaths."""
        return "spec.volumes[].subPath" if self.path == MAIN else f"{self.path}.volumeMounts"


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


def _not_pulled(subject: str, message: str, container: Container, since: datetime | None) -> Finding:
    message = _PULL_ERROR.sub("", _BACK_OFF.sub("", message))
    text = f"{subject}: the image cannot be pulled. The kubelet retries with backoff"
    text += container.advice(f"{container.path}.image or spec.imagePullSecrets")
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
    at_fault = _CREATION_ADVICE.get(reason)
    return container.command if at_fault is None else at_fault.format(path=container.path)


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
    text += container.advice(f"the application and {container.path}.{name}", describe_pods(container.pods))
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
