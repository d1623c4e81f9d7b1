"""Gathers what explains the state of a WebApp: its conditions and children, containers and Events."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.quote import MARK, abridged, clean
from kubectl_coxswain.ages import moment
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.names import EVENT
from kubectl_coxswain.owned import RUNNING, read
from kubectl_coxswain.pods import unready
from kubectl_coxswain.problems import Forbidden
from kubectl_coxswain.reports import Evidence, Verdict, WhyReport
from kubectl_coxswain.verdict import (
    condition,
    finalizers_command,
    holds,
    is_paused,
    is_reconciled,
    verdict,
    without_resume,
)

_EVENTS = 8
_COMMAND = re.compile(r"(?<=: )kubectl (?=[a-z])(?:[^\s.;,]|[.;,](?=\S))+(?: (?:[^\s.;,()]|[.;,](?=\S))+)*")
"""A command in a message of the operator: after a colon, to the end of its sentence or clause."""
_WELL = "all children match the spec and are healthy"


def gather(kubectl: Kubectl, webapp: Json) -> WhyReport:
    """Return cause, evidence and next commands of a WebApp. Raises Problem."""
    metadata, judged = webapp["metadata"], verdict(webapp)
    reported = [*_conditions(webapp, judged), *_children(webapp, judged)]
    if judged.state == "Healthy" and not reported:
        return WhyReport(metadata["namespace"], metadata["name"], judged, judged.message or _WELL)
    found, notes = read(kubectl, webapp, RUNNING)
    events, note = _events(kubectl, metadata["namespace"])
    about = _news(_of_events(events, webapp, found), webapp)
    evidence = [*reported, *_containers(found), *about]
    return WhyReport(
        metadata["namespace"],
        metadata["name"],
        judged,
        judged.message or (_WELL if judged.state == "Healthy" else ""),
        evidence,
        next_commands(webapp, judged, [each.message for each in reported] if judged.state == "Healthy" else []),
        [*_of_earlier(webapp), *notes, *note],
    )


def _of_earlier(webapp: Json) -> list[str]:
    """Return a note if the conditions and the children in the status are not those of the present spec."""
    observed = (webapp.get("status") or {}).get("observedGeneration", 0)
    if is_reconciled(webapp) or not observed:
        return []
    name = f"WebApp {webapp['metadata']['name']} in namespace {webapp['metadata']['namespace']}"
    return [f"the conditions of {name} and its children are those of generation {observed}"]


def _conditions(webapp: Json, judged: Verdict) -> Iterable[Evidence]:
    """Return the conditions with a problem, except for the message of the cause."""
    for found in (webapp.get("status") or {}).get("conditions", []):
        usual = "True" if found.get("type") in ("Ready", "Available") else "False"
        if found.get("status") == usual or found.get("type") == "Progressing":
            continue
        message = str(found.get("message", ""))
        message = "" if _is_told(message, judged) else message
        state = f"{found.get('status')} ({found.get('reason')})"
        yield Evidence("Condition", str(found.get("type")), state, message, last=found.get("lastTransitionTime", ""))


def _children(webapp: Json, judged: Verdict) -> Iterable[Evidence]:
    """Return the other unhealthy children; of a healthy WebApp those with a warning."""
    for child in (webapp.get("status") or {}).get("children", []):
        message = str(child.get("message", ""))
        counts = judged.state == "Healthy" or child.get("health") != "Healthy"
        if counts and not _is_told(message, judged):
            yield Evidence("Child", f"{child['kind']}/{child['name']}", str(child.get("health")), message)


def _is_told(message: str, judged: Verdict) -> bool:
    """Tell whether the cause has the message already."""
    return judged.message.endswith(without_resume(message))


def _containers(found: Mapping[Kind, Sequence[Json]]) -> Iterable[Evidence]:
    """Return the unready containers: the same state of several pods is one observation."""
    grouped: dict[tuple[str, str], list[tuple[str, str, int]]] = {}
    pods = [pod for pod in found.get(RUNNING[1], ()) if "deletionTimestamp" not in pod["metadata"]]
    for pod in pods:
        for state in unready(pod):
            place = (state.name, state.reason or "Waiting")
            grouped.setdefault(place, []).append((pod["metadata"]["name"], state.message, state.restarts))
    for (container, reason), pods_of in grouped.items():
        name, message, _ = pods_of[0]
        restarts = sum(restarts for _, _, restarts in pods_of)
        more = f"restarted {restarts} times" if restarts else ""
        where = f"Pod/{name}" if len(pods_of) == 1 else f"of {len(pods_of)} pods"
        text = "; ".join(part for part in (message, more) if part)
        yield Evidence("Container", f"{container} {where}", reason, text)


def _events(kubectl: Kubectl, namespace: str) -> tuple[list[Json], list[str]]:
    try:
        return kubectl.all_of(EVENT, namespace, fieldSelector="type!=Normal"), []
    except Forbidden as error:
        return [], [f"Events are missing here: {error.message}"]


def _news(events: Iterable[Evidence], webapp: Json) -> list[Evidence]:
    """Return Events, except for the operator's repetitions of a condition."""
    conditions = (webapp.get("status") or {}).get("conditions", [])
    known = {str(each.get(name)) for each in conditions for name in ("reason", "type")}
    subject = f"WebApp/{webapp['metadata']['name']}"
    return [each for each in events if each.object != subject or each.reason not in known][:_EVENTS]


