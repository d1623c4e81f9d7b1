"""Reads the gauges for /metrics from the parts of the manager. Changes nothing."""

from collections.abc import Callable, Iterable, Mapping

from coxswain.gauges import Readings
from coxswain.kernel.cache.coverage import Coverage, Scope
from coxswain.kernel.cache.store import Store
from coxswain.kernel.objects.kinds import Kinds
from coxswain.kernel.reconciling.parent.reconciler import Reconciler
from coxswain.kernel.reconciling.queue.workers import Workers
from coxswain.kernel.reconciling.queue.workqueue import WorkQueue
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.kernel.workload import P


def readings(
    kinds: Kinds,
    *,
    store: Store,
    queue: WorkQueue,
    workers: Workers[P],
    reconciler: Reconciler[P],
    liveness: WatchLiveness,
    coverage: Coverage,
    led_slots: int,
) -> Readings:
    """Return the present values of the gauges."""
    return Readings(
        controller=queue.name,
        workers=workers.limit,
        active_workers=len(workers.processing),
        depths={lane.name.lower(): count for lane, count in queue.depths().items()},
        processing=queue.processing_seconds(),
        event_ages=_by_kind(liveness.data_ages(), max),
        relists=_by_kind(coverage.last_relists(), min),
        objects={kind.collection: store.count(kind) for kind in kinds.watched},
        parent=kinds.parent.collection,
        conditions=store.conditions(),
        contested=reconciler.contested(),
        led_slots=led_slots,
    )


def _by_kind(values: Mapping[Scope, float], chosen: Callable[[Iterable[float]], float]) -> dict[str, float]:
    """Return one of the values of each kind: a label for the namespace would add series with each namespace."""
    found: dict[str, list[float]] = {}
    for (kind, _), value in values.items():
        found.setdefault(kind.collection, []).append(value)
    return {kind: chosen(each) for kind, each in found.items()}
