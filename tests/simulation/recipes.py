"""Recipes: a few steps that together bring about what single steps rarely do. The seed varies times and values."""

from collections.abc import Callable, Mapping
from typing import Any

from simulation.chance import Chance
from simulation.draws import DRAWS
from simulation.script import Step

Recipe = Callable[["Cook"], None]


class Cook:
    """Makes the steps of one recipe for one WebApp."""

    def __init__(self, chance: Chance, now: float, at: str, name: str) -> None:
        self.chance, self.now, self.at, self.name = chance, now, at, name
        self.steps: list[Step] = []

    def pause(self, low: float, high: float) -> None:
        """Let time pass."""
        self.now += self.chance.delay(low, high, "recipe")

    def do(self, action: str, **parameters: Any) -> None:
        """Do something now."""
        self.steps.append(Step(round(self.now, 3), action, parameters))

    def to_webapp(self, action: str, **parameters: Any) -> None:
        """Do something to the WebApp now, with what is not given drawn."""
        drawn = DRAWS[action](self.chance, self.at, self.name)
        self.do(action, **{**drawn, **parameters})

    def create(self, size: int, name: str | None = None) -> None:
        """Create a WebApp."""
        self.to_webapp("create", name=name or self.name, size=size, image="app:1")

    def change(self, **what: Any) -> None:
        """Change its spec."""
        self.do("change", at=self.at, name=self.name, what=what)

    def requests(self, kind: str, seconds: float, **parameters: Any) -> None:
        """Let requests meet a trouble."""
        self.do("requests", kind=kind, seconds=seconds, **parameters)


def names(cook: Cook) -> None:
    """Two names are taken, found at slightly different times, and given to the WebApp one after the other."""
    for plural in ("services", "deployments"):
        cook.do("take name", at=cook.at, name=cook.name, plural=plural, label=None, ours=True, adopt=False)
    cook.create(1)
    for plural in ("services", "deployments"):
        cook.pause(10, 100)
        cook.to_webapp(cook.chance.pick(("allow adoption", "give name back"), "recipe"), plurals=[plural])


def refused_adoption(cook: Cook) -> None:
    """An adoption is refused; then the object goes."""
    plural = cook.chance.pick(("services", "deployments", "serviceaccounts"), "recipe")
    cook.do("take name", at=cook.at, name=cook.name, plural=plural, label=None, ours=True, adopt=True)
    kind = cook.chance.pick(("invalid", "policy"), "recipe")
    if kind == "policy":
        cook.do("refusing policy", plural=plural, operations=["UPDATE"], seconds=90.0, webhook=False)
    else:
        cook.requests("invalid", 90.0, methods="writes", plural=plural, subresource="")
    cook.create(1)
    cook.pause(40, 200)
    cook.to_webapp("give name back")


def others_label(cook: Cook) -> None:
    """A name is taken by an object that is labelled for another WebApp; then it goes."""
    cook.do("take name", at=cook.at, name=cook.name, plural="services", label="shop", ours=True, adopt=False)
    cook.create(1)
    cook.pause(5, 300)
    cook.to_webapp("give name back")


def pages(cook: Cook) -> None:
    """Lists fail between two pages while WebApps are made."""
    cook.requests("lost answer", cook.chance.delay(3, 30, "recipe"), methods="reads", probability=0.5)
    cook.do("close watches", why="expired", plural="webapps", seconds=cook.chance.delay(0.5, 10, "recipe"))
    for number in range(4):
        cook.create(0, name=f"web-{number}")
        cook.pause(0.05, 2)


def refused_removal(cook: Cook) -> None:
    """The old ConfigMap can't be deleted for long."""
    cook.create(2)
    cook.pause(10, 30)
    kind = cook.chance.pick(("policy", "right", "error"), "recipe")
    if kind == "policy":
        cook.do("refusing policy", plural="configmaps", operations=["DELETE"], seconds=400.0, webhook=True)
    elif kind == "right":
        cook.do("take right", verb="delete", plural="configmaps", at=None, seconds=400.0)
    else:
        cook.requests("internal error", 400.0, methods="deletes", plural="configmaps")
    cook.pause(1, 5)
    cook.change(config={"MODE": "b"})


