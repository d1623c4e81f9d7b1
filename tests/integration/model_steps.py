"""Random requests for the model and the real API server, like those of the operator, users and controllers."""

from typing import Any

from hypothesis import strategies as st

from integration.model_objects import (
    BODIES,
    CUSTOM,
    KINDS,
    OPERATORS,
    PARTIAL,
    PATHS,
    STATUSES,
    identity,
)
from integration.model_sides import Request
from integration.model_specs import METADATA, some, texts
from model_cluster.api_server import APPLY, JSON_PATCH, MERGE_PATCH

NAMES = ("a", "a", "a", "a", "b", "web")
RARELY = st.sampled_from([False] * 15 + [True])
MANAGERS = ("coxswain", "argocd", "hand")
SELECTORS = ("", "x=1", "x", "!x", "x!=1", "x in (1,2)")
VERSIONS = st.sampled_from(["", "", "", "", "", "", "", "$version", "$version", "$first version", "1"])
UIDS = st.sampled_from(
    ["", "", "", "", "", "", "", "$uid", "$uid", "$first uid", "11111111-2222-3333-4444-555555555555"]
)

Step = tuple[str, Request]
"""A request and its type."""


@st.composite
def sequences(draw: st.DrawFn, of: tuple[str, ...] = ()) -> list[Step]:
    """Return requests for a few objects of these or random kinds; the first creates one.

    Paths have {} instead of the namespace.
    """
    mixed = [*((kind,) for kind in KINDS), *((kind,) for kind in KINDS), ("WebApp", "Service")]
    kinds = of or draw(st.sampled_from(mixed))
    first = draw(st.sampled_from(["apply", "create"]))
    found = [(first, MAKERS[first](draw, kinds[0], "a"))]
    for _ in range(draw(st.integers(6, 24))):
        kind = draw(st.sampled_from(kinds))
        sorts = [sort for sort in MAKERS if kind in ONLY.get(sort, PATHS)]
        sort = draw(st.sampled_from(sorts))
        found.append((sort, MAKERS[sort](draw, kind, draw(st.sampled_from(NAMES)))))
    return found


