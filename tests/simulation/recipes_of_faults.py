"""Recipes of watches, lists, histories and outages."""

from dataclasses import replace

from simulation.bounds import RESOURCES
from simulation.cook import Cook


def pages(cook: Cook) -> None:
    """Lists fail between two pages while WebApps are made."""
    cook.requests("lost answer", cook.chance.delay(3, 30, "recipe"), methods="reads", probability=0.5)
    cook.do("close watches", why="expired", plural="webapps", seconds=cook.chance.delay(0.5, 10, "recipe"))
    for number in range(4):
        cook.create(0, name=f"web-{number}")
        cook.pause(0.05, 2)


def flapping(cook: Cook) -> None:
    """A refusal for good, while the watch of WebApps starts over every few minutes; the refusal ends."""
    cook.create(1)
    cook.pause(10, 30)
    plural = cook.chance.pick(("deployments", "services"), "recipe")
    cook.do("flapping watch", plural="webapps", every=round(cook.chance.delay(120, 400, "recipe"), 1), times=8)
    cook.requests("invalid", 60.0, methods="writes", plural=plural, subresource="")
    cook.pause(1, 5)
    cook.change(image="app:2", ports=[{"name": "http", "containerPort": 8082}])


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
    cook.conditions = replace(cook.conditions, slowest=0.05)
    cook.create(2)
    cook.pause(15, 20)
    cook.do("back up")
    cook.pause(1, 10)
    for field, value in (("label", "theirs"), ("port", 9090), ("account label", "Helm"), ("config label", "theirs")):
        cook.to_webapp("drift", field=field, value=value, manager="kubectl")
    cook.to_webapp("annotate")
    cook.pause(5, 8)
    closed = cook.chance.between(4.3, 5.2, "recipe")
    # The watches are started again about 1.1 s after their end.
    lists_fail = closed + cook.chance.between(1.15, 1.5, "recipe")
    for plural in RESOURCES:
        cook.requests("internal error", lists_fail, methods="reads", plural=plural)
    cook.do("close watches", why="expired", plural=None, seconds=0.0)
    begun = cook.now
    cook.pause(0.2, 0.4)
    cook.do("restore")
    cook.now = begun + closed
    cook.do("close watches", why="error", plural=None, seconds=0.0)
    cook.pause(4, 8)
    cook.change(image="app:2")


def ended_watches(cook: Cook) -> None:
    """An error ends all watches; nothing else goes wrong, and the image is changed."""
    cook.create(2)
    cook.pause(10, 30)
    cook.do("close watches", why="error", plural=None, seconds=0.0)
    cook.pause(0.3, 10)
    cook.change(image="app:2")
    cook.now += 300
    cook.to_webapp("annotate")


def gap(cook: Cook) -> None:
    """A child is deleted, or the WebApp is changed, while the watch is away; its history is gone when it comes back."""
    cook.create(2)
    cook.pause(10, 30)
    plural = cook.chance.pick(("services", "serviceaccounts", "deployments", "webapps"), "recipe")
    cook.do("close watches", why="expired", plural=plural, seconds=8.0)
    cook.pause(1, 5)
    if plural == "webapps":
        cook.to_webapp("recreate", size=1, pause=0.5)
    else:
        cook.to_webapp("delete child", plural=plural, how="Background")
    cook.do("compact", keep=0)


def lists_fail(cook: Cook) -> None:
    """The operator starts again, can't list children for a while, and WebApps were changed meanwhile."""
    others = [f"web-{number}" for number in range(6)]
    for name in others:
        cook.create(cook.chance.whole(0, 2, "recipe"), name=name)
    cook.pause(20, 30)
    plurals = cook.chance.pick(
        (("configmaps",), ("serviceaccounts", "configmaps", "services", "deployments")), "recipe"
    )
    for plural in plurals:
        cook.requests("internal error", round(cook.chance.between(20, 50, "recipe"), 2), methods="reads", plural=plural)
    cook.do("restart", hard=True, pause=0.5)
    for name in others:
        cook.do("change", at=cook.at, name=name, what={"image": "app:2"})


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


def paused_reads(cook: Cook) -> None:
    """Reads are to wait, more of them than there are slots; config and image are changed meanwhile."""
    cook.conditions = replace(cook.conditions, requests_in_flight=2)
    cook.create(2)
    cook.pause(40, 60)
    cook.requests("reads paused", 500.0, methods="reads", pause=60.0)
    for number in range(2, 4):
        # Answers take a while, so that all lists are on their way when the first one is refused.
        cook.requests("slow", 5.0, methods="reads", pause=5.0)
        cook.do("close watches", why="expired", plural=None, seconds=0.0)
        cook.pause(6, 20)
        cook.change(image=f"app:{number}", config={"MODE": str(number)})
        cook.pause(160, 200)
