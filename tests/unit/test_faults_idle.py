"""A reference rests only while the operator has nothing to do."""

from dataclasses import dataclass
from typing import Any

import pytest

from fault_engine.idle import is_idle

PAGE = """# TYPE workqueue_depth gauge
workqueue_depth{{controller="webapps",name="webapps",priority="changed"}} {changed}
workqueue_depth{{controller="webapps",name="webapps",priority="backlog"}} {backlog}
workqueue_unfinished_work_seconds{{controller="webapps",name="webapps"}} {unfinished}
workqueue_adds_total{{controller="webapps",name="webapps"}} 7.0
"""


@dataclass
class Operator:
    """Answers for its metrics."""

    status: int
    text: str
    url: str = "http://127.0.0.1:1"

    def address(self, _: str) -> str:
        return self.url

    def metrics(self) -> tuple[int, str]:
        return self.status, self.text


def page(changed: float = 0.0, backlog: float = 0.0, unfinished: float = 0.0) -> str:
    return PAGE.format(changed=changed, backlog=backlog, unfinished=unfinished)


@pytest.mark.parametrize(
    ("operator", "idle"),
    [
        (Operator(200, page()), True),
        (Operator(200, page(changed=1.0)), False),
        (Operator(200, page(backlog=2.0)), False),
        (Operator(200, page(unfinished=0.25)), False),
        (Operator(0, "timed out"), False),
        (Operator(0, "", url=""), True),
    ],
)
def test_an_operator_is_idle_without_keys(operator: Any, idle: bool) -> None:
    assert is_idle(operator) is idle
