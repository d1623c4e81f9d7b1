"""Why a container is not ready: the cause, from its state as the kubelet writes it.

A container that fails goes round in a loop: its image is pulled and waited for, or it runs, ends and waits. The cause
is the same all the way round, or the status would be written at each turn; so it names no pod and counts no restart.
The states are those of pkg/kubelet/kubelet_pods.go, container/sync_result.go and images/types.go of Kubernetes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

from coxswain.kernel.objects.quote import abridged, last_lines, quoted, without_numbers

SOUND = timedelta(minutes=10)
"""A run of this length is no part of a crash loop: the kubelet forgets its back-off after it
(https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy)."""

_ON_ITS_WAY = ("", "ContainerCreating", "PodInitializing", "RestartingAllContainers")
_PULLS = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed")
"""What the kubelet says in turn while it tries to pull an image."""
_NEVER_RAN = ("StartError", "ContainerCannotRun")
"""How containerd and CRI-O call the end of a container whose command could not be started."""
_TOLD_TO_END = (0, 137, 143)
"""Exit codes that a program may have after SIGTERM or SIGKILL."""

_DEFAULTS = {
    "initialDelaySeconds": 0,
    "periodSeconds": 10,
    "timeoutSeconds": 1,
    "failureThreshold": 3,
    "successThreshold": 1,
}
"""Of a probe."""

_BACK_OFF = re.compile(r'^Back-off pulling image "[^"]*"(: )?')
_PULL_ERROR = re.compile(rf"^({'|'.join(_PULLS)}): ")
_POD_ASIDE = re.compile(r' \(pod: "[^"]*", container: [^)]*\)')
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


class Rank(IntEnum):
    """Which of several causes is told: the first of these. What another try can't mend comes before what it may."""

    NOT_MADE = 0
    CRASHES = 1
    UNSCHEDULED = 2
    UNREADY = 3
    FAILED = 4


@dataclass(frozen=True)
class Cause:
    """Why a pod is not ready: a CamelCase word, a sentence, and what was said of it."""

    rank: Rank
    reason: str
    text: str
    quotation: str = ""

    @property
    def order(self) -> tuple[int, str, str, str, str]:
        """What decides which of several causes is told."""
        return (self.rank, self.reason, self.text, without_numbers(quoted("", self.quotation)), self.quotation)


@dataclass(frozen=True)
class Finding:
    """A cause, or none so far."""

    cause: Cause | None = None
    until: datetime | None = None
    """When it may be another one though nothing happens."""


def of_container(status: Mapping[str, Any], spec: Mapping[str, Any], pod: str, now: datetime) -> Finding:
    """Return why a container is not ready.

    Args:
        status: its status, not ready.
        spec: the container in the Deployment's template; empty for one that someone else put into the pod.
        pod: the pod's name, which no quotation should have.
        now: the present time. Those in the status are of the node's clock, and no better than that.
    """
    state = status.get("state", {})
    waiting, running = state.get("waiting", {}), state.get("running")
    began = moment((running or {}).get("startedAt"))
    last = state.get("terminated") or status.get("lastState", {}).get("terminated") or {}
    reason = waiting.get("reason") or ""
    who = f"container {status.get('name', '')} (image {spec.get('image') or status.get('image')})"
    if reason == "RunContainerError" or (running is None and last.get("reason") in _NEVER_RAN):
        said = last if last.get("reason") in _NEVER_RAN else waiting
        return Finding(Cause(Rank.NOT_MADE, "RunContainerError", f"{who} can't be started", message_of(said, pod)))
    if reason not in (*_ON_ITS_WAY, "CrashLoopBackOff"):
        return Finding(_not_made(who, reason, message_of(waiting, pod)))
    if reason == "CrashLoopBackOff" or _loops(state, last, status.get("restartCount", 0), now):
        return Finding(_crash(who, last, spec), after(began, SOUND))
    if running is None or began is None:
        return Finding()
    return _probed(who, spec, began, now, started=bool(status.get("started")))


def message_of(said: Mapping[str, Any], pod: str) -> str:
    """Return the message of a state, without the name of the pod that the kubelet puts into some."""
    return abridged(_POD_ASIDE.sub("", said.get("message") or "").replace(pod or "\n", "the pod"))


