"""The object of the conflict lab, for its tests."""

from typing import Any

from conflict_lab.subject import TEMPLATE


def thing(count: int = 4, **numbers: int) -> dict[str, Any]:
    made = TEMPLATE.with_counter(TEMPLATE.manifest("target"), count)
    made["metadata"]["resourceVersion"] = "7"
    for name, number in numbers.items():
        made = TEMPLATE.with_entry(made, name, number)
    return made
