"""The subresource `scale` of Deployments: a view of their replicas, with separate managers."""

from collections.abc import Mapping

from model_cluster.api_server.answers import Response, not_found
from model_cluster.api_server.fieldset import Fields, difference
from model_cluster.api_server.kinds import Address, Kind
from model_cluster.api_server.managed import Managers, Owned, Writer, decoded
from model_cluster.api_server.patches import merge_patched
from model_cluster.api_server.schema import Json, Object
from model_cluster.api_server.store import Store
from model_cluster.api_server.strategy import Maker
from model_cluster.api_server.writes import Writes

_REPLICAS: Fields = {"f:spec": {"f:replicas": {}}}


class Scaling:
    """Answers requests for scales."""

    def __init__(self, store: Store, maker: Maker, writes: Writes) -> None:
        self._store = store
        self._maker = maker
        self._writes = writes

    def get(self, address: Address) -> Response:
        """Return a scale."""
        return Response(200, scale_of(self._parent(address)))

    def patch(self, address: Address, body: Json, query: Mapping[str, str], agent: str) -> Response:
        """Change a scale with a merge patch."""
        old = self._parent(address)
        return self._changed(address, old, merge_patched(scale_of(old), body), query, agent)

    def put(self, address: Address, body: Object, query: Mapping[str, str], agent: str) -> Response:
        """Replace a scale."""
        return self._changed(address, self._parent(address), body, query, agent)

    def _parent(self, address: Address) -> Object:
        found = self._store.get(address.kind, address.namespace or "", address.name)
        if found is None:
            raise not_found(address.kind, address.name)
        return found

    def _changed(self, address: Address, old: Object, scale: Object, query: Mapping[str, str], agent: str) -> Response:
        kind = address.kind
        new = rescaled(old, scale)
        name = query.get("fieldManager") or agent.partition("/")[0]
        writer = Writer(name, kind.api_version, "scale", self._maker.time)
        managers = decoded(old["metadata"].get("managedFields", [])) or {}
        different = new["spec"]["replicas"] != old["spec"]["replicas"]
        managers = owned_by_scaling(kind, managers, writer, changed=different)
        return Response(200, scale_of(self._writes.store_change(kind, old, new, managers, agent)))


def scale_of(deployment: Object) -> Object:
    """Return the scale of a Deployment."""
    metadata, spec, status = deployment["metadata"], deployment["spec"], deployment.get("status", {})
    labels = spec["selector"].get("matchLabels", {})
    told: Object = {"replicas": status.get("replicas", 0)}
    if labels:
        told["selector"] = ",".join(f"{name}={labels[name]}" for name in sorted(labels))
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {name: metadata[name] for name in kept},
        "spec": {"replicas": spec["replicas"]} if spec["replicas"] else {},
        "status": told,
    }


def rescaled(deployment: Object, scale: Object) -> Object:
    """Return a Deployment with the replicas of a scale and the resourceVersion that the scale is based on."""
    version = scale["metadata"].get("resourceVersion") or deployment["metadata"]["resourceVersion"]
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    return {
        **deployment,
        "metadata": {**deployment["metadata"], "resourceVersion": version},
        "spec": {**deployment["spec"], "replicas": replicas},
    }


def owned_by_scaling(kind: Kind, managers: Managers, writer: Writer, *, changed: bool) -> Managers:
    """Return the field ownership after the replicas were scaled.

    The API server records the new owner only if the replicas had an owner before.
    """
    if not changed:
        return managers
    found: Managers = {}
    had = False
    for manager, owned in managers.items():
        left = difference(owned.fields, _REPLICAS)
        had = had or left is not owned.fields
        if left:
            found[manager] = Owned(left, owned.api_version, owned.time)
    if had:
        found[writer.manager("Update")] = Owned(_REPLICAS, kind.api_version, writer.time)
    return found
