"""The workloads under test: the WebApp, and the ScheduledTask of operator/example."""

from fault_engine.workload import Workload
from faults.workloads.scheduled_task import SCHEDULED_TASK
from faults.workloads.webapp import WEBAPP

WORKLOADS: dict[str, Workload] = {each.name: each for each in (WEBAPP, SCHEDULED_TASK)}
DEFAULT = WEBAPP.name
