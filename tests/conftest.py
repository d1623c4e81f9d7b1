"""For all tests: a workaround for an error of CPython before 3.11.8 and 3.12.2, and no clock in Hypothesis."""

import ast
import functools
import gc
import sys
from typing import Any

from hypothesis import settings

_parse = ast.parse


@functools.wraps(_parse)
def _parse_without_collection(*arguments: Any, **options: Any) -> Any:
    """Parse without garbage collection.

    A collection may run finalizers. One that formats a traceback, as pytest does for an exception in `__del__`, parses
    source itself, and that makes the outer call fail with `SystemError: AST constructor recursion depth mismatch`
    (https://github.com/python/cpython/issues/106905). Hypothesis parses the source of each lambda.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return _parse(*arguments, **options)
    finally:
        if enabled:
            gc.enable()


if sys.version_info < (3, 11, 8) or (3, 12) <= sys.version_info < (3, 12, 2):
    ast.parse = _parse_without_collection

# Its deadline of 200 ms for an example is of the wall clock: on a busy machine any property breaks it.
settings.register_profile("without a clock", deadline=None)
settings.load_profile("without a clock")
