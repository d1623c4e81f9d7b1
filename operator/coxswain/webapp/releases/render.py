"""Render versions: how a spec is rendered where it says nothing. One entry for each version, the newest last.

An operator renders an unchanged WebApp by the version of its last rollout, so an upgrade restarts no pod. A changed
spec takes the newest one. To change a default: add a version. To remove an old one: delete its entry in the release
that `removable_in` names, and the fields that only it sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rendering:
    """The defaults of one version."""

    max_surge: int | str
    max_unavailable: int | str
    pre_stop_sleep_seconds: int
    """Seconds for which a terminating pod keeps serving, until endpoints and proxies have dropped it."""
    termination_message_policy: str
    """By default the status quotes the end of the log of a failed container (docs/decisions/0011)."""
    topology_spread: Sequence[Mapping[str, Any]]
    """Spreads each revision over nodes, so old pods do not skew new ones."""
    removable_in: str | None = None
    """The release in which this version may be removed; None for the newest one."""


VERSIONS: dict[str, Rendering] = {
    "1": Rendering(
        max_surge="25%",
        max_unavailable=0,
        pre_stop_sleep_seconds=5,
        termination_message_policy="FallbackToLogsOnError",
        topology_spread=(
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "matchLabelKeys": ["pod-template-hash"],
            },
        ),
    ),
}

_DIGITS = 9
"""More digits than a version has."""

LATEST = "latest"
"""Value of the annotation `coxswain.dev/render` of a WebApp that asks for the newest version."""


def newest() -> str:
    """Return the newest version."""
    return next(reversed(VERSIONS))


def is_known(version: str) -> bool:
    """Tell whether this operator can render by a version."""
    return version in VERSIONS


def usable(version: str | None) -> str:
    """Return the version that renders in place of a recorded one: the newest one for a removed version.

    A version of a newer operator stays, although this one does not know it.
    """
    if version is None or not (is_known(version) or _is_newer(version)):
        return newest()
    return version


def _is_newer(version: str) -> bool:
    # Python refuses to read thousands of digits.
    return not version.isdecimal() or len(version) > _DIGITS or int(version) > int(newest())


def rendering(version: str) -> Rendering:
    """Return the defaults of a version; those of the newest one if this operator does not know it."""
    return VERSIONS.get(version) or VERSIONS[newest()]
