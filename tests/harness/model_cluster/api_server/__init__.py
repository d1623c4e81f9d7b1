"""A model of the cluster's API server: in memory, synchronous, and as exact as the simulation requires.

tests/integration/test_simulation_model.py and test_simulation_model_cases.py send the same requests to the model and to
the real API server. Status codes, bodies, managedFields and watch events agree, except for times, uids, values of
resourceVersions, addresses and the wording of messages. The simulation uses only the following verified subset:

- Kinds: Deployment, ReplicaSet, Pod, Service, ConfigMap, Secret, ServiceAccount, HorizontalPodAutoscaler (v2), CronJob,
  Ingress, Event (events.k8s.io), Namespace, and those of CustomResourceDefinitions. Subresources: `status`, and `scale`
  of Deployments.
- Requests: apply, JSON Patch, merge patch (no strategic merge patch), PUT, POST, DELETE, GET, paged LIST, WATCH from a
  resourceVersion. LIST accepts only the resourceVersions "" and "0", and returns PartialObjectMetadata on demand. No
  dry run, no generateName.
- Fields: those in types.txt and in the CRDs. An apply with an unknown field gets 500, as from the real server; other
  writes drop the field.
- A list never has two items with the same merge key. Requests send quantities and ports in canonical form.
- Requests send no empty maps in the metadata of a custom resource: the real server stores them but does not return
  them.
- Requests never set `scale` to the current count while an Update owns the replicas: the real server then splits its
  managedFields entry.
- No request sets a nodePort that another Service has: the real server refuses it. Secrets have no stringData.
- A DELETE of an object with foregroundDeletion in progress does not combine Background with a resourceVersion: the
  real server removes the finalizer but answers 409.
- The field manager is not `kubectl`: the real server maintains the last-applied annotation for it.
- Validation covers only the checks in validation.py, without CEL rules, size limits and quotas.
- The garbage collector, namespace deletion and admission are defined by the simulation; they have no comparison.

Objects in requests and responses are shared and never changed.
"""

from model_cluster.api_server.answers import Refusal, Refused, Response
from model_cluster.api_server.reads import Event, metadata_of
from model_cluster.api_server.server import ApiServer
from model_cluster.api_server.store import Expired, Snapshot
from model_cluster.api_server.writes import APPLY, JSON_PATCH, MERGE_PATCH, Admission

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
    "metadata_of",
]
