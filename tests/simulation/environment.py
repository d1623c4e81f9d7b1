"""The surroundings of the operator's code: the time of day, and the log."""

import logging
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

LOGGERS = ("coxswain", "asyncio")
PACKAGES = ("coxswain", "example")
"""The packages of the operators."""


def virtual_time(now: Callable[[], datetime]) -> Callable[[], None]:
    """Replace the time of day in the operator's modules by the virtual one; return a function that undoes it."""

    class Virtual(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:  # noqa: ARG003
            return now()

    replaced = [
        module
        for name, module in sys.modules.copy().items()
        if name.partition(".")[0] in PACKAGES and getattr(module, "datetime", None) is datetime
    ]
    for module in replaced:
        module.datetime = Virtual  # type: ignore[attr-defined]

    def undo() -> None:
        for module in replaced:
            module.datetime = datetime  # type: ignore[attr-defined]

    return undo


class InternalErrors(logging.Handler):
    """Collects the internal errors logged by the operator: with a traceback, or from asyncio."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self.tell = tell
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Handle a record."""
        message = record.getMessage()
        self.tell(f"log {record.levelname}: {message}")
        if record.levelno >= logging.ERROR and (record.exc_info or record.name.startswith("asyncio")):
            error = record.exc_info[1] if record.exc_info else None
            self.found.append(f"{message}: {error!r}" if error is not None else message)

    def __enter__(self) -> "InternalErrors":
        for name in LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            logger.propagate = False
        logging.getLogger("coxswain").setLevel(logging.INFO)
        return self

    def __exit__(self, *_: object) -> None:
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(self)
            logging.getLogger(name).propagate = True
