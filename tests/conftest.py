"""Common setup: a workaround for a bug of CPython before 3.11.8 and 3.12.2, cheap garbage collection, Hypothesis."""

import ast
import functools
import gc
import sys
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

from selection import part_of

_parse = ast.parse


@functools.wraps(_parse)
def _parse_without_collection(*arguments: Any, **options: Any) -> Any:
    """Parse without garbage collection.

    A collection may run finalizers. A finalizer that formats a traceback, as pytest does for an exception in `__del__`,
    parses source itself. The outer call then fails with `SystemError: AST constructor recursion depth mismatch`
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

# Hypothesis measures its deadline of 200 ms per example in wall-clock time, so a busy machine fails any property.
settings.register_profile("without a clock", deadline=None)
# `make unit` chooses fewer examples; `make test` tries as many as usual.
settings.register_profile("quick", settings.get_profile("without a clock"), max_examples=30)
settings.load_profile("without a clock")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exempt the collected modules and tests from garbage collection, which would take a tenth of the unit tests' time.

    They live until the end. Objects made by a test are collected as before.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part", metavar="K/N", help="run one of N parts of the selected test files: each Nth, from the Kth"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the files of one part. Last, so that files whose tests are all deselected do not count."""
    if not (part := config.getoption("--part")):
        return
    try:
        chosen = part_of({item.path for item in items}, part)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    config.hook.pytest_deselected(items=[item for item in items if item.path not in chosen])
    items[:] = [item for item in items if item.path in chosen]