def account(cook: Cook) -> None:
    """Something is wrong with the ServiceAccount, and the image is changed."""
    cook.create(1)
    cook.pause(10, 30)
    kind = cook.chance.pick(("right", "halt", "fight"), "recipe")
    seconds = 300.0
    drift: dict[str, Any] = {"field": "account label", "value": "Helm", "manager": "helm"}
    if kind == "fight":
        cook.to_webapp("fight", **drift, seconds=seconds, pause=0.3)
    else:
        if kind == "right":
            cook.do("take right", verb="patch", plural="serviceaccounts", at=None, seconds=seconds)
        else:
            cook.change(conflicts={"policy": "Halt"})
            cook.pause(1, 3)
        cook.to_webapp("drift", **drift)
    cook.pause(5, 60)
    cook.change(image="app:2")


def always_failing(cook: Cook) -> None:
    """Writes to one kind fail in a way that is no refusal."""
    cook.create(2)
    cook.pause(10, 30)
    drift = cook.chance.pick((("deployments", "label", "theirs"), ("services", "port", 9090)), "recipe")
    kind = cook.chance.pick(("garbled", "hidden", "always a conflict", "always not found", "time-out"), "recipe")
    cook.requests(kind, 500.0, methods="writes", plural=drift[0], subresource="")
    cook.pause(0.1, 5)
    cook.to_webapp("drift", field=drift[1], value=drift[2], manager="helm")


def another_operator(cook: Cook) -> None:
    """Two operators with different versions share their manager."""
    cook.create(1)
    cook.pause(10, 30)
    field, value = cook.chance.pick((("image", "other:1"), ("replicas", 5)), "recipe")
    pause = cook.chance.delay(0.02, 0.3, "recipe")
    cook.to_webapp("fight", field=field, value=value, manager="coxswain", seconds=120.0, pause=round(pause, 3))


def stripped_label(cook: Cook) -> None:
    """Our label is removed again and again; then the image is changed."""
    cook.create(1)
    cook.pause(10, 30)
    field = cook.chance.pick(("webapp label", "service label"), "recipe")
    cook.to_webapp("fight", field=field, value=None, manager="helm", seconds=30.0, pause=0.2)
    cook.pause(2, 40)
    cook.change(image="app:2", ports=[{"name": "http", "containerPort": 8082}])


def flapping(cook: Cook) -> None:
    """A refusal for good, while the watch of WebApps starts over every few minutes; the refusal ends."""
    cook.create(1)
    cook.pause(10, 30)
    plural = cook.chance.pick(("deployments", "services"), "recipe")
    cook.do("flapping watch", plural="webapps", every=round(cook.chance.delay(120, 400, "recipe"), 1), times=8)
    cook.requests("invalid", 60.0, methods="writes", plural=plural, subresource="")
    cook.pause(1, 5)
    cook.change(image="app:2", ports=[{"name": "http", "containerPort": 8082}])


def replaced_with_count(cook: Cook) -> None:
    """A Deployment that an autoscaler scales is replaced; the answer of its DELETE is lost."""
    cook.do("take name", at=cook.at, name=cook.name, plural="deployments", label=None, ours=True, adopt=False)
    cook.pause(2, 10)
    cook.to_webapp("autoscale")
    cook.pause(1, 10)
    cook.to_webapp("scale by autoscaler", replicas=7)
    cook.pause(10, 30)
    cook.create(1)
    cook.pause(5, 20)
    if cook.chance.happens(0.7, "recipe"):
        cook.requests("lost answer", 90.0, methods="deletes", plural="deployments", probability=0.7)
    cook.to_webapp("allow adoption")


def restored(cook: Cook) -> None:
    """History goes back to the moment before a child was replaced, while its successor is not there yet."""
    cook.create(2)
    cook.pause(10, 30)
    cook.do("late watch", plural="configmaps", seconds=30.0, late=10.0)
    cook.to_webapp("other content")
    cook.do("back up")
    cook.pause(10.5, 19)
    cook.to_webapp("annotate")
    cook.do("restore")


