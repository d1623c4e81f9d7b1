"""Objects in `restartOn` that the operator cannot see: the message names only the missing step."""

import pytest

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.status.health import HEALTHY
from coxswain.kernel.workload import Reference
from coxswain.webapp.restarts import explained
from rendered import Empty
from unit.objects import webapp

APP = webapp(restartOn={"secrets": ["db"]})
USUAL, OTHER = (f"system:serviceaccount:{place}:coxswain" for place in ("coxswain-system", "team-a"))
CAN_LIST = "Check that it may list and watch secrets: kubectl auth can-i list secrets"


class World(Empty):
    """A world without the objects that `restartOn` names."""

    unseen = ""
    watched = True

    def reference(self, kind: Kind, name: str) -> Reference:  # noqa: ARG002
        return Reference(None, 1, self.unseen, None, self.watched)


@pytest.mark.parametrize(
    ("user", "place", "step"),
    [
        (
            USUAL,
            'in the namespace "shop"',
            (
                "An admin of the namespace can grant the right, from a checkout of the operator: "
                "kubectl apply -n shop -k manifests/overlays/restart-on"
            ),
        ),
        (USUAL, "at the cluster scope", f"{CAN_LIST} --all-namespaces --as={USUAL}"),
        (OTHER, 'in the namespace "shop"', f"{CAN_LIST} -n shop --as={OTHER}"),
    ],
)
def test_without_the_right_the_message_has_only_the_step_that_helps(user: str, place: str, step: str) -> None:
    world = World()
    refusal = f'secrets is forbidden: User "{user}" cannot list resource "secrets" in API group "" {place}'
    world.unseen = f"The operator cannot list secrets (metadata) of shop: 403 Forbidden: {refusal}"
    found = explained(APP, HEALTHY, world).health
    assert (found.reason, found.message) == (
        "NotWatched",
        f"a change of Secret db restarts no pods. {world.unseen}. {step}",
    )


def test_without_the_setting_the_message_names_the_flag() -> None:
    world = World()
    world.unseen, world.watched = "The operator does not watch secrets (metadata)", False
    assert explained(APP, HEALTHY, world).health.message.endswith(
        "Add secrets to --watch-metadata of the operator, or remove spec.restartOn: kubectl edit webapp web -n shop"
    )


def test_an_object_that_is_not_listed_for_another_reason_has_a_command_too() -> None:
    world = World()
    world.unseen = "The operator has not listed secrets (metadata) of shop yet"
    message = explained(APP, HEALTHY, world).health.message
    assert message.endswith("Check that the API server answers: kubectl get secrets -n shop")
