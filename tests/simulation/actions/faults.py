"""Faults: of requests, watches, rights, policies, namespaces, history, and the operator's process."""

from typing import Any

from model_cluster.active_faults import READS, WRITES, Fault
from model_cluster.api_server import Refusal
from simulation.actions import action
from simulation.subject import USER_AGENT
from simulation.world import World

_METHODS = {"reads": READS, "writes": WRITES, "all": READS + WRITES, "deletes": ("DELETE",)}


@action("requests")
def requests(
    world: World,
    *,
    kind: str,
    seconds: float,
    methods: str = "all",
    plural: str | None = None,
    at: str | None = None,
    name: str | None = None,
    subresource: str | None = None,
    probability: float = 1.0,
    pause: float = 0.0,
) -> bool:
    """Inject a fault into requests for a time."""
    now = world.clock()
    fault = Fault(kind, now + seconds, _METHODS[methods], plural, at, subresource, probability, pause, name)
    fault.since = now
    world.faults.add(fault)
    return True


@action("close watches")
def close_watches(world: World, *, why: str, plural: str | None = None, seconds: float = 0.0) -> bool:
    """End open watches by a timeout, a 410 or an error event, and refuse new ones for a time."""
    if seconds:
        world.faults.add(Fault("watch refused", world.clock() + seconds, READS, plural))
    return world.close_watches(why, plural) > 0


@action("flapping watch")
def flap(world: World, *, plural: str, every: float, times: int) -> bool:
    """End a watch with 410 repeatedly."""
    loop = world.memory["loop"]
    for number in range(times):
        loop.call_later(number * every, world.close_watches, "expired", plural)
    return True


@action("silent watch")
def silence(world: World, *, plural: str | None, seconds: float, hang: bool) -> bool:
    """Make watches silent: neither open watches nor watches opened meanwhile deliver events."""
    world.faults.add(Fault("hanging watch" if hang else "silent watch", world.clock() + seconds, READS, plural))
    done = False
    for replica in world.replicas:
        for connection in replica.watches.connections.values():
            if plural in (None, connection.kind.plural):
                connection.silent = done = True
    return done


@action("late watch")
def lag(world: World, *, plural: str, seconds: float, late: float) -> bool:
    """Delay the watch of one resource."""
    for replica in world.replicas:
        replica.watches.lag[plural] = late
        world.memory["loop"].call_later(seconds, replica.watches.lag.pop, plural, None)
    world.faults.add(Fault("late watch", world.clock() + seconds + late, (), plural))
    return True


@action("take right")
def take_right(world: World, *, verb: str, plural: str, at: str | None, seconds: float) -> bool:
    """Remove a right of the operator for a time."""
    right = (verb, plural, at)
    world.cluster.api.forbidden.add(right)
    if verb == "watch":
        world.close_watches("timed out", plural.partition("/")[0])
    world.faults.add(Fault(f"no right to {verb}", world.clock() + seconds, (), plural.partition("/")[0], at))

    def give_back() -> None:
        world.cluster.api.forbidden.discard(right)
        world.trace.add(f"right given back: {right}")

    world.memory["loop"].call_later(seconds, give_back)
    return True


@action("refusing policy")
def refuse(world: World, *, plural: str, operations: list[str], seconds: float, webhook: bool) -> bool:
    """Deny the operator's writes to a kind, like an admission policy or a webhook."""
    kind = world.cluster.kinds[plural].name

    def policy(operation: str, thing: Any, old: Any, agent: str) -> Any:
        if operation not in operations or not agent.startswith(USER_AGENT) or thing["kind"] != kind:
            return None
        if operation == "UPDATE" and _only_status(thing, old):
            return None
        world.faults.met["refusing policy"] += 1
        if webhook:
            return Refusal(403, "Forbidden", 'admission webhook "guard.example.com" denied the request: not now')
        name = thing["metadata"]["name"]
        told = "ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: not now"
        return Refusal(422, "Invalid", f'{plural} "{name}" is forbidden: {told}')

    return _install(world, policy, "refusing policy", plural, seconds)


@action("changing policy")
def mutate(world: World, *, plural: str, seconds: float) -> bool:
    """Let a policy force a label to another value."""
    held, value = world.workload.scripts.samples.held_label
    kind = world.cluster.kinds[plural].name

    def policy(operation: str, thing: Any, old: Any, agent: str) -> Any:  # noqa: ARG001
        if operation == "DELETE" or thing["kind"] != kind:
            return None
        world.faults.met["changing policy"] += 1
        metadata = thing["metadata"]
        labels = {**(metadata.get("labels") or {}), held: value}
        return {**thing, "metadata": {**metadata, "labels": labels}}

    return _install(world, policy, "changing policy", plural, seconds)


def _install(world: World, policy: Any, kind: str, plural: str, seconds: float) -> bool:
    world.cluster.api.admission.append(policy)
    world.faults.add(Fault(kind, world.clock() + seconds, (), plural))

    def remove() -> None:
        world.cluster.api.admission.remove(policy)
        world.trace.add(f"{kind} for {plural} removed")

    world.memory["loop"].call_later(seconds, remove)
    return True


def _only_status(thing: Any, old: Any) -> bool:
    return old is not None and thing.get("spec") == old.get("spec") and (thing.get("status") != old.get("status"))


@action("end namespace")
def end_namespace(world: World, *, at: str, pause: float) -> bool:
    """Delete a namespace with its content, and create it again after its deletion."""
    world.cluster.request("admin", "DELETE", f"/api/v1/namespaces/{at}")
    for parent in [where for where in world.cluster.objects[world.workload.parent] if where[0] == at]:
        world.trace.add(f"namespace {at} takes {parent[1]}")
    loop, ending = world.memory["loop"], world.memory.setdefault("ending", set())
    ending.add(at)

    def step() -> None:
        if world.cluster.request("admin", "GET", f"/api/v1/namespaces/{at}").status == 200:
            world.cluster.collect_garbage()
            loop.call_later(pause, step)
        else:
            world.make_namespace(at)
            ending.discard(at)

    loop.call_later(pause, step)
    return True


@action("back up")
def back_up(world: World) -> bool:
    """Take a backup of etcd."""
    world.backup = world.cluster.back_up()
    return True


@action("restore")
def restore(world: World) -> bool:
    """Restore etcd from the backup: history goes backwards, and all connections are closed."""
    if world.backup is None or world.backup.snapshot.version >= world.cluster.api.version:
        return False
    world.cluster.restore(world.backup)
    world.restored, world.restored_version = world.clock(), world.backup.snapshot.version
    world.faults.add(Fault("restored history", world.clock() + 8.0, ()))
    # A restore stops the API servers, so each watch is refused at least once.
    world.faults.add(Fault("unreachable", world.clock() + 3.0))
    world.close_watches("timed out")
    world.controllers.look_at_all()
    return True


@action("compact")
def compact(world: World, *, keep: int) -> bool:
    """Compact all changes except the last ones: continue tokens and watches of older versions expire."""
    world.cluster.compact(keep)
    return True


@action("restart")
def restart(world: World, *, hard: bool, pause: float) -> bool:
    """Stop the leader by SIGTERM or SIGKILL, and restart it."""
    replica = world.leader
    if not replica.running:
        return False
    replica.start_again(hard=hard, pause=pause)
    return True
