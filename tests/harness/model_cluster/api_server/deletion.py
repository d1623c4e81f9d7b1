"""Deletion: immediate, or after finalizers; garbage collection; terminating namespaces."""

from collections.abc import Mapping

from model_cluster.api_server.answers import Response, deleted, not_found, unmet
from model_cluster.api_server.kinds import NAMESPACE, POD, SERVICE, SERVICE_ACCOUNT, Address, Kind
from model_cluster.api_server.managed import Writer, with_metadata
from model_cluster.api_server.schema import Object
from model_cluster.api_server.store import Store
from model_cluster.api_server.strategy import Maker, with_stored_status
from model_cluster.api_server.writes import Writes

_ORPHAN = "orphan"
_FOREGROUND = "foregroundDeletion"
_RETURNED = (POD, SERVICE, SERVICE_ACCOUNT)
"""Kinds for which a DELETE returns the object instead of a Status."""
_COLLECTOR = "kube-controller-manager"


class Deletion:
    """Deletes stored objects."""

    def __init__(self, store: Store, maker: Maker, writes: Writes) -> None:
        self._store = store
        self._maker = maker
        self._writes = writes

    def delete(self, address: Address, body: Object | None, query: Mapping[str, str], agent: str) -> Response:
        """Delete an object if the preconditions hold."""
        kind = address.kind
        old = self._store.get(kind, address.namespace or "", address.name)
        if old is None:
            raise not_found(kind, address.name)
        options = body or {}
        _check(kind, old, options.get("preconditions") or {})
        self._writes.check_deletion(kind, old, agent)
        policy = options.get("propagationPolicy") or query.get("propagationPolicy", "")
        grace = options.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        return self._deleted(kind, old, policy, None if grace is None else int(grace))

    def _deleted(self, kind: Kind, old: Object, policy: str, grace: int | None) -> Response:
        metadata = old["metadata"]
        finalizers = [each for each in metadata.get("finalizers", []) if each not in (_ORPHAN, _FOREGROUND)]
        finalizers += {"Orphan": [_ORPHAN], "Foreground": [_FOREGROUND]}.get(policy, [])
        if not policy:
            finalizers = list(metadata.get("finalizers", []))
        seconds = 0
        if kind is POD and old["spec"].get("nodeName") and grace != 0:
            seconds = old["spec"].get("terminationGracePeriodSeconds", 30) if grace is None else grace
        held = finalizers or seconds or (kind is NAMESPACE and old["spec"].get("finalizers"))
        if not held:
            gone = self._store.remove(kind, self._ended(old) if kind is POD else old)
            return Response(200, gone) if kind in _RETURNED else deleted(kind, gone)
        return Response(200, self._marked(kind, old, finalizers, seconds))

    def _ended(self, pod: Object) -> Object:
        generation = pod["metadata"]["generation"] + ("deletionTimestamp" not in pod["metadata"])
        return with_metadata(
            pod, deletionTimestamp=self._maker.time, deletionGracePeriodSeconds=0, generation=generation
        )

    def _marked(self, kind: Kind, old: Object, finalizers: list[str], seconds: int) -> Object:
        metadata = old["metadata"]
        new = with_metadata(old, finalizers=finalizers or None)
        if "deletionTimestamp" not in metadata:
            generation = metadata.get("generation")
            new = with_metadata(
                new,
                deletionTimestamp=self._maker.time,
                deletionGracePeriodSeconds=None if kind is NAMESPACE else seconds,
                generation=generation + 1 if generation else None,
            )
            if kind is NAMESPACE:
                new = {**new, "status": {**new.get("status", {}), "phase": "Terminating"}}
        return old if new == old else self._store.put(kind, with_stored_status(kind, new))

    def collect_garbage(self) -> int:
        """Run the garbage collector once; return the number of changed objects."""
        objects = list(self._store.all())
        uids = {found["metadata"]["uid"] for _, found in objects}
        before = self._store.version
        for kind, found in objects:
            if self._store.get(kind, found["metadata"].get("namespace", ""), found["metadata"]["name"]) is found:
                self._collect(kind, found, uids, objects)
        return self._store.version - before

    def _collect(self, kind: Kind, found: Object, uids: set[str], objects: list[tuple[Kind, Object]]) -> None:
        metadata = found["metadata"]
        if "deletionTimestamp" in metadata:
            self._release(kind, found, objects)
            return
        references = metadata.get("ownerReferences", [])
        solid = [reference for reference in references if reference["uid"] in uids]
        if references and not solid:
            self._deleted(kind, found, "Background", None)
        elif len(solid) < len(references):
            self._rewrite(kind, with_metadata(found, ownerReferences=solid), found)

    def _release(self, kind: Kind, found: Object, objects: list[tuple[Kind, Object]]) -> None:
        """Release an object that waits for its dependents: orphan them, or delete them first."""
        metadata = found["metadata"]
        finalizers = metadata.get("finalizers", [])
        waiting = [each for each in (_ORPHAN, _FOREGROUND) if each in finalizers]
        if not waiting:
            return
        left = 0
        for dependent_kind, listed in objects:
            place = (listed["metadata"].get("namespace", ""), listed["metadata"]["name"])
            dependent = self._store.get(dependent_kind, *place)
            if dependent is None or not _is_owned(dependent, metadata["uid"]):
                continue
            if waiting[0] == _FOREGROUND:
                self._deleted(dependent_kind, dependent, "Background", None)
                left += self._store.get(dependent_kind, *place) is not None
                continue
            rest = [each for each in dependent["metadata"]["ownerReferences"] if each["uid"] != metadata["uid"]]
            self._rewrite(dependent_kind, with_metadata(dependent, ownerReferences=rest or None), dependent)
        if not left:
            rest_of = [each for each in finalizers if each not in waiting]
            self._rewrite(kind, with_metadata(found, finalizers=rest_of or None), found)

    def _rewrite(self, kind: Kind, new: Object, old: Object) -> None:
        writer = Writer(_COLLECTOR, kind.api_version, "", self._maker.time)
        self._writes.update(kind, old, new, writer, _COLLECTOR)

    def empty_namespaces(self) -> int:
        """Empty terminating namespaces and delete the empty ones, once; return the number of changed objects."""
        before = self._store.version
        going = [
            (kind, found)
            for kind, found in self._store.all()
            if kind is NAMESPACE and "deletionTimestamp" in found["metadata"]
        ]
        for kind, namespace in going:
            name = namespace["metadata"]["name"]
            inside = [each for each in self._store.all() if each[1]["metadata"].get("namespace") == name]
            for each, found in inside:
                self._deleted(each, found, "Background", None)
            if not any(found["metadata"].get("namespace") == name for _, found in self._store.all()):
                self._store.remove(kind, namespace)
        return self._store.version - before


def _is_owned(found: Object, uid: str) -> bool:
    return any(reference["uid"] == uid for reference in found["metadata"].get("ownerReferences", []))


def _check(kind: Kind, old: Object, preconditions: Mapping[str, str]) -> None:
    metadata = old["metadata"]
    for name, told in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted = preconditions.get(name)
        if wanted and wanted != metadata[name]:
            raise unmet(
                kind, metadata["name"], f"the {told} in the precondition ({wanted}) does not match {metadata[name]}"
            )
