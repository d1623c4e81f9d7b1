"""Source is parsed in tests while finalizers run: the workaround in tests/conftest.py."""

import ast
import gc
import traceback
from pathlib import Path


class Finalized:
    """An object freed only by the garbage collector, which then formats a traceback."""

    def __init__(self, done: list[str]) -> None:
        self.itself = self
        self.done = done

    def __del__(self) -> None:
        """Format a traceback, like pytest for an exception in a finalizer."""
        try:
            raise KeyError
        except KeyError as error:
            self.done.append("".join(traceback.format_exception(error)))


def test_source_is_parsed_while_finalizers_format_tracebacks() -> None:
    source, done, before = Path(ast.__file__).read_text(), list[str](), gc.get_threshold()
    gc.set_threshold(200)
    try:
        for _ in range(10):
            garbage = [Finalized(done) for _ in range(3)]
            del garbage
            ast.parse(source)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(done) == 30