def word(reason: str | None, otherwise: str) -> str:
    """Return a reason if it is one word, as a condition's must be: the kubelet's may be the text of any error."""
    return reason if reason and _WORD.fullmatch(reason) else otherwise


def moment(text: str | None) -> datetime | None:
    """Return a time that the API server sent, in UTC; None if there is none, as for a container that never ran."""
    try:
        found = datetime.fromisoformat(text or "")
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def after(time: datetime | None, delay: timedelta) -> datetime | None:
    """Return the time after a delay; None if the time is unknown or is the last that there is."""
    try:
        return None if time is None else time + delay
    except OverflowError:
        return None


def _not_made(who: str, reason: str, message: str) -> Cause:
    if reason in _PULLS:
        message = _PULL_ERROR.sub("", _BACK_OFF.sub("", message))
        return Cause(Rank.NOT_MADE, "ImagePullBackOff", f"{who}: the image can't be pulled", message)
    return Cause(Rank.NOT_MADE, word(reason, "CreateContainerError"), f"{who} can't be made", message)


def _loops(state: Mapping[str, Any], last: Mapping[str, Any], restarts: int, now: datetime) -> bool:
    """Tell whether a container that is not ready is in a crash loop, though the kubelet doesn't hold it back just now.

    A first end makes no loop, as it is started again at once; nor does one after a long run, such as by a reboot.
    """
    began, ended = moment(last.get("startedAt")), moment(last.get("finishedAt"))
    if began is None or ended is None or restarts < (1 if "terminated" in state else 2):
        return False
    sound = after(moment(state.get("running", {}).get("startedAt")), SOUND)
    return ended - began < SOUND and (sound is None or now < sound)


def _crash(who: str, last: Mapping[str, Any], spec: Mapping[str, Any]) -> Cause:
    code, how = last.get("exitCode"), last.get("reason")
    text = f"{who} ends again and again"
    text += "" if code is None else f", exit code {code}" + (f" ({how})" if how else "")
    killers = [probe for probe in ("startupProbe", "livenessProbe") if probe in spec]
    if how == "OOMKilled":
        text += ": it needs more memory than its limit"
    elif code in _TOLD_TO_END and killers:
        text += f", perhaps because its {' or '.join(killers)} fails"
    reason = "OOMKilled" if how == "OOMKilled" else "CrashLoopBackOff"
    return Cause(Rank.CRASHES, reason, text, last_lines(last.get("message") or ""))


def _probed(who: str, spec: Mapping[str, Any], began: datetime, now: datetime, *, started: bool) -> Finding:
    """Return whether a container that runs is not ready for longer than its probes allow.

    When its startupProbe passed is not told: perhaps at the last moment. Times are cut to seconds.
    """
    past = ["startupProbe"] if "startupProbe" in spec else []
    name = "readinessProbe" if started or not past else "startupProbe"
    if name not in spec:
        return Finding()
    late = after(began, timedelta(seconds=1 + sum(_seconds(spec[probe]) for probe in {*past, name})))
    if late is None or now < late:
        return Finding(until=late)
    reason = "ReadinessProbeFailing" if name == "readinessProbe" else "StartupProbeFailing"
    return Finding(Cause(Rank.UNREADY, reason, f"{who} runs, but its {name} fails: {_check(spec[name])}"))


def _seconds(probe: Mapping[str, Any]) -> int:
    """Return the seconds after which a probe has surely passed or failed; defaults are those of Kubernetes.

    A probe is made every period, of which the first may already have begun, or as soon as the one before has timed out.
    """
    delay, period, timeout, failures, successes = (int(probe.get(name, default)) for name, default in _DEFAULTS.items())
    return delay + (failures + successes - 1) * max(period, timeout) + timeout


def _check(probe: Mapping[str, Any]) -> str:
    """Return what a probe does, in the words of its fields."""
    for kind in ("httpGet", "tcpSocket", "grpc"):
        if kind in probe:
            return f"{kind} {probe[kind].get('path', '')} on port {probe[kind].get('port', '')}".replace("  ", " ")
    return abridged("exec " + " ".join(map(str, probe.get("exec", {}).get("command", []))))
