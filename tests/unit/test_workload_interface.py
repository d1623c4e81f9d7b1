"""The interface between kernel and workload: one file for each kind of child, and one list."""

import ast
from pathlib import Path

from coxswain.webapp.children import TYPES
from coxswain.webapp.workload import WORKLOAD

WEBAPP = Path(__file__).parents[2] / "operator" / "coxswain" / "webapp"


def defines_a_type(path: Path) -> bool:
    """Tell whether a module defines the type of a child."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TYPE" for node in tree.body)


def test_each_kind_of_child_is_one_file_and_one_list_entry() -> None:
    files = [path for path in WEBAPP.rglob("*.py") if defines_a_type(path)]
    assert len(files) == len(TYPES)
    assert {path.parent.name for path in files} == {"children"}


def test_nothing_else_lists_the_children() -> None:
    """Kinds, projections and the write order are derived from the list."""
    kinds = [child_type.kind for child_type in TYPES]
    assert list(WORKLOAD.projector.kinds.children) == kinds
    assert list(WORKLOAD.children) == list(TYPES)
    for child_type in TYPES:
        raw = {"metadata": {"name": "web", "uid": "u", "resourceVersion": "1"}}
        assert WORKLOAD.projector.observe(child_type.kind, raw).kind is child_type.kind


def test_children_come_after_the_kinds_that_they_need() -> None:
    order = [child_type.kind for child_type in TYPES]
    for child_type in TYPES:
        assert all(order.index(kind) < order.index(child_type.kind) for kind in child_type.needs)


def test_a_kind_that_is_child_and_related_has_one_watch() -> None:
    kinds = WORKLOAD.projector.kinds
    both = set(kinds.children) & set(kinds.related)
    assert {kind.kind for kind in both} == {"HorizontalPodAutoscaler", "PodDisruptionBudget"}
    assert len(kinds.watched) == len(set(kinds.watched))
    assert not any(kind.label_selector for kind in both), "foreign objects lack our label"
