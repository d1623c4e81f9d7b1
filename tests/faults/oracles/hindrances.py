"""What keeps an operator from mending anything, through time: read from the marks of a history."""


class Hindrances:
    """Whether the operator can mend anything: it runs, and so does all that it needs."""

    def __init__(self) -> None:
        self._present: set[str] = {"not started yet"}

    def heed(self, mark: str) -> None:
        """Take a mark into account: of the operator, of the faults, or of a program as `etcd: stop`."""
        if mark in ("operator started", "operator resumed"):
            self._present -= {"not started yet", "operator"}
        elif mark in ("operator killed", "operator stopped", "operator paused"):
            self._present.add("operator")
        elif mark in ("faults begin", "faults end"):
            (self._present.add if mark == "faults begin" else self._present.discard)("faults")
        else:
            name, _, what = mark.rpartition(": ")
            if what in ("kill", "stop", "pause"):
                self._present.add(name)
            elif what in ("start", "resume"):
                self._present.discard(name)

    def __bool__(self) -> bool:
        return bool(self._present)
