"""The only writer: children and status, by Server-Side Apply as the field manager `coxswain`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.conflicts.managed_fields import patch, released, taken_over
from coxswain.kernel.objects.edit import with_value
from coxswain.kernel.objects.field_paths import Path
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Named, Projection, Projector
from coxswain.kernel.objects.status_fields import Status

NEVER_STORED = "1"
"""A resourceVersion that no object has: an apply with it creates, or is refused with 409 if the name is taken."""


class Writer:
    """Writes children and status; returns what the API server answered."""

    def __init__(self, client: Client, projector: Projector) -> None:
        """Write through `client` as the field manager of `projector`, which reads the answers."""
        self._client = client
        self._projector = projector

    async def create(self, manifest: Manifest) -> Projection:
        """Create a child. A `Refused` with status 409 means that its name is taken: nothing was changed.

        Not being in the store is no proof of absence, and a plain apply would take over what a label filter hides.
        """
        return await self._apply(manifest, {"resourceVersion": NEVER_STORED}, force=False)

    async def update(self, manifest: Manifest, observed: Projection, *, force: bool) -> Projection:
        """Apply a child of ours as it was observed; with `force`, fields that others hold become ours.

        409 if it has changed since or is gone, and 422 on metadata.uid if another object has its name by now. An apply
        needs no resourceVersion, but a manifest that was made of what is out of date must not go over what is newer.
        """
        identity = {"uid": observed.uid, "resourceVersion": str(observed.version)}
        return await self._apply(manifest, identity, force=force)

    async def keep(self, observed: Projection, path: Path, value: Any) -> Projection:
        """Own a field of an object as it was observed, at its live value, as a field manager of its own.

        So the field stays when our manager leaves it out. 409 if the object has changed since.
        """
        metadata = {
            "name": observed.name,
            "namespace": observed.namespace,
            "uid": observed.uid,
            "resourceVersion": str(observed.version),
        }
        identity = {"apiVersion": observed.kind.api_version, "kind": observed.kind.kind, "metadata": metadata}
        manifest = with_value(identity, path, value)
        keeper = self._projector.keeper
        answer = await self._client.apply(observed.kind, manifest, field_manager=keeper, force=False)
        return self._projector.observe(observed.kind, answer)

    async def take_over(self, observed: Projection, places: Sequence[Path]) -> Projection:
        """Make these places of an object as it was observed ours alone: the next apply removes what it doesn't name.

        409 if the object has changed since.
        """
        raw = await self._client.get(observed.kind, observed.namespace, observed.name)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        entries = raw["metadata"].get("managedFields", [])
        return await self._manage(
            observed,
            taken_over(entries, places, self._projector.manager, api_version=observed.kind.api_version, now=now),
        )

    async def release(self, observed: Projection, is_released: Callable[[str, str], bool]) -> Projection:
        """Take from some managers, by name and operation, what is ours too of an object as it was observed.

        409 if the object has changed since.
        """
        raw = await self._client.get(observed.kind, observed.namespace, observed.name)
        return await self._manage(
            observed, released(raw["metadata"].get("managedFields", []), is_released, self._projector.manager)
        )

    async def _manage(self, observed: Projection, entries: Sequence[Mapping[str, Any]]) -> Projection:
        operations = patch(entries, str(observed.version))
        return self._projector.observe(
            observed.kind,
            await self._client.json_patch(observed.kind, observed.namespace, observed.name, operations),
        )

    async def remove(self, observed: Projection, *, orphan: bool = False) -> None:
        """Delete a child exactly as it was observed; with `orphan`, what it controls stays."""
        await self._client.delete(
            observed.kind,
            observed.namespace,
            observed.name,
            uid=observed.uid,
            version=observed.version,
            orphan=orphan,
        )

    async def write_status(self, parent: Projection, status: Status) -> Projection:
        """Apply the status of a parent; 409 if its version is no longer the one that the status was computed from."""
        manifest = {
            "apiVersion": parent.kind.api_version,
            "kind": parent.kind.kind,
            "metadata": {
                "name": parent.name,
                "namespace": parent.namespace,
                "resourceVersion": str(parent.version),
                "uid": parent.uid,
            },
            "status": status,
        }
        answer = await self._client.apply(
            parent.kind, manifest, field_manager=self._projector.manager, force=True, subresource="status"
        )
        return self._projector.observe(parent.kind, answer)

    async def read(self, manifest: Manifest) -> Projection:
        """Return the object that has a child's name."""
        kind, metadata = self._projector.kinds.of(manifest), manifest["metadata"]
        return self._projector.observe(kind, await self._client.get(kind, metadata["namespace"], metadata["name"]))

    async def read_parent(self, parent: Named) -> Projection:
        """Return a parent as it is now."""
        kind = self._projector.kinds.parent
        return self._projector.observe(kind, await self._client.get(kind, parent.namespace, parent.name))

    async def _apply(self, manifest: Manifest, identity: dict[str, Any], *, force: bool) -> Projection:
        kind = self._projector.kinds.of(manifest)
        sent = {**manifest, "metadata": {**manifest["metadata"], **identity}}
        return self._projector.observe(
            kind, await self._client.apply(kind, sent, field_manager=self._projector.manager, force=force)
        )
