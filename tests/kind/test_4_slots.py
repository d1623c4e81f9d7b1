"""Three replicas with six slots, and the loss of one of them."""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack

import pytest

from coxswain.kernel.election.slots import slot_number
from integration.scene import eventually
from kind.client import Client
from kind.edits import Edits
from kind.images import V1
from kind.installation import Installation
from kind.namespace import Namespace, spec, temporary
from kind.timings import Timings

SLOTS, REPLICAS = 6, 3
NAMESPACES = 4
BALANCED_SECONDS = 90
FEWEST_EDITS = 10


@pytest.mark.usefixtures("alone")
def test_a_killed_replica_loses_no_edit_in_any_slot(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings
) -> None:
    """The other replicas wait for the expiry of its slots, then share them with its successor."""
    with ExitStack() as stack:
        stack.enter_context(operator.with_slots())
        more = (stack.enter_context(temporary(namespace.cluster)) for _ in range(NAMESPACES - 1))
        namespaces = [namespace, *more]
        for each in namespaces:
            each.apply_ready(spec(V1))
        eventually(lambda: is_balanced(operator), "the slots are balanced", timeout=BALANCED_SECONDS, pause=0.5)
        lost = holders(operator)[slot_number(namespace.name, SLOTS)]
        with client.load(namespace.address()) as load:
            with ExitStack() as editing:
                users = [editing.enter_context(Edits(each)) for each in namespaces]
                with timings.of("holder of two of six slots killed: to all slots balanced again") as row:
                    operator.namespace.kubectl("delete", "pod", lost, "--force", "--grace-period=0")
                    eventually(
                        lambda: lost not in holders(operator).values() and is_balanced(operator),
                        "the slots are balanced again",
                        timeout=BALANCED_SECONDS,
                        pause=0.5,
                    )
            assert min(user.count for user in users) >= FEWEST_EDITS
        row.load = load.report.unharmed()


def holders(operator: Installation) -> Mapping[int, str]:
    """Return the pod that holds each slot, by the number of the slot."""
    found = {}
    for lease in operator.namespace.list("leases", "coxswain.dev/slots-of=coxswain"):
        number = int(lease["metadata"]["name"].removeprefix("coxswain-slot-"))
        found[number] = lease["spec"]["holderIdentity"].rpartition("_")[0]
    return found


def is_balanced(operator: Installation) -> bool:
    """Tell whether each replica leads its share of the slots."""
    pods = [pod["metadata"]["name"] for pod in operator.namespace.list("pods")]
    return len(pods) == REPLICAS and Counter(holders(operator).values()) == dict.fromkeys(pods, SLOTS // REPLICAS)
