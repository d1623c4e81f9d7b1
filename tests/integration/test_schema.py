"""The CRD refuses invalid input to a server-side apply, names the field, and accepts input at its limits."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pykube import HTTPClient

from cluster import ControlPlane, KubectlError
from integration.schema.accepted import GOOD
from integration.schema.beside import BESIDE
from integration.schema.case import (
    PORTS,
    Json,
    Refused,
    webapp,
)
from integration.schema.container import CONTAINER, CONTENT, ENVIRONMENT, NAMES, PORT, PROBES, RESOURCES
from integration.schema.guarding import AUTOSCALING, DISRUPTION, GUARDED, NETWORK
from integration.schema.network import INGRESS, ROUTES
from integration.schema.pods import AFFINITY, VOLUMES
from integration.schema.pods import NETWORK as POD_NETWORK
from integration.schema.policies import ACCEPTED, CONFLICTS, ruled
from integration.schema.surroundings import IDENTITY, METADATA, ROLLOUT, SCHEDULING, SERVICE
from unit.test_network_reach import CASES as NETWORKS
from unit.test_network_reach import HTTP
from yaml_files import webapp_crd

ROOT = Path(__file__).resolve().parents[2]
CRD = webapp_crd()
SCHEMA = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
DOCUMENT = ROOT / "docs/webapp.md"
SAMPLES = sorted(path for path in (ROOT / "manifests/samples").rglob("*.yaml") if path.name != "kustomization.yaml")


class Rejected(Exception):
    """The API server refused the object, with this message."""


@pytest.fixture(scope="module")
def api(cluster: ControlPlane) -> HTTPClient:
    """A client for all dry runs. A start of kubectl takes twenty times as long as one of them."""
    return cluster.pykube()


def dry_run(api: HTTPClient, manifest: Json) -> Json:
    """Return the object that the server would store, as `kubectl apply --server-side --dry-run=server` does.

    A dry run, so the operator is not involved.

    Raises:
        Rejected: the server refuses the object.
    """
    response = api.patch(
        version="coxswain.dev/v1",
        namespace="default",
        url=f"webapps/{manifest['metadata']['name']}",
        params={"fieldManager": "kubectl", "fieldValidation": "Strict", "dryRun": "All"},
        headers={"Content-Type": "application/apply-patch+yaml"},
        data=json.dumps(manifest),
    )
    answer: Json = response.json()
    if not response.ok:
        raise Rejected(answer["message"])
    return answer


BAD = [
    *NAMES,
    *CONTAINER,
    *RESOURCES,
    *PORT,
    *ENVIRONMENT,
    *CONTENT,
    *PROBES,
    *SERVICE,
    *IDENTITY,
    *ROLLOUT,
    *METADATA,
    *SCHEDULING,
    *VOLUMES,
    *AFFINITY,
    *POD_NETWORK,
    *BESIDE,
    *AUTOSCALING,
    *DISRUPTION,
    *NETWORK,
    *CONFLICTS,
    *ROUTES,
    *INGRESS,
]


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_refused_and_the_field_is_named(api: HTTPClient, case: Refused) -> None:
    with pytest.raises(Rejected) as refusal:
        dry_run(api, case.manifest)
    message = str(refusal.value)
    assert f"{case.field}: " in message
    assert case.says in message.split(f"{case.field}: ", 1)[1]


@pytest.mark.slow
@pytest.mark.parametrize("manifest", [pytest.param(good, id=name) for name, good in {**GOOD, **GUARDED}.items()])
def test_good_input_at_the_limits_is_accepted(api: HTTPClient, manifest: Json) -> None:
    assert dry_run(api, manifest)["metadata"]["name"] == manifest["metadata"]["name"]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_judged_by_a_unit_test_are_accepted(api: HTTPClient, name: str) -> None:
    """The tool of test_network_reach.py judges any NetworkPolicy, also one of an impossible WebApp."""
    network = NETWORKS[name].network
    assert dry_run(api, webapp(ports=HTTP, network=network))["spec"]["network"].keys() == network.keys()


@pytest.mark.parametrize("kind", ACCEPTED)
def test_a_rule_may_name_what_coxswain_writes(api: HTTPClient, kind: str) -> None:
    rules = [found for path in ACCEPTED[kind] for found in ruled(kind, path)["rules"]]
    stored = dry_run(api, webapp(conflicts={"rules": rules}))["spec"]["conflicts"]
    assert stored == {"policy": "Enforce", "rules": rules}


def test_server_fills_in_the_defaults(api: HTTPClient) -> None:
    assert dry_run(api, webapp())["spec"] == {**webapp()["spec"], "replicas": 1, "paused": False}
    groups = dry_run(
        api,
        webapp(
            ports=PORTS, service={"ports": [{"name": "web", "port": 80}]}, serviceAccount={}, rollout={}, resources={}
        ),
    )["spec"]
    assert groups["ports"] == [{**PORTS[0], "protocol": "TCP"}]
    assert groups["service"] == {"ports": [{"name": "web", "port": 80, "protocol": "TCP"}]}
    assert groups["serviceAccount"] == {"create": True, "automountServiceAccountToken": False}
    assert groups["rollout"] == {"strategy": "RollingUpdate"}
    assert groups["resources"] == {}


def test_unknown_field_is_refused_by_client_side_apply_too(cluster: ControlPlane) -> None:
    arguments = ("apply", "--validate=strict", "--dry-run=server", "--namespace=default", "--filename=-")
    with pytest.raises(KubectlError, match=r'unknown field "spec\.imagee"'):
        cluster.kubectl(*arguments, input=json.dumps(webapp(imagee="a")))


def test_duplicate_is_refused_without_server_side_apply_too(cluster: ControlPlane) -> None:
    arguments = ("create", "--dry-run=server", "--namespace=default", "--filename=-")
    with pytest.raises(KubectlError, match=r"spec\.env\[1\]: Duplicate value"):
        cluster.kubectl(*arguments, input=json.dumps(webapp(env=[{"name": "A"}, {"name": "A"}])))


def test_scale_subresource_and_columns(cluster: ControlPlane, namespace: str) -> None:
    """The only stored object; it is paused, so an operator would not change it."""
    cluster.kubectl("create", f"--namespace={namespace}", "--filename=-", input=json.dumps(webapp(paused=True)))
    cluster.kubectl("scale", "webapp/shop", "--replicas=5", f"--namespace={namespace}")
    replicas = cluster.kubectl("get", "webapp/shop", f"--namespace={namespace}", "--output=jsonpath={.spec.replicas}")
    assert replicas == "5"
    columns = cluster.kubectl("get", "wa", f"--namespace={namespace}").splitlines()[0].split()
    assert columns == ["NAME", "READY", "REASON", "REPLICAS", "IMAGE", "URL", "AGE"]
    wide = cluster.kubectl("get", "all", "--output=wide", f"--namespace={namespace}").splitlines()[0].split()
    assert wide == [*columns, "AVAILABLE", "PROGRESSING", "STALLED", "DESIRED", "UPDATED", "MESSAGE"]


def documents(path: Path) -> Iterator[Json]:
    """Yield the YAML documents of a file, or of a Markdown file's code blocks. Fragments of a spec become WebApps."""
    text = path.read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE) if path.suffix == ".md" else [text]
    for block in blocks:
        for document in yaml.safe_load_all(block):
            yield document if "kind" in document else webapp(**document)


