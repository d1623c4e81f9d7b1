"""Faults of several replicas: of processes, clocks, and the Lease."""

from model_cluster.active_faults import READS, WRITES, Fault
from simulation.actions import action
from simulation.elections import LEASE_NAMESPACE, lease_name
from simulation.network import LEASES
from simulation.replica import Replica
from simulation.world import World

_METHODS = {"reads": READS, "writes": WRITES, "all": READS + WRITES}
_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases"


@action("pause replica")
def pause(world: World, *, which: str, seconds: float, what: str) -> bool:
    """Stop processes like SIGSTOP, their machines, or their main loops only; continue them later."""
    chosen = [replica for replica in _chosen(world, which) if not replica.paused]
    for replica in chosen:
        replica.pause(seconds, elector=what != "main loop", suspended=what == "machine")
    return bool(chosen)


@action("end replica")
def end(world: World, *, which: str, hard: bool, pause: float) -> bool:
    """Stop processes by SIGTERM or SIGKILL, and start others later."""
    chosen = _chosen(world, which)
    for replica in chosen:
        replica.start_again(hard=hard, pause=pause)
    return bool(chosen)


@action("lease requests")
def lease_requests(
    world: World,
    *,
    which: str,
    kind: str,
    seconds: float,
    methods: str,
    probability: float,
    pause: float,
    slot: int | None = None,
) -> bool:
    """Inject a fault into the requests for all Leases, or for the Lease of one slot."""
    now, chosen = world.clock(), _chosen(world, which)
    for replica in chosen:
        fault = Fault(
            kind,
            now + seconds,
            _METHODS[methods],
            LEASES,
            probability=probability,
            seconds=pause,
            name=None if slot is None else lease_name(slot, world.conditions.slots),
            since=now,
            client=replica.number,
        )
        world.faults.add(fault)
    return bool(chosen)


@action("hang API server")
def hang(world: World, *, seconds: float) -> bool:
    """Let all requests and watches of the replicas hang."""
    now = world.clock()
    world.faults.add(Fault("time-out", now + seconds, since=now))
    world.faults.add(Fault("hanging watch", now + seconds, READS))
    for replica in world.replicas:
        for connection in replica.watches.connections.values():
            connection.silent = True
    return True


@action("step clock")
def step_clock(world: World, *, which: str, seconds: float, stands: bool) -> bool:
    """Change the wall clocks of replicas, or let them stand still."""
    chosen = _chosen(world, which)
    for replica in chosen:
        replica.clock_error += seconds
        replica.clock_stands = world.clock() if stands else None
    return bool(chosen)


@action("change lease")
def change_lease(world: World, *, how: str, slot: int | None = None) -> bool:
    """Delete a Lease, write a stranger into it, or clear its holder by hand; without a slot the one of all replicas."""
    path = f"{_PATH}/{lease_name(slot, world.conditions.slots)}"
    if world.cluster.request("admin", "GET", path).status != 200:
        return False
    world.lease_touched = world.clock()
    world.trace.add(f"the Lease is changed by hand: {how}")
    if how == "delete":
        world.cluster.request("admin", "DELETE", path)
        return True
    holder = {"take": "stranger", "clear": ""}[how]
    body = {"spec": {"holderIdentity": holder}}
    world.cluster.request("admin", "PATCH", path, body, content_type="application/merge-patch+json")
    return True


def _chosen(world: World, which: str) -> list[Replica]:
    """Return the running replicas for a word: leader, standby, all."""
    if len(world.replicas) == 1:
        return []
    chosen = {
        "leader": [world.leader],
        "standby": [replica for replica in world.replicas if replica is not world.leader][:1],
        "all": world.replicas,
    }[which]
    return [replica for replica in chosen if replica.running]
