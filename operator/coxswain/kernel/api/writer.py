"""Write children and status by Server-Side Apply, as the field manager `coxswain`. No other module writes them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Undecodable
from coxswain.kernel.conflicts.managed_fields import patch, reassigned, released
from coxswain.kernel.objects.edit import with_value
from coxswain.kernel.objects.field_paths import Path
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import UNREADABLE, Named, Projection, Projector
from coxswain.kernel.objects.status_fields import Status

NEVER_STORED = "1"
"""An impossible resourceVersion: an apply with it creates the object, or fails with 409 if the name is in use."""


class Writer:
    """Writes children and status, reads single objects, and returns the projection of each response.

    A response that is no readable object raises `Undecodable`. The write may have been carried out.
    """

    def __init__(self, client: Client, projector: Projector) -> None:
        """Write with `client` as the field manager of `projector`, which also projects the responses."""
        self._client = client
        self._projector = projector

    def checking(self, check: Callable[[], None]) -> "Writer":
        """Return this writer with a check: it runs before each write is sent, and prevents the write by an error."""
        return Writer(self._client.checking(check), self._projector)

    async def create(self, manifest: Manifest) -> Projection:
        """Create a child.

        An object missing in the cache may still exist, hidden by the label selector. A plain apply would change it.

        Raises:
            Refused: with status 409 if the name is already in use; the existing object is unchanged.
        """
        return await self._apply(manifest, {"resourceVersion": NEVER_STORED}, force=False)

    async def update(self, manifest: Manifest, observed: Projection, *, force: bool) -> Projection:
        """Apply a child with preconditions on its observed uid and resourceVersion.

        Server-Side Apply does not require a resourceVersion. It is sent so that a manifest computed from stale state
        never overwrites a newer object. With `force`, it takes ownership of conflicting fields.

        Raises:
            Refused: with status 409 if the object has changed or was deleted, 422 on metadata.uid if it was recreated.
        """
        identity = {"uid": observed.uid, "resourceVersion": str(observed.version)}
        return await self._apply(manifest, identity, force=force)

    async def keep(self, observed: Projection, path: Path, value: Any) -> Projection:
        """Own a field at its live value as the separate field manager `keeper`.

        The field then stays in the object when our manager omits it.

        Raises:
            Refused: with status 409 if the object has changed since.
        """
        manifest = with_value(_exactly(observed), path, value)
        keeper = self._projector.keeper
        response = await self._client.apply(observed.kind, manifest, field_manager=keeper, force=False)
        return self._observed(observed.kind, response)

    async def take_ownership(self, observed: Projection, paths: Sequence[Path]) -> Projection:
        """Make our manager the only owner of these paths, so that the next apply removes the omitted ones.

        Raises:
            Refused: with status 409 if the object has changed since.
        """
        raw = await self.read_whole(observed)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        entries = raw["metadata"].get("managedFields", [])
        return await self._patch_managed_fields(
            observed,
            reassigned(entries, paths, self._projector.manager, api_version=observed.kind.api_version, now=now),
        )

    async def release(self, observed: Projection, is_former: Callable[[str, str], bool]) -> Projection:
        """Remove the former managers from the owners of our fields; `is_former` tells them by name and operation.

        Raises:
            Refused: with status 409 if the object has changed since.
        """
        raw = await self.read_whole(observed)
        return await self._patch_managed_fields(
            observed, released(raw["metadata"].get("managedFields", []), is_former, self._projector.manager)
        )

    async def _patch_managed_fields(self, observed: Projection, entries: Sequence[Mapping[str, Any]]) -> Projection:
        operations = patch(entries, str(observed.version))
        return self._observed(
            observed.kind,
            await self._client.json_patch(observed.kind, observed.namespace, observed.name, operations),
        )

    async def remove(self, observed: Projection, *, orphan: bool = False) -> None:
        """Delete a child with preconditions on its observed uid and resourceVersion.

        With `orphan`, its dependents are not deleted.
        """
        await self._client.delete(
            observed.kind,
            observed.namespace,
            observed.name,
            uid=observed.uid,
            version=observed.version,
            orphan=orphan,
        )

    async def write_status(self, parent: Projection, status: Status) -> Projection:
        """Apply the status of a parent.

        Raises:
            Refused: with status 409 if the parent has changed since the status was computed.
        """
        manifest = {**_exactly(parent), "status": status}
        response = await self._client.apply(
            parent.kind, manifest, field_manager=self._projector.manager, force=True, subresource="status"
        )
        return self._observed(parent.kind, response)

    async def remove_from_status(self, parent: Projection, pointers: Sequence[str]) -> Projection:
        """Remove fields from the status of a parent, whoever owns them.

        Args:
            parent: the observed parent.
            pointers: JSON Pointers from the status, in the order of the removals.

        Raises:
            Refused: with status 409 if the parent has changed since.
        """
        operations = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": str(parent.version)},
            *({"op": "remove", "path": f"/status{pointer}"} for pointer in pointers),
        ]
        response = await self._client.json_patch(
            parent.kind, parent.namespace, parent.name, operations, subresource="status"
        )
        return self._observed(parent.kind, response)

    async def read(self, manifest: Manifest) -> Projection:
        """Return the live object with the kind and name of a child."""
        kind, metadata = self._projector.kinds.of(manifest), manifest["metadata"]
        return self._observed(kind, await self._client.get(kind, metadata["namespace"], metadata["name"]))

    async def read_whole(self, observed: Projection) -> Manifest:
        """Return a live child with all of its fields."""
        raw = await self._client.get(observed.kind, observed.namespace, observed.name)
        self._observed(observed.kind, raw)
        return raw

    async def read_parent(self, parent: Named) -> Projection:
        """Return the live parent."""
        kind = self._projector.kinds.parent
        return self._observed(kind, await self._client.get(kind, parent.namespace, parent.name))

    async def read_record(self, kind: Kind, namespace: str, name: str) -> Projection:
        """Return the live record of a parent's state."""
        return self._observed(kind, await self._client.get(kind, namespace, name))

    async def _apply(self, manifest: Manifest, identity: dict[str, Any], *, force: bool) -> Projection:
        kind = self._projector.kinds.of(manifest)
        sent = {**manifest, "metadata": {**manifest["metadata"], **identity}}
        return self._observed(
            kind, await self._client.apply(kind, sent, field_manager=self._projector.manager, force=force)
        )

    def _observed(self, kind: Kind, raw: Mapping[str, Any]) -> Projection:
        """Return the projection of a response. A proxy may answer, and anyone may write deeply nested managedFields."""
        try:
            return self._projector.observe(kind, raw)
        except UNREADABLE as error:
            raise Undecodable(f"the response is no readable {kind}: {error!r}") from error


def _exactly(observed: Projection) -> Manifest:
    """Return a manifest of an object without fields, with preconditions on its observed uid and resourceVersion."""
    metadata = {
        "name": observed.name,
        "namespace": observed.namespace,
        "uid": observed.uid,
        "resourceVersion": str(observed.version),
    }
    return {"apiVersion": observed.kind.api_version, "kind": observed.kind.kind, "metadata": metadata}
