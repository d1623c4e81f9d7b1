"""The only writer: children and status, by Server-Side Apply as the field manager `coxswain`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.conflicts.managed_fields import patch, released, taken_over
from coxswain.kernel.objects.field_paths import Path
from coxswain.kernel.objects.kinds import DEPLOYMENT, WEBAPP, kind_of
from coxswain.kernel.objects.projection import FIELD_MANAGER, REPLICAS_MANAGER, Projection, observe
from coxswain.webapp.spec import Manifest, Status, WebApp

NEVER_STORED = "1"
"""A resourceVersion that no object has: an apply with it creates, or is refused with 409 if the name is taken."""


class Writer:
    """Writes children and status; returns what the API server answered."""

    def __init__(self, client: Client) -> None:
        self._client = client

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

    async def keep_replicas(self, deployment: Projection, count: int) -> Projection:
        """Own the replicas of a Deployment as it was observed, at their live count, as a manager of their own.

        So they stay when `coxswain` leaves them out. 409 if the Deployment has changed since.
        """
        metadata = {
            "name": deployment.name,
            "namespace": deployment.namespace,
            "uid": deployment.uid,
            "resourceVersion": str(deployment.version),
        }
        manifest = {
            "apiVersion": DEPLOYMENT.api_version,
            "kind": DEPLOYMENT.kind,
            "metadata": metadata,
            "spec": {"replicas": count},
        }
        answer = await self._client.apply(DEPLOYMENT, manifest, field_manager=REPLICAS_MANAGER, force=False)
        return observe(DEPLOYMENT, answer)

    async def take_over(self, observed: Projection, places: Sequence[Path]) -> Projection:
        """Make these places of an object as it was observed ours alone: the next apply removes what it doesn't name.

        409 if the object has changed since.
        """
        raw = await self._client.get(observed.kind, observed.namespace, observed.name)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        entries = raw["metadata"].get("managedFields", [])
        return await self._manage(observed, taken_over(entries, places, api_version=observed.kind.api_version, now=now))

    async def release(self, observed: Projection, is_released: Callable[[str, str], bool]) -> Projection:
        """Take from some managers, by name and operation, what is ours too of an object as it was observed.

        409 if the object has changed since.
        """
        raw = await self._client.get(observed.kind, observed.namespace, observed.name)
        return await self._manage(observed, released(raw["metadata"].get("managedFields", []), is_released))

    async def _manage(self, observed: Projection, entries: Sequence[Mapping[str, Any]]) -> Projection:
        operations = patch(entries, str(observed.version))
        return observe(
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

    async def write_status(self, webapp: Projection, status: Status) -> Projection:
        """Apply the status of a WebApp; 409 if it is no longer the version that the status was computed from."""
        manifest = {
            "apiVersion": WEBAPP.api_version,
            "kind": WEBAPP.kind,
            "metadata": {
                "name": webapp.name,
                "namespace": webapp.namespace,
                "resourceVersion": str(webapp.version),
                "uid": webapp.uid,
            },
            "status": status,
        }
        answer = await self._client.apply(
            WEBAPP, manifest, field_manager=FIELD_MANAGER, force=True, subresource="status"
        )
        return observe(WEBAPP, answer)

    async def look(self, manifest: Manifest) -> Projection:
        """Return the object that bears a child's name."""
        kind, metadata = kind_of(manifest), manifest["metadata"]
        return observe(kind, await self._client.get(kind, metadata["namespace"], metadata["name"]))

    async def look_at_webapp(self, webapp: WebApp) -> Projection:
        """Return a WebApp as it is now."""
        return observe(WEBAPP, await self._client.get(WEBAPP, webapp.namespace, webapp.name))

    async def _apply(self, manifest: Manifest, identity: dict[str, Any], *, force: bool) -> Projection:
        kind = kind_of(manifest)
        sent = {**manifest, "metadata": {**manifest["metadata"], **identity}}
        return observe(kind, await self._client.apply(kind, sent, field_manager=FIELD_MANAGER, force=force))
