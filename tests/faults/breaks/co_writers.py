"""Breaks for F12 and F13 with conflict policies: fields of others, taken, left or fought for."""

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
from coxswain.kernel.reconciling import decide, event_reasons
from coxswain.kernel.reconciling.actions import Apply
from coxswain.kernel.reconciling.decide import Target
from coxswain.kernel.reconciling.execute import Executor
from coxswain.kernel.reconciling.write_wars import WriteWars
from coxswain.kernel.status import conflict_report
from coxswain.webapp import replicas
from coxswain.webapp.replicas import Scaling
from coxswain.webapp.spec import WebApp
from faults.breaks import PEACE, broken, put


@broken("no policy is asked: every field is taken", passes=PEACE)
def asks_no_policy() -> None:
    put(Policies, of=lambda *_: Policy.ENFORCE)


@broken("every apply is forced, over whatever is there by then")
def forces_always() -> None:
    async def update(self: Writer, manifest: Manifest, observed: Projection, **_: bool) -> Projection:  # noqa: ARG001
        return await self._apply(manifest, {}, force=True)

    put(Writer, update=update)


@broken("what another manager has set in a field's place is not taken over before the apply")
def takes_no_rivals() -> None:
    plan: Callable[..., Plan] = decide.plan  # type: ignore[attr-defined]

    def without_rivals(*arguments: Any, **named: Any) -> Plan:
        return replace(plan(*arguments, **named), rivals=())

    put(decide, plan=without_rivals)


@broken("managedFields are written over whatever they are by then")
def takes_over_blindly() -> None:
    patch = managed_fields.patch

    def without_version(entries: Sequence[Mapping[str, Any]], version: str) -> list[dict[str, Any]]:
        return [step for step in patch(entries, version) if step["path"] != "/metadata/resourceVersion"]

    put(writer, patch=without_version)


@broken("that a field is taken again and again is not noticed")
def forgets_contests() -> None:
    put(WriteWars, enforced=lambda *_: None)


@broken("the ledger keeps all that was ever put back")
def keeps_a_ledger_without_end() -> None:
    put(conflict_report, _ENTRIES=100_000)


@broken("the ledger and the Events show every value")
def tells_what_it_found() -> None:
    def plainly(field: str, value: Any) -> str:  # noqa: ARG001
        return str(value)

    put(conflict_report, shown=plainly)
    put(event_reasons, shown=plainly)


@broken("the replicas are left to an autoscaler without anybody having them meanwhile", passes=PEACE)
def hands_over_without_a_holder() -> None:
    put(decide, _lost=lambda *_: None)


@broken("once its autoscaler is gone a Deployment has the replicas of the WebApp again, whatever it had", passes=PEACE)
def takes_back_at_once() -> None:
    scaling = replicas.scaling

    def at_once(wanted: int, live: int | None, _: str | None, *, autoscaled: bool) -> Scaling:
        return scaling(wanted, live, None, autoscaled=autoscaled)

    put(replicas, scaling=at_once)


@broken("a child that is made anew is deleted with all that belongs to it")
def replaces_with_all_pods() -> None:
    remove = Writer.remove

    async def with_pods(self: Writer, child: Projection, **_: bool) -> None:
        await remove(self, child)

    put(Writer, remove=with_pods)


@broken("only the process that has adopted a child takes from the managers of before what is ours")
def releases_what_it_adopted() -> None:
    to_release, execute = decide.to_release, Executor.execute  # type: ignore[attr-defined]
    adopted: set[str] = set()

    async def noting(self: Executor, action: Any, target: Target[WebApp], *rest: Any) -> None:
        await execute(self, action, target, *rest)
        if isinstance(action, Apply) and not target.is_ours:
            adopted.add(action.live.uid)

    put(Executor, execute=noting)
    put(decide, to_release=lambda parent, live: live.uid in adopted and to_release(parent, live))


@broken("what may be adopted is deleted, and made anew", passes=PEACE)
def adopts_anew() -> None:
    update = Writer.update

    async def anew(self: Writer, manifest: Manifest, observed: Projection, *, force: bool) -> Projection:
        if observed.owned is not None:
            return await update(self, manifest, observed, force=force)
        await self.remove(observed)
        return await self.create(manifest)

    put(Writer, update=anew)
