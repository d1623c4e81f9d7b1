"""A model of the cluster's API server: in memory, synchronous, and as exact as the simulation needs.

tests/integration/test_simulation_model.py compares it with the real API server. The simulation uses nothing else of it
than what is compared there.
"""

from simulation.model.answers import Refusal, Refused, Response
from simulation.model.reads import Event
from simulation.model.server import ApiServer
from simulation.model.store import Expired, Snapshot
from simulation.model.writes import APPLY, JSON_PATCH, MERGE_PATCH, Admission

__all__ = [
    "APPLY",
    "JSON_PATCH",
    "MERGE_PATCH",
    "Admission",
    "ApiServer",
    "Event",
    "Expired",
    "Refusal",
    "Refused",
    "Response",
    "Snapshot",
]