def restored_at_a_start(cook: Cook) -> None:
    """History goes back, and the list that tells comes while the watches are about to start."""
    cook.create(2)
    cook.pause(5, 10)
    cook.do("back up")
    cook.pause(5, 20)
    for _ in range(3):
        cook.to_webapp("drift", field="label", value="theirs", manager="kubectl")
        cook.to_webapp("annotate")
        cook.pause(0.5, 1)
    cook.do("restore")
    cook.requests("internal error", round(cook.chance.delay(0.5, 6, "recipe"), 2), methods="reads", plural="webapps")
    cook.pause(0.5, 2)
    cook.do("close watches", why="error", plural=None, seconds=0.0)
    cook.pause(10, 20)
    cook.change(image="app:2")


def many_changes(cook: Cook) -> None:
    """One WebApp changes all the time."""
    cook.create(2)
    cook.pause(2, 5)
    cook.do("change config again and again", at=cook.at, name=cook.name, times=80, pause=3.0)


def outage(cook: Cook) -> None:
    """Nothing can be written; after a while one status can, which says that a child fails; all others wait."""
    names = [f"web-{number}" for number in range(24)]
    for name in names:
        cook.do("create", at=cook.at, name=name, size=0, image="app:1", replicas=0)
    cook.pause(15, 30)
    cook.requests("internal error", 300.0, methods="writes", plural="deployments", subresource="")
    for name in names:
        seconds = 140.0 if name == cook.name else 300.0
        cook.requests("unavailable", seconds, methods="writes", plural="webapps", name=name)
        cook.do("change", at=cook.at, name=name, what={"image": "app:2"})


def namesake(cook: Cook) -> None:
    """A WebApp that has been fought over is deleted and made again at once."""
    cook.create(1)
    cook.pause(10, 30)
    cook.to_webapp("fight", field="image", value="other:1", manager="helm", seconds=20.0, pause=0.1)
    cook.pause(5, 30)
    if cook.chance.happens(0.7, "recipe"):
        cook.requests("internal error", 20.0, methods="writes", plural="webapps")
        cook.to_webapp("drift", field="label", value="theirs", manager="kubectl")
        cook.pause(2, 8)
    cook.to_webapp("recreate", size=1, image="app:1", pause=0.002)


def new_intent(cook: Cook) -> None:
    """A field was fought over; the other one stops, and a user changes the field."""
    cook.create(1)
    cook.pause(10, 30)
    wars: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("image", "other:1", {"image": "app:3"}),
        ("replicas", 5, {"replicas": 3}),
    )
    field, value, what = cook.chance.pick(wars, "recipe")
    cook.to_webapp("fight", field=field, value=value, manager="helm", seconds=20.0, pause=0.1)
    cook.pause(21, 50)
    cook.change(**what)


def deletions(cook: Cook) -> None:
    """A child is deleted whenever it is there."""
    cook.create(1)
    cook.pause(10, 30)
    plural = cook.chance.pick(("services", "serviceaccounts"), "recipe")
    cook.do(
        "delete child again and again",
        at=cook.at,
        name=cook.name,
        plural=plural,
        seconds=60.0,
        pause=round(cook.chance.delay(0.02, 0.3, "recipe"), 3),
    )


def paused_reads(cook: Cook) -> None:
    """Reads are to wait, more of them than there are slots; the image is changed meanwhile."""
    cook.create(1)
    cook.pause(20, 30)
    cook.change(image="app:2")
    cook.pause(20, 30)
    cook.requests("reads paused", 700.0, methods="reads", pause=50.0)
    for _ in range(4):
        cook.do("close watches", why="expired", plural=None, seconds=0.0)
        cook.pause(10, 40)
        cook.change(image=cook.chance.pick(("app:1", "app:2", "app:3"), "recipe"))
        cook.pause(60, 90)


RECIPES: Mapping[str, Recipe] = {
    found.__name__: found
    for found in (
        names,
        refused_adoption,
        others_label,
        pages,
        refused_removal,
        account,
        always_failing,
        another_operator,
        stripped_label,
        flapping,
        replaced_with_count,
        restored,
        restored_at_a_start,
        many_changes,
        outage,
        namesake,
        new_intent,
        deletions,
        paused_reads,
    )
}