def _metadata(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Return labels and other metadata. Empty maps of a custom resource are stored but not returned, so omit them."""
    found = draw(METADATA)
    return {key: value for key, value in found.items() if value} if kind in CUSTOM else found


def _manifest(draw: st.DrawFn, kind: str, name: str) -> dict[str, Any]:
    named = identity(kind, name)
    metadata = {**_metadata(draw, kind), **named["metadata"]}
    return {**named, "metadata": metadata, **draw(BODIES[kind])}


def _preconditions(draw: st.DrawFn) -> dict[str, str]:
    found = {"resourceVersion": draw(VERSIONS), "uid": draw(UIDS)}
    return {key: value for key, value in found.items() if value}


def _apply(draw: st.DrawFn, kind: str, name: str) -> Request:
    manifest = _manifest(draw, kind, name)
    if kind in PARTIAL and draw(RARELY):
        manifest = {**identity(kind, name), **draw(PARTIAL[kind])}
    manifest["metadata"] = {**manifest["metadata"], **_preconditions(draw)}
    if draw(RARELY):
        manifest["unheard"] = 1
    return _applying(draw, f"{PATHS[kind]}/{name}", manifest)


def _apply_as_operator(draw: st.DrawFn, kind: str, name: str) -> Request:
    manifest = draw(st.sampled_from(OPERATORS[kind]))
    name = draw(st.sampled_from([name, "web", "web", "web"]))
    metadata = {**manifest["metadata"], "name": name, "namespace": "$namespace", **_preconditions(draw)}
    query = {"fieldManager": "coxswain", "force": draw(st.sampled_from(["true", "false"]))}
    return Request("PATCH", f"{PATHS[kind]}/{name}", {**manifest, "metadata": metadata}, APPLY, query=query)


def _applying(draw: st.DrawFn, path: str, manifest: dict[str, Any]) -> Request:
    query = {"fieldManager": draw(st.sampled_from(MANAGERS)), "force": draw(st.sampled_from(["true", "false"]))}
    return Request("PATCH", path, manifest, APPLY, query=query)


def _apply_status(draw: st.DrawFn, kind: str, name: str) -> Request:
    manifest = {
        **identity(kind, name),
        "metadata": {"name": name, **_preconditions(draw)},
        "status": draw(STATUSES[kind]),
    }
    if draw(RARELY):
        manifest["status"]["unheard"] = 1
    return _applying(draw, f"{PATHS[kind]}/{name}/status", manifest)


def _create(draw: st.DrawFn, kind: str, name: str) -> Request:
    return Request("POST", PATHS[kind], _manifest(draw, kind, name))


def _put(draw: st.DrawFn, kind: str, name: str) -> Request:
    manifest = _manifest(draw, kind, name)
    manifest["metadata"] = {**manifest["metadata"], **_preconditions(draw)}
    if kind == "Lease" and draw(st.booleans()):
        manifest["metadata"]["resourceVersion"] = "$version"
    return Request("PUT", f"{PATHS[kind]}/{name}", manifest, agent=draw(st.sampled_from(["kubectl/1", "lens"])))


def _merge(draw: st.DrawFn, kind: str, name: str) -> Request:
    patch = dict(draw(BODIES[kind]))
    patch["metadata"] = {**_metadata(draw, kind), **_preconditions(draw)}
    for gone in draw(st.lists(st.sampled_from(["labels", "annotations", "finalizers", "ownerReferences"]), max_size=2)):
        patch["metadata"][gone] = None
    return Request(
        "PATCH", f"{PATHS[kind]}/{name}", patch, MERGE_PATCH, agent=draw(st.sampled_from(["kubectl/1", "lens"]))
    )


LABELLED = some(labels=texts("x"), annotations=texts("x"))


def _merge_status(draw: st.DrawFn, kind: str, name: str) -> Request:
    patch = {"status": draw(STATUSES[kind]), "metadata": draw(LABELLED if kind not in CUSTOM else some())}
    return Request("PATCH", f"{PATHS[kind]}/{name}/status", patch, MERGE_PATCH, agent="kube-controller-manager/1")


def _scale(draw: st.DrawFn, _kind: str, name: str) -> Request:
    patch = {"spec": {"replicas": draw(st.sampled_from([2, 4]))}}
    return Request(
        "PATCH", f"{PATHS['Deployment']}/{name}/scale", patch, MERGE_PATCH, agent="kube-controller-manager/1"
    )


JSON_PATCHES: list[list[dict[str, Any]]] = [
    [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}],
    [{"op": "replace", "path": "/metadata/managedFields", "value": []}],
    [{"op": "replace", "path": "/metadata/managedFields", "value": "$managed"}],
    [{"op": "add", "path": "/metadata/labels", "value": {"x": "2"}}],
    [{"op": "add", "path": "/metadata/labels/x", "value": "1"}],
    [{"op": "remove", "path": "/metadata/labels/x"}],
    [{"op": "test", "path": "/metadata/labels/x", "value": "1"}],
    [{"op": "remove", "path": "/metadata/ownerReferences"}],
    [{"op": "remove", "path": "/metadata/finalizers"}],
    [{"op": "remove", "path": "/spec/replicas"}],
]


def _json_patch(draw: st.DrawFn, kind: str, name: str) -> Request:
    operations = draw(st.sampled_from(JSON_PATCHES))
    version = draw(VERSIONS)
    if version:
        operations = [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}, *operations]
    return Request("PATCH", f"{PATHS[kind]}/{name}", operations, JSON_PATCH, agent="coxswain")


STATUS_PATCHES: list[list[dict[str, Any]]] = [
    [{"op": "remove", "path": "/status/conditions/0"}],
    [{"op": "remove", "path": "/status/conditions/1"}, {"op": "remove", "path": "/status/conditions/0"}],
    [{"op": "remove", "path": "/status/conditions/0/message"}],
    [{"op": "remove", "path": "/status/conditions"}],
    [{"op": "remove", "path": "/status/replicas"}],
    [{"op": "remove", "path": "/status/children"}, {"op": "remove", "path": "/status/conditions/0"}],
]


def _patch_status(draw: st.DrawFn, kind: str, name: str) -> Request:
    version = draw(VERSIONS)
    precondition = [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}] if version else []
    operations = [*precondition, *draw(st.sampled_from(STATUS_PATCHES))]
    return Request("PATCH", f"{PATHS[kind]}/{name}/status", operations, JSON_PATCH, agent="coxswain")


def _delete(draw: st.DrawFn, kind: str, name: str) -> Request:
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    preconditions = _preconditions(draw)
    if preconditions:
        body["preconditions"] = preconditions
    policies = ["", "Orphan", "Foreground"] if name == "a" else ["", "Background"]
    if name == "a" and "resourceVersion" not in preconditions:
        policies.append("Background")  # not with a precondition: see the limits of the model
    policy = draw(st.sampled_from(policies))
    return Request("DELETE", f"{PATHS[kind]}/{name}", {**body, **({"propagationPolicy": policy} if policy else {})})


def _get(_draw: st.DrawFn, kind: str, name: str) -> Request:
    return Request("GET", f"{PATHS[kind]}/{name}")


def _list(draw: st.DrawFn, kind: str, name: str) -> Request:
    query = {"labelSelector": draw(st.sampled_from(SELECTORS))}
    if draw(st.integers(0, 3)) == 0:
        query["fieldSelector"] = f"metadata.name={name}"
    return Request("GET", PATHS[kind], query=query)


def _page(draw: st.DrawFn, kind: str, _name: str) -> Request:
    query = {"limit": draw(st.sampled_from(["1", "2"])), "continue": draw(st.sampled_from(["", "$token"]))}
    return Request("GET", PATHS[kind], query={**query, "labelSelector": draw(st.sampled_from(SELECTORS))})


ONLY = {
    "operator": tuple(OPERATORS),
    "operator again": tuple(OPERATORS),
    "apply status": CUSTOM,
    "merge status": tuple(STATUSES),
    "patch status": CUSTOM,
    "scale": ("Deployment",),
}
"""The kinds supported by each such request."""

MAKERS = {
    "operator": _apply_as_operator,
    "operator again": _apply_as_operator,
    "apply": _apply,
    "apply more": _apply,
    "apply again": _apply,
    "apply once more": _apply,
    "apply status": _apply_status,
    "create": _create,
    "put": _put,
    "merge": _merge,
    "merge again": _merge,
    "merge status": _merge_status,
    "scale": _scale,
    "json patch": _json_patch,
    "patch status": _patch_status,
    "delete": _delete,
    "get": _get,
    "list": _list,
    "page": _page,
}
