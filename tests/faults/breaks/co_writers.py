"""Breaks for F12 and F13: conflict policies, co-owned fields, write wars and adoptions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from coxswain.kernel.api import writer
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.conflicts import managed_fields
from coxswain.kernel.conflicts.policy import Policies, Policy
from coxswain.kernel.conflicts.write_plan import Plan
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child import decide
from coxswain.kernel.reconciling.child.actions import Apply
from coxswain.kernel.reconciling.child.decide import Target
from coxswain.kernel.reconciling.child.execute import Executor
from coxswain.kernel.reconciling.memory.write_wars import DeletionBrake, WriteWars
from coxswain.kernel.reconciling.parent import event_reasons
from coxswain.kernel.status import conflict_report
from coxswain.webapp import replicas
from coxswain.webapp.replicas import Scaling
from coxswain.webapp.spec import WebApp
from fault_engine.lives import PEACE
from faults.breaks import broken, put


@broken("ignores the conflict policy, and enforces every field", passes=PEACE)
def ignores_conflict_policies() -> None:
    put(Policies, of=lambda *_: Policy.ENFORCE)


@broken("forces every apply, without a precondition on the version")
def forces_always() -> None:
    async def update(self: Writer, manifest: Manifest, observed: Projection, **_: bool) -> Projection:  # noqa: ARG001
        return await self._apply(manifest, {}, force=True)

    put(Writer, update=update)


@broken("does not remove another manager's union member or merge key before the apply")
def keeps_rival_members() -> None:
    plan: Callable[..., Plan] = decide.plan  # type: ignore[attr-defined]

    def without_rivals(*arguments: Any, **named: Any) -> Plan:
        return replace(plan(*arguments, **named), rivals=())

    put(decide, plan=without_rivals)


@broken("patches managedFields without a resourceVersion")
def patches_managed_fields_blindly() -> None:
    patch = managed_fields.patch

    def without_version(entries: Sequence[Mapping[str, Any]], version: str) -> list[dict[str, Any]]:
        return [step for step in patch(entries, version) if step["path"] != "/metadata/resourceVersion"]

    put(writer, patch=without_version)


@broken("does not detect write wars")
def forgets_write_wars() -> None:
    put(WriteWars, enforced=lambda *_: None)
    put(DeletionBrake, recreated=lambda *_: None)


@broken("the drift ledger has no maximum length")
def unbounded_ledger() -> None:
    put(conflict_report, _ENTRIES=100_000)


@broken("the drift ledger and the Events show every value")
def shows_every_value() -> None:
    def plainly(field: str, value: Any) -> str:  # noqa: ARG001
        return str(value)

    put(conflict_report, shown=plainly)
    put(event_reasons, shown=plainly)


@broken("gives up spec.replicas before the autoscaler owns it", passes=PEACE)
def gives_up_replicas_early() -> None:
    put(decide, _lost=lambda *_: None)


@broken("sets a Deployment's replicas to those of the WebApp as soon as its autoscaler is deleted", passes=PEACE)
def takes_replicas_back_at_once() -> None:
    scaling = replicas.scaling

    def at_once(
        wanted: int, live: int | None, _: str | None, *, autoscaled: bool = False, by_spec: bool = False, least: int = 1
    ) -> Scaling:
        return scaling(wanted, live, None, autoscaled=autoscaled, by_spec=by_spec, least=least)

    put(replicas, scaling=at_once)


@broken("replaces a child by a cascading deletion")
def replaces_with_all_pods() -> None:
    remove = Writer.remove

    async def with_pods(self: Writer, child: Projection, **_: bool) -> None:
        await remove(self, child)

    put(Writer, remove=with_pods)


@broken("releases fields of former managers only in the process that adopted the child")
def releases_only_in_adopting_process() -> None:
    has_former_managers, execute = decide.has_former_managers, Executor.execute  # type: ignore[attr-defined]
    adopted: set[str] = set()

    async def noting(self: Executor, action: Any, target: Target[WebApp], *rest: Any) -> None:
        await execute(self, action, target, *rest)
        if isinstance(action, Apply) and not target.is_ours:
            adopted.add(action.live.uid)

    put(Executor, execute=noting)
    put(decide, has_former_managers=lambda parent, live: live.uid in adopted and has_former_managers(parent, live))


@broken("deletes and recreates a child instead of adopting it", passes=PEACE)
def recreates_instead_of_adopting() -> None:
    update = Writer.update

    async def anew(self: Writer, manifest: Manifest, observed: Projection, *, force: bool) -> Projection:
        if observed.owned is not None:
            return await update(self, manifest, observed, force=force)
        await self.remove(observed)
        return await self.create(manifest)

    put(Writer, update=anew)
