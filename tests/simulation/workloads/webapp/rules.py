"""The CEL rules of the CRD that draws may violate: the model of the API server does not evaluate CEL."""

from model_cluster.api_server import Refusal
from model_cluster.objects import Object


def refuses(operation: str, new: Object | None, _old: Object | None, _agent: str) -> Refusal | None:
    """Return the refusal of a WebApp whose Service contradicts its ports, routes or Ingress."""
    if operation == "DELETE" or new is None or new["kind"] != "WebApp":
        return None
    spec = new["spec"]
    is_alias = spec.get("service", {}).get("type") == "ExternalName"
    leads_nowhere = "service" in spec and not spec.get("ports") and not is_alias
    if leads_nowhere or (is_alias and (spec.get("routes") or spec.get("ingress"))):
        return Refusal(422, "Invalid", "spec.service is invalid")
    return None
