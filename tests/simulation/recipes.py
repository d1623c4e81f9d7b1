"""Recipes: a few steps that together bring about what single steps rarely do. The seed varies times and values."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from simulation import recipes_of_faults
from simulation.cook import Cook

Recipe = Callable[[Cook], None]


def names(cook: Cook) -> None:
    """Two names are taken, found at slightly different times, and given to the WebApp one after the other."""
    for plural in ("services", "deployments"):
        cook.do("take name", at=cook.at, name=cook.name, plural=plural, label=None, ours=True, adopt=False)
    cook.create(1)
    for plural in ("services", "deployments"):
        cook.pause(10, 100)
        cook.to_webapp(cook.chance.pick(("allow adoption", "give name back"), "recipe"), plurals=[plural])


def overdue_names(cook: Cook) -> None:
    """A name becomes due while a reconcile goes on that came for something else; then the name is given free."""
    cook.conditions = replace(cook.conditions, slowest=0.3)
    others = [f"web-{number}" for number in range(6)]
    for name in others:
        cook.do("take name", at=cook.at, name=name, plural="deployments", label=None, ours=True, adopt=False)
        cook.create(0, name=name)
    begun = cook.now
    drift = {"field": "account label", "value": "Helm", "manager": "helm"}
    for name in others:
        cook.now = begun + 60 + cook.chance.between(0.2, 2.5, "recipe")
        cook.do("drift", at=cook.at, name=name, **drift)
    cook.now = begun + 90
    for name in others:
        cook.do("allow adoption", at=cook.at, name=name)


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


def many_changes(cook: Cook) -> None:
    """One WebApp changes all the time."""
    cook.create(2)
    cook.pause(2, 5)
    cook.do("change config again and again", at=cook.at, name=cook.name, times=80, pause=3.0)


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


RECIPES: Mapping[str, Recipe] = {
    found.__name__: found
    for found in (
        names,
        overdue_names,
        refused_adoption,
        others_label,
        recipes_of_faults.pages,
        refused_removal,
        account,
        always_failing,
        another_operator,
        stripped_label,
        recipes_of_faults.flapping,
        replaced_with_count,
        recipes_of_faults.restored,
        recipes_of_faults.restored_at_a_start,
        recipes_of_faults.ended_watches,
        recipes_of_faults.gap,
        recipes_of_faults.lists_fail,
        many_changes,
        recipes_of_faults.outage,
        namesake,
        new_intent,
        deletions,
        recipes_of_faults.paused_reads,
    )
}
