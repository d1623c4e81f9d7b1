"""The objects of a WebApp, as a tree. Pure, except `read`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.kinds import Kind
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.names import (
    CONFIG_MAP,
    CONTROLLER_REVISION,
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    HTTP_ROUTE,
    INGRESS,
    NETWORK_POLICY,
    POD,
    POD_DISRUPTION_BUDGET,
    REPLICA_SET,
    SERVICE,
    SERVICE_ACCOUNT,
    WEBAPP_LABEL,
)
from kubectl_coxswain.parallel import each_in_parallel
from kubectl_coxswain.pods import info, pod_state
from kubectl_coxswain.problems import Forbidden, NotServed
from kubectl_coxswain.reports import Node
from kubectl_coxswain.screen import Level
from kubectl_coxswain.verdict import is_reconciled, not_yet_reconciled, verdict

RUNNING = (REPLICA_SET, POD)
CHILDREN = (
    DEPLOYMENT,
    SERVICE,
    SERVICE_ACCOUNT,
    CONFIG_MAP,
    HORIZONTAL_POD_AUTOSCALER,
    POD_DISRUPTION_BUDGET,
    NETWORK_POLICY,
    HTTP_ROUTE,
    INGRESS,
)
ALL = (*CHILDREN, *RUNNING, CONTROLLER_REVISION)

NOT_REPORTED = "NotReported"
"""State of an object that exists, while the status does not describe the present spec."""

_REVISION = "deployment.kubernetes.io/revision"
_LEVELS: Mapping[str, Level] = {
    "Healthy": "good",
    "Progressing": "busy",
    "Terminating": "busy",
    "Missing": "busy",
    "Degraded": "bad",
    "Foreign": "bad",
    NOT_REPORTED: "unknown",
}
_ORDER = {kind.kind: number for number, kind in enumerate((*CHILDREN, *RUNNING, CONTROLLER_REVISION))}

Found = Mapping[Kind, Sequence[Json]]


def read(
    kubectl: Kubectl, webapp: Json, kinds: Iterable[Kind], unlabelled: Iterable[Kind] = ()
) -> tuple[dict[Kind, list[Json]], list[str]]:
    """Return the objects of a WebApp by kind, and a note for each kind that may not be listed.

    Args:
        kubectl: the cluster.
        webapp: the WebApp.
        kinds: the kinds of objects with the label of the WebApp.
        unlabelled: kinds of which all objects of the namespace are read, whoever made them.

    Raises:
        Problem: a list fails for another reason than a missing right.
    """
    metadata = webapp["metadata"]
    selectors = dict.fromkeys(kinds, f"{WEBAPP_LABEL}={metadata['name']}") | dict.fromkeys(unlabelled, "")
    return read_all(kubectl, metadata["namespace"], selectors)


def read_all(
    kubectl: Kubectl, namespace: str | None, selectors: Mapping[Kind, str], *, everywhere: bool = False
) -> tuple[dict[Kind, list[Json]], list[str]]:
    """Return objects of several kinds by their label selectors, and a note for each kind that may not be listed.

    Args:
        kubectl: the cluster.
        namespace: the namespace; None for that of the context.
        selectors: the label selector of each kind; empty for all of its objects.
        everywhere: whether to list the objects of all namespaces.

    Raises:
        Problem: a list fails for another reason than a missing right.
    """
    found: dict[Kind, list[Json]] = {}
    notes: list[str] = []

    def listed(kind: Kind) -> list[Json] | str:
        query = {"labelSelector": selectors[kind]} if selectors[kind] else {}
        try:
            return kubectl.all_of(kind, namespace, everywhere=everywhere, **query)
        except NotServed:
            return []
        except Forbidden as error:
            return f"{kind.plural} are missing here: {error.message}"

    wanted = tuple(selectors)
    for kind, answer in zip(wanted, each_in_parallel(listed, wanted), strict=True):
        if isinstance(answer, str):
            notes.append(answer)
        else:
            found[kind] = answer
    return found, notes


def tree(webapp: Json, found: Found, *, everything: bool = False) -> Node:
    """Return the tree of a WebApp.

    Args:
        webapp: the WebApp.
        found: its objects by kind, as far as they are read.
        everything: whether old ReplicaSets, old ConfigMaps and revisions belong to it.

    Without a status, the read children are shown in its place.
    """
    reported = {(each["kind"], each["name"]): each for each in (webapp.get("status") or {}).get("children", [])}
    reported = {place: each for place, each in reported.items() if place[0] != CONTROLLER_REVISION.kind}
    live = {
        (kind.kind, item["metadata"]["name"]): item
        for kind in CHILDREN
        for item in found.get(kind, ())
        if owner(item) in ("", webapp["metadata"]["uid"])
    }
    places = set(reported) | {place for place in live if everything or not reported}
    unreported = "NotNeeded" if is_reconciled(webapp) else NOT_REPORTED
    children = [
        _child(place, reported.get(place, {"health": unreported}), live.get(place), found, everything)
        for place in places
    ]
    if everything:
        revisions = [item for item in found.get(CONTROLLER_REVISION, ()) if _belongs(item, webapp)]
        kept = _needed(webapp["metadata"]["name"], revisions)
        children = [_kept(each, kept) for each in children] + [_revision(item) for item in revisions]
    children.sort(key=lambda node: (_ORDER.get(node.kind, len(_ORDER)), node.name))
    judged = verdict(webapp)
    metadata = webapp["metadata"]
    created = str(metadata.get("creationTimestamp", ""))
    info = not_yet_reconciled(webapp) if judged.state == "Pending" else judged.reason
    return Node("WebApp", metadata["name"], judged.state, judged.level, info, created, tuple(children))


def _child(
    place: tuple[str, str], reported: Mapping[str, Any], live: Json | None, found: Found, everything: bool
) -> Node:
    kind, name = place
    health = str(reported.get("health", ""))
    below: list[Node] = []
    if kind == DEPLOYMENT.kind:
        uid = live["metadata"]["uid"] if live else None
        below = _replica_sets(uid, name, found, everything=everything)
    return Node(
        kind,
        name,
        health,
        _LEVELS.get(health, "none"),
        str(reported.get("message", "")),
        str(live["metadata"].get("creationTimestamp", "")) if live else "",
        tuple(below),
    )


def _replica_sets(uid: str | None, name: str, found: Found, *, everything: bool) -> list[Node]:
    """Return the ReplicaSets of a Deployment, by uid or else by its name, the newest first."""
    ours = [each for each in found.get(REPLICA_SET, ()) if _is_of(each, uid, name)]
    nodes = []
    for each in sorted(ours, key=_revision_of, reverse=True):
        status = each.get("status") or {}
        wanted, ready = (each.get("spec") or {}).get("replicas", 0), status.get("readyReplicas", 0)
        pods = [_pod(pod) for pod in found.get(POD, ()) if owner(pod) == each["metadata"]["uid"]]
        if not (wanted or status.get("replicas") or pods or everything):
            continue
        level: Level = "none" if not wanted else "good" if ready >= wanted else "busy"
        state = "ScaledDown" if not wanted else "Healthy" if ready >= wanted else "Progressing"
        text = f"revision {_revision_of(each)}, ready {ready}/{wanted}"
        metadata = each["metadata"]
        created = str(metadata.get("creationTimestamp", ""))
        pods.sort(key=lambda node: node.name)
        nodes.append(Node(REPLICA_SET.kind, metadata["name"], state, level, text, created, tuple(pods)))
    return nodes


def _is_of(replica_set: Json, uid: str | None, name: str) -> bool:
    references = replica_set["metadata"].get("ownerReferences", [])
    if uid is not None:
        return owner(replica_set) == uid
    return any(each.get("kind") == DEPLOYMENT.kind and each.get("name") == name for each in references)


def _pod(pod: Json) -> Node:
    state, level = pod_state(pod)
    metadata = pod["metadata"]
    return Node(POD.kind, metadata["name"], state, level, info(pod), str(metadata.get("creationTimestamp", "")))


def _revision(item: Json) -> Node:
    metadata, annotations = item["metadata"], item["metadata"].get("annotations", {})
    text = f"revision {item.get('revision', '?')}"
    cause = annotations.get("kubernetes.io/change-cause")
    return Node(
        CONTROLLER_REVISION.kind,
        metadata["name"],
        "Kept",
        "none",
        f"{text}: {cause}" if cause else text,
        str(metadata.get("creationTimestamp", "")),
    )


def _needed(name: str, revisions: Iterable[Json]) -> dict[tuple[str, str], int]:
    """Return the ConfigMaps and ServiceAccounts of revisions, each with the number of its newest revision."""
    from coxswain.webapp.content import content_hash, data  # noqa: PLC0415 - `status` and `why` do without

    ordered = sorted(revisions, key=_number)
    specs = [(_number(each), (each.get("data") or {}).get("spec") or {}) for each in ordered]
    needed = {(CONFIG_MAP.kind, f"{name}-{content_hash(spec)}"): number for number, spec in specs if data(spec)}
    users = [number for number, spec in specs if _uses_account(name, spec)]
    return {**needed, (SERVICE_ACCOUNT.kind, name): users[-1]} if users else needed


def _uses_account(name: str, spec: Json) -> bool:
    """Tell whether the pods of a spec use the ServiceAccount with the name of the WebApp."""
    account = spec.get("serviceAccount") or {}
    return bool(account.get("create", True) or account.get("name") == name)


def _number(revision: Json) -> int:
    return int(revision.get("revision", 0))


def _kept(node: Node, kept: Mapping[tuple[str, str], int]) -> Node:
    """Return the node of an old ConfigMap or ServiceAccount as kept if a revision needs it."""
    place = (node.kind, node.name)
    if node.state not in ("NotNeeded", NOT_REPORTED) or place not in kept:
        return node
    return node._replace(state="Kept", level="none", info=f"revision {kept[place]}")


def _belongs(item: Json, webapp: Json) -> bool:
    return bool(owner(item) == webapp["metadata"]["uid"])


def owner(item: Json) -> str:
    """Return the uid of the controller; empty without one."""
    references = item["metadata"].get("ownerReferences") or []
    return next((str(each.get("uid", "")) for each in references if each.get("controller")), "")


def _revision_of(replica_set: Json) -> int:
    text = str(replica_set["metadata"].get("annotations", {}).get(_REVISION, "0"))
    return int(text) if text.isdigit() else 0
