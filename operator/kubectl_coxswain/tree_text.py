"""A tree as text."""

from collections.abc import Iterator
from datetime import datetime

from kubectl_coxswain.ages import age
from kubectl_coxswain.reports import Node
from kubectl_coxswain.screen import Cell, Screen, Span, cut

_STATE, _NAME = 14, 16
"""Columns of a narrow terminal that the state has with its gap, unless the name would have less than this."""


def write_tree(screen: Screen, root: Node, now: datetime) -> None:
    """Write a tree with the columns object, state, age and information."""
    screen.table(("OBJECT", "STATE", "AGE", "INFO"), [*_rows(screen, root, now, "", "")], fit=False)


def _rows(screen: Screen, node: Node, now: datetime, lead: str, below: str) -> Iterator[list[Cell]]:
    state = Span(f"{screen.mark(node.level)}{node.state}", node.level)
    name = f"{lead}{node.kind}/{node.name}"
    if screen.width is not None:
        name = cut(name, max(_NAME, screen.width - _STATE), screen.ellipsis)
    yield [name, state, age(node.created, now), _first_sentence(node.info)]
    branch, last_branch, line, space = screen.branches
    for number, child in enumerate(node.children):
        last = number == len(node.children) - 1
        yield from _rows(
            screen, child, now, below + (last_branch if last else branch), below + (space if last else line)
        )


def _first_sentence(text: str) -> str:
    """Return the problem of a message of the operator, without its advice."""
    return text.partition(". ")[0]