EXAMPLES = [
    pytest.param(document, id=f"{path.name}-{number}")
    for path in (*SAMPLES, DOCUMENT)
    for number, document in enumerate(documents(path), 1)
    if document["kind"] == "WebApp"
]


@pytest.mark.parametrize("manifest", EXAMPLES)
def test_samples_and_documented_examples_are_accepted(api: HTTPClient, manifest: Json) -> None:
    assert dry_run(api, manifest)["kind"] == "WebApp"


@pytest.mark.parametrize(
    "arguments",
    ["--filename=crds", "--kustomize=crds", "--kustomize=manifests/samples", "--kustomize=manifests/samples/shapes"],
)
def test_folders_are_accepted(cluster: ControlPlane, arguments: str) -> None:
    """`crds/Kustomization` has no file extension, so that kubectl does not read it as a manifest."""
    option, folder = arguments.split("=")
    cluster.kubectl("apply", "--dry-run=server", f"{option}={ROOT / folder}")


# The following tests read only the CRD and need no cluster.


def fields(schema: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Yield each schema below this one with its path: `ports[].name`, `config{}`."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from fields(child, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from fields(schema["additionalProperties"], f"{path}{{}}")


SPEC = list(fields(SCHEMA["properties"]["spec"], "spec"))
NAMED = [(path, schema) for path, schema in fields(SCHEMA) if re.search(r"\w$", path) and path != "metadata.name"]


def used(value: Any, schema: Json, path: str) -> Iterator[str]:
    """Yield the schema paths used by a value."""
    yield path
    if isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            yield from used(inner, schema["properties"][name], f"{path}.{name}")
    elif isinstance(value, dict):
        for inner in value.values():
            yield from used(inner, schema["additionalProperties"], f"{path}{{}}")
    elif isinstance(value, list):
        for inner in value:
            yield from used(inner, schema["items"], f"{path}[]")


def shown_as(path: str) -> str:
    """Return the path used by the documentation: the first path with this schema."""
    path = re.sub(r"^spec[.](?:initContainers|sidecars)\[\][.](env|envFrom|resources|\w+Probe)\b", r"spec.\1", path)
    return re.sub(r"[.]podAntiAffinity\b", ".podAffinity", path).replace(
        ".podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.",
        ".podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].",
    )


def test_every_field_is_shown_in_a_sample_or_in_the_documentation() -> None:
    shown = {
        path
        for file in (*SAMPLES, DOCUMENT)
        for document in documents(file)
        if document["kind"] == "WebApp"
        for path in used(document["spec"], SCHEMA["properties"]["spec"], "spec")
    }
    assert [path for path, _ in SPEC if shown_as(path) not in shown] == []


def test_every_field_of_the_spec_stands_in_the_tables_of_the_documentation() -> None:
    rows = "\n".join(re.findall(r"^\|.*\|$", DOCUMENT.read_text(), re.MULTILINE))
    names = {"spec", *re.findall(r"\w+", rows)}
    assert [path for path, _ in SPEC if re.findall(r"\w+", path)[-1] not in names] == []


def test_every_field_is_described() -> None:
    assert [path for path, schema in NAMED if path != "metadata" and len(schema.get("description", "")) < 5] == []


def test_every_optional_number_and_boolean_names_its_default() -> None:
    """`kubectl explain` shows the descriptions. A target of autoscaling is one of two required fields."""
    silent = [
        f"{path}.{name}"
        for path, schema in SPEC
        for name, child in schema.get("properties", {}).items()
        if child.get("type") in ("integer", "boolean") and name not in schema.get("required", [])
        if "Default: " not in child["description"] and not path.endswith(".target")
    ]
    assert silent == []


def test_every_string_list_and_map_has_a_maximum() -> None:
    def unlimited(schema: Json) -> bool:
        return (
            (schema.get("type") == "string" and not {"maxLength", "enum", "format"} & schema.keys())
            or (schema.get("type") == "array" and "maxItems" not in schema)
            or ("additionalProperties" in schema and "maxProperties" not in schema)
            or ("x-kubernetes-int-or-string" in schema and "maxLength" not in schema)
            or (schema.get("type") == "integer" and "maximum" not in schema)
        )

    assert [path for path, schema in SPEC if unlimited(schema)] == []


def rules() -> Iterator[tuple[str, str]]:
    """Yield the field and the fixed part of the message of each CEL rule."""
    for path, schema in fields(SCHEMA):
        for rule in schema.get("x-kubernetes-validations", []):
            message = rule.get("message") or rule["messageExpression"].split("[0] + ")[1].strip("' ")
            yield f"{path}{rule.get('fieldPath', '')}".lstrip("."), message


def without_indices(field: str) -> str:
    return re.sub(r"\[[^\]]+\]", "[]", field)


def test_every_rule_has_a_case_above() -> None:
    def covered(field: str, message: str) -> bool:
        return any(without_indices(case.field) == field and case.says.split(": ")[-1] in message for case in BAD)

    assert len(list(rules())) > 40
    assert [rule for rule in rules() if not covered(*rule)] == []


def test_every_message_stands_in_the_documentation() -> None:
    text = DOCUMENT.read_text()
    assert [message for _, message in rules() if message not in text] == []


SETS_WITH_A_CASE = {"spec.restartOn.secrets"}


def test_every_keyed_list_has_a_case_with_a_duplicate() -> None:
    types = {path: schema.get("x-kubernetes-list-type") for path, schema in SPEC}
    cases = {without_indices(case.field) for case in BAD if case.says == "duplicate entries"}
    assert cases == {path for path, type_ in types.items() if type_ == "map"} | SETS_WITH_A_CASE
    assert {types[path] for path in SETS_WITH_A_CASE} == {"set"}


def test_every_enumeration_has_a_case_above() -> None:
    enumerated = {path for path, schema in SPEC if "enum" in schema}
    assert enumerated == {without_indices(case.field) for case in BAD if "supported values" in case.says}


def test_client_side_apply_can_store_the_crd() -> None:
    """`kubectl apply` stores the whole object in an annotation, limited to 262144 bytes."""
    assert len(json.dumps(CRD, separators=(",", ":"))) < 200_000


def test_defaults_in_the_schema_are_these() -> None:
    """A schema default is filled into stored objects, so a new default changes every existing WebApp."""
    defaults = {path: schema["default"] for path, schema in SPEC if "default" in schema}
    assert defaults == {
        "spec.replicas": 1,
        "spec.network.ingress[].ports[].protocol": "TCP",
        "spec.network.egress[].ports[].protocol": "TCP",
        "spec.ports[].protocol": "TCP",
        "spec.service.ports[].protocol": "TCP",
        "spec.routes[].rules[].path.type": "PathPrefix",
        "spec.routes[].rules[].headers[].type": "Exact",
        "spec.ingress.hosts[].paths[].pathType": "Prefix",
        "spec.serviceAccount.create": True,
        "spec.serviceAccount.automountServiceAccountToken": False,
        "spec.rollout.strategy": "RollingUpdate",
        "spec.sidecars[].ports[].protocol": "TCP",
        "spec.conflicts.policy": "Enforce",
        "spec.paused": False,
    }
