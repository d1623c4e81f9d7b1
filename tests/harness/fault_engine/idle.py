"""Whether an operator has work left, by the metrics of its workqueue."""

import re

from cluster.operator_process import OperatorProcess

_WORK_LEFT = re.compile(r"^workqueue_(?:depth|unfinished_work_seconds)(?:\{.*\})? (\S+)$", re.MULTILINE)
"""The names are those of controller-runtime (https://book.kubebuilder.io/reference/metrics-reference)."""


def is_idle(operator: OperatorProcess) -> bool:
    """Tell whether no key waits for a worker or is in processing. An operator without metrics counts as idle."""
    if not operator.address("metrics"):
        return True
    status, text = operator.metrics()
    return status == 200 and not any(float(value) for value in _WORK_LEFT.findall(text))
