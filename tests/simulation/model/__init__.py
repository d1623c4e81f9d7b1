"""A model of the cluster's API server: in memory, synchronous, and as exact as the simulation needs.

tests/integration/test_simulation_model.py and test_simulation_model_cases.py send the same requests to the model and to
the real API server. Status codes, bodies, managedFields and watch events agree, except for times, uids, the values of
resourceVersions, addresses and the wording of messages. The simulation uses nothing outside of this agreement:

- Kinds: WebApp, Deployment, ReplicaSet, Pod, Service, ConfigMap, ServiceAccount, HorizontalPodAutoscaler (v2), Event
  (events.k8s.io), Namespace. Subresources: `status`, and `scale` of Deployments.
- Requests: apply, JSON Patch, merge patch (no strategic one), PUT, POST, DELETE, GET, LIST in pages, WATCH from a
  version. Of a LIST's resourceVersion only "" and "0". No dry run, no generateName.
- Fields: those of types.txt and of the CRD. An apply with another field is refused with 500 as the real one does it;
  another write drops it.
- A list never has two items with one merge key. Quantities and ports are sent in their canonical form.
- Nothing is empty in the metadata of a WebApp that is sent: the real one stores empty maps and does not tell of them.
- `scale` is never set to the count that is there while an Update owns the replicas: the real one then splits its entry.
- A DELETE of an object that waits for its dependents does not say Background and name a resourceVersion: the real one
  takes the finalizer away, and answers 409 all the same.
- The field manager is not `kubectl`: the real one maintains the annotation of client-side apply for it.
- Of validation there is what validation.py checks. CEL rules, limits of sizes and quotas are not in it.
- The garbage collector, namespaces that end, and admission are the simulation's own: no request is compared.

Objects that go in and come out are shared and never changed.
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
