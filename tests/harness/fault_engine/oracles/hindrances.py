"""The times at which an operator cannot correct anything, from the marks of a history."""


class Hindrances:
    """Tells whether anything prevents corrections: the operator, the control plane or a fault."""

    def __init__(self) -> None:
        self._present: set[str] = {"not started yet"}

    def heed(self, mark: str) -> None:
        """Process a mark of the operator, of the faults, or of a program, such as `etcd: stop`."""
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