def _of_events(events: Sequence[Json], webapp: Json, found: Mapping[Kind, Sequence[Json]]) -> Iterable[Evidence]:
    """Return the Warning Events about the WebApp and its objects, each reason and message once, the newest first."""
    names = {(each["kind"], each["name"]) for each in (webapp.get("status") or {}).get("children", [])}
    names.add(("WebApp", webapp["metadata"]["name"]))
    names |= {(kind.kind, each["metadata"]["name"]) for kind, items in found.items() for each in items}
    merged: dict[tuple[str, str, str], Evidence] = {}
    # Older ones are about a deleted WebApp of the same name: Events stay for an hour.
    created = moment(webapp["metadata"].get("creationTimestamp", ""))
    for event in sorted(events, key=_time, reverse=True):
        about, last = event.get("involvedObject") or {}, moment(_time(event))
        is_old = created is not None and last is not None and last < created
        if is_old or (about.get("kind"), about.get("name")) not in names:
            continue
        message = abridged(str(event.get("message", "")))
        place = (str(about["kind"]), str(event.get("reason", "")), message)
        count = int(event.get("count") or (event.get("series") or {}).get("count") or 1)
        if place in merged:
            known = merged[place]
            merged[place] = Evidence("Event", known.object, known.reason, message, known.times + count, known.last)
        else:
            name = f"{about['kind']}/{about['name']}"
            merged[place] = Evidence("Event", name, clean(place[1]), message, count, _time(event))
    return list(merged.values())


def _time(event: Json) -> str:
    series: Mapping[str, Any] = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next((time for time in times if time), event["metadata"].get("creationTimestamp", "")))


def next_commands(webapp: Json, judged: Verdict, warnings: Sequence[str]) -> list[str]:
    """Return the commands for the next step: those in the operator's messages, and those of the plugin.

    Args:
        webapp: the WebApp.
        judged: its verdict.
        warnings: messages beside that of the verdict.
    """
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    place = f"{name} -n {namespace}"
    texts = [text.partition(MARK)[0] for text in (judged.message, *warnings)]
    commands = [clean(each) for text in texts for each in _COMMAND.findall(text)]
    status = webapp.get("status") or {}
    if judged.state == "Terminating":
        return [finalizers_command(webapp)]
    if judged.state == "Pending":
        return [
            f"kubectl coxswain version -n {namespace}",
            "kubectl get deployments -A -l app.kubernetes.io/name=coxswain",
        ]
    if is_paused(webapp):
        return [f"kubectl coxswain drift {place}", f"kubectl coxswain resume {place}"]
    if judged.reason == "NameTaken":
        commands = [f"kubectl coxswain adopt {place}", *commands]
    if holds(webapp, "Conflicted") or holds(webapp, "Contested"):
        commands.append(f"kubectl coxswain conflicts {place}")
    failing = judged.state in ("Degraded", "Stalled", "RolledBack") or judged.reason.endswith("BackOff")
    if failing and _earlier(status) and condition(webapp, "Ready").get("reason") not in ("NameTaken", "Immutable"):
        commands.append(f"kubectl coxswain undo {place}")
    if not commands:
        commands.append(f"kubectl coxswain status {place} --watch")
    return list(dict.fromkeys(commands))


def _earlier(status: Mapping[str, Any]) -> bool:
    return status.get("previousRevision") is not None or status.get("runningRevision") is not None
