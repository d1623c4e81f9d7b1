"""Profiles: the weights of actions in random scripts."""

_USERS = {"create": 2, "change": 10, "delete": 1, "recreate": 2, "annotate": 1, "change config again and again": 0.3}
_STATUS = {"edit status": 2, "clear managedFields": 2}
_TAKEN = {"take name": 6, "allow adoption": 4, "give name back": 2}
_NETWORK = {"requests": 6, "requests that always fail": 1.5, "reads paused": 1, "compact": 1}
_WATCHES = {"close watches": 4, "flapping watch": 1, "silent watch": 2, "late watch": 3}
_RIGHTS = {"take right": 3, "refusing policy": 4, "changing policy": 1.5}

Weights = dict[str, float]


def profiles(writers: Weights, own: Weights) -> dict[str, Weights]:
    """Return the weights of actions in each profile.

    Args:
            writers: single writes to children by other managers.
            own: actions of this workload only.
    """
    return {
        "users": {**_USERS, **own, **_STATUS},
        "drift": {**_USERS, **writers, **own},
        "fights": {**_USERS, **writers, "fight": 8, "delete child again and again": 2},
        "names": {**_USERS, **_TAKEN, **writers, **own, "delete": 2},
        "network": {
            **_USERS,
            **_STATUS,
            **writers,
            **_NETWORK,
            "restart": 1,
            **own,
            "take name": 1,
            "allow adoption": 1,
        },
        "watches": {**_USERS, **writers, **_WATCHES, "restart": 1, "compact": 2},
        "rights": {**_USERS, **writers, **_RIGHTS, **_TAKEN, "fight": 1, "flapping watch": 0.7},
        "history": {**_USERS, **writers, "back up": 5, "restore": 4, "restart": 2, "close watches": 2, "requests": 2},
        "namespaces": {**_USERS, **writers, "end namespace": 4, "restart": 1, "close watches": 1},
        "everything": {
            **_USERS,
            **_STATUS,
            **writers,
            **own,
            **_TAKEN,
            **_NETWORK,
            **_WATCHES,
            **_RIGHTS,
            "fight": 2,
            "delete child again and again": 1,
            "end namespace": 2,
            "back up": 1,
            "restore": 1,
            "restart": 3,
        },
    }
