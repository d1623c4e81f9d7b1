"""What goes wrong: requests, watches, rights, policies, namespaces, histories, and the operator's own process."""

import asyncio
from typing import Any

from simulation.actions import action
from simulation.cluster import KIND_OF, PLURAL_OF
from simulation.model import Refusal
from simulation.weather import READS, WRITES, Trouble
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
    """Let requests meet a trouble for a while."""
    now = world.clock()
    trouble = Trouble(kind, now + seconds, _METHODS[methods], plural, at, subresource, probability, pause, name)
    trouble.since = now
    world.weather.add(trouble)
    return True


@action("close watches")
def close_watches(world: World, *, why: str, plural: str | None = None, seconds: float = 0.0) -> bool:
    """End open watches: by a time-out, a 410 or an error event; and let them stay shut for a while."""
    if seconds:
        world.weather.add(Trouble("watch refused", world.clock() + seconds, READS, plural))
    return world.watches.close(why, plural) > 0


@action("flapping watch")
def flap(world: World, *, plural: str, every: float, times: int) -> bool:
    """End a watch with 410 again and again."""
    loop = world.memory["loop"]
    for number in range(times):
        loop.call_later(number * every, world.watches.close, "expired", plural)
    return True


@action("silent watch")
def silence(world: World, *, plural: str | None, seconds: float, hang: bool) -> bool:
    """Let watches fall silent: what is open brings nothing more, and what is opened meanwhile neither."""
    world.weather.add(Trouble("hanging watch" if hang else "silent watch", world.clock() + seconds, READS, plural))
    done = False
    for (of, _), connection in world.watches.connections.items():
        if plural in (None, of):
            connection.silent = done = True
    return done


@action("late watch")
def lag(world: World, *, plural: str, seconds: float, late: float) -> bool:
    """Let the watch of one resource be late."""
    world.watches.lag[plural] = late
    world.memory["loop"].call_later(seconds, world.watches.lag.pop, plural, None)
    world.weather.add(Trouble("late watch", world.clock() + seconds + late, (), plural))
    return True


@action("take right")
def take_right(world: World, *, verb: str, plural: str, at: str | None, seconds: float) -> bool:
    """Take a right from the operator for a while."""
    right = (verb, plural, at)
    world.cluster.api.forbidden.add(right)
    if verb == "watch":
        world.watches.close("timed out", plural.partition("/")[0])
    world.weather.add(Trouble(f"no right to {verb}", world.clock() + seconds, (), plural.partition("/")[0], at))

    def give_back() -> None:
        world.cluster.api.forbidden.discard(right)
        world.trace.add(f"right given back: {right}")

    world.memory["loop"].call_later(seconds, give_back)
    return True


@action("refusing policy")
def refuse(world: World, *, plural: str, operations: list[str], seconds: float, webhook: bool) -> bool:
    """Refuse what the operator does to objects of a kind, as an admission policy or a webhook does."""
    kind = KIND_OF[plural]

    def policy(operation: str, thing: Any, old: Any, agent: str) -> Any:
        if operation not in operations or not agent.startswith("coxswain") or thing["kind"] != kind:
            return None
        if operation == "UPDATE" and _only_status(thing, old):
            return None
        world.weather.met["refusing policy"] += 1
        if webhook:
            return Refusal(403, "Forbidden", 'admission webhook "guard.example.com" denied the request: not now')
        name = thing["metadata"]["name"]
        told = "ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: not now"
        return Refusal(422, "Invalid", f'{plural} "{name}" is forbidden: {told}')

    return _install(world, policy, "refusing policy", plural, seconds)


@action("changing policy")
def mutate(world: World, *, plural: str, seconds: float) -> bool:
    """Let a policy hold a label at another value."""
    kind = KIND_OF[plural]

    def policy(operation: str, thing: Any, old: Any, agent: str) -> Any:  # noqa: ARG001
        if operation == "DELETE" or thing["kind"] != kind:
            return None
        world.weather.met["changing policy"] += 1
        metadata = thing["metadata"]
        labels = {**(metadata.get("labels") or {}), "app.kubernetes.io/instance": "held"}
        return {**thing, "metadata": {**metadata, "labels": labels}}

    return _install(world, policy, "changing policy", plural, seconds)


def _install(world: World, policy: Any, kind: str, plural: str, seconds: float) -> bool:
    world.cluster.api.admission.append(policy)
    world.weather.add(Trouble(kind, world.clock() + seconds, (), plural))

    def remove() -> None:
        world.cluster.api.admission.remove(policy)
        world.trace.add(f"{kind} for {plural} removed")

    world.memory["loop"].call_later(seconds, remove)
    return True


def _only_status(thing: Any, old: Any) -> bool:
    return (
        thing["kind"] in PLURAL_OF
        and old is not None
        and thing.get("spec") == old.get("spec")
        and (thing.get("status") != old.get("status"))
    )


@action("end namespace")
def end_namespace(world: World, *, at: str, pause: float) -> bool:
    """Delete a namespace with all that is in it; after its end it is made again."""
    world.cluster.request("admin", "DELETE", f"/api/v1/namespaces/{at}")
    for webapp in [where for where in world.cluster.objects["webapps"] if where[0] == at]:
        world.trace.add(f"namespace {at} takes {webapp[1]}")
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
    world.backup = world.cluster.api.snapshot()
    return True


@action("restore")
def restore(world: World) -> bool:
    """Restore etcd from the backup: history runs backwards, and all connections are closed."""
    if world.backup is None or world.backup.version >= world.cluster.api.version:
        return False
    world.cluster.api.restore(world.backup)
    world.cluster.rewritten()
    world.restored, world.restored_version = world.clock(), world.backup.version
    world.weather.add(Trouble("restored history", world.clock() + 8.0, ()))
    # The API servers are stopped for that: each watch is refused at least once.
    world.weather.add(Trouble("unreachable", world.clock() + 3.0))
    world.watches.close("timed out")
    world.controllers.look_at_all()
    return True


@action("compact")
def compact(world: World, *, keep: int) -> bool:
    """Forget all changes but the last ones: continue tokens and watches of older versions expire."""
    world.cluster.compact(keep)
    return True


@action("restart")
def restart(world: World, *, hard: bool, pause: float) -> bool:
    """End the operator by SIGTERM or SIGKILL, and start it again."""
    if not world.subject.running or world.memory.get("restarting"):
        return False
    world.memory["restarting"] = True

    async def body() -> None:
        try:
            await (world.subject.kill() if hard else world.subject.end())
            await asyncio.sleep(pause)
            world.subject.start()
        finally:
            world.memory["restarting"] = False

    world.memory["restart"] = asyncio.create_task(body(), name="restart")
    return True
