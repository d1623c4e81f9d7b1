"""The CRD refuses bad input at `kubectl apply`, names the field, and accepts everything at its limits."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane, KubectlError
from integration.schema.accepted import GOOD
from integration.schema.case import (
    PORTS,
    Json,
    Refused,
    webapp,
)
from integration.schema.container import CONTAINER, CONTENT, ENVIRONMENT, NAMES, PORT, PROBES, RESOURCES
from integration.schema.policies import ACCEPTED, CONFLICTS, ruled
from integration.schema.surroundings import IDENTITY, METADATA, ROLLOUT, SCHEDULING, SERVICE

ROOT = Path(__file__).resolve().parents[2]
CRD = yaml.safe_load((ROOT / "crds/webapps.yaml").read_text())
SCHEMA = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
DOCUMENT = ROOT / "docs/webapp.md"
SAMPLES = sorted(path for path in (ROOT / "manifests/samples").glob("*.yaml") if path.name != "kustomization.yaml")


def dry_run(cluster: ControlPlane, manifest: Json) -> Json:
    """What the server would store. Nothing is stored, so no operator takes part."""
    arguments = ("apply", "--server-side", "--dry-run=server", "--namespace=default", "--output=json", "--filename=-")
    answer: Json = json.loads(cluster.kubectl(*arguments, input=json.dumps(manifest)))
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
    *CONFLICTS,
]


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_refused_and_the_field_is_named(cluster: ControlPlane, case: Refused) -> None:
    with pytest.raises(KubectlError) as refusal:
        dry_run(cluster, case.manifest)
    message = str(refusal.value)
    assert f"{case.field}: " in message
    assert case.says in message.split(f"{case.field}: ", 1)[1]


@pytest.mark.parametrize("name", GOOD)
def test_good_input_at_the_limits_is_accepted(cluster: ControlPlane, name: str) -> None:
    assert dry_run(cluster, GOOD[name])["metadata"]["name"] == GOOD[name]["metadata"]["name"]


@pytest.mark.parametrize("kind", ACCEPTED)
def test_a_rule_may_name_what_coxswain_writes(cluster: ControlPlane, kind: str) -> None:
    rules = [found for path in ACCEPTED[kind] for found in ruled(kind, path)["rules"]]
    stored = dry_run(cluster, webapp(conflicts={"rules": rules}))["spec"]["conflicts"]
    assert stored == {"policy": "Enforce", "rules": rules}


def test_server_fills_in_the_defaults(cluster: ControlPlane) -> None:
    assert dry_run(cluster, webapp())["spec"] == {**webapp()["spec"], "replicas": 1, "paused": False}
    groups = dry_run(
        cluster,
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
    """The one object that is stored; paused, so that an operator would leave it alone."""
    cluster.kubectl("create", f"--namespace={namespace}", "--filename=-", input=json.dumps(webapp(paused=True)))
    cluster.kubectl("scale", "webapp/shop", "--replicas=5", f"--namespace={namespace}")
    replicas = cluster.kubectl("get", "webapp/shop", f"--namespace={namespace}", "--output=jsonpath={.spec.replicas}")
    assert replicas == "5"
    columns = cluster.kubectl("get", "wa", f"--namespace={namespace}").splitlines()[0].split()
    assert columns == ["NAME", "READY", "REASON", "REPLICAS", "IMAGE", "URL", "AGE"]
    wide = cluster.kubectl("get", "all", "--output=wide", f"--namespace={namespace}").splitlines()[0].split()
    assert wide == [*columns, "AVAILABLE", "PROGRESSING", "STALLED", "DESIRED", "UPDATED", "MESSAGE"]


def documents(path: Path) -> Iterator[Json]:
    """The YAML documents of a file, or of a Markdown file's fenced blocks. A fragment of a spec becomes a WebApp."""
    text = path.read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE) if path.suffix == ".md" else [text]
    for block in blocks:
        for document in yaml.safe_load_all(block):
            yield document if "kind" in document else webapp(**document)


EXAMPLES = [
    pytest.param(document, id=f"{path.name}-{number}")
    for path in (*SAMPLES, DOCUMENT)
    for number, document in enumerate(documents(path), 1)
]


@pytest.mark.parametrize("manifest", EXAMPLES)
def test_samples_and_documented_examples_are_accepted(cluster: ControlPlane, manifest: Json) -> None:
    assert dry_run(cluster, manifest)["kind"] == "WebApp"


@pytest.mark.parametrize("arguments", ["--filename=crds", "--kustomize=crds", "--kustomize=manifests/samples"])
def test_folders_are_accepted(cluster: ControlPlane, arguments: str) -> None:
    """`crds/Kustomization` has no ending, so that kubectl does not take it for a manifest."""
    option, folder = arguments.split("=")
    cluster.kubectl("apply", "--dry-run=server", f"{option}={ROOT / folder}")


# What follows needs no cluster: it looks at the CRD itself.


def fields(schema: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Each schema below this one, with its path: `ports[].name`, `config{}`."""
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
    """The paths of the schema that a value has something at."""
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


def test_every_field_is_shown_in_a_sample_or_in_the_documentation() -> None:
    shown = {
        path
        for file in (*SAMPLES, DOCUMENT)
        for document in documents(file)
        for path in used(document["spec"], SCHEMA["properties"]["spec"], "spec")
    }
    assert [path for path, _ in SPEC if path not in shown] == []


def test_every_field_of_the_spec_stands_in_the_tables_of_the_documentation() -> None:
    rows = "\n".join(re.findall(r"^\|.*\|$", DOCUMENT.read_text(), re.MULTILINE))
    names = {"spec", *re.findall(r"\w+", rows)}
    assert [path for path, _ in SPEC if re.findall(r"\w+", path)[-1] not in names] == []


def test_every_field_is_described() -> None:
    assert [path for path, schema in NAMED if path != "metadata" and len(schema.get("description", "")) < 5] == []


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
    """Each CEL rule as the field that it speaks of, and the fixed part of its message."""
    for path, schema in fields(SCHEMA):
        for rule in schema.get("x-kubernetes-validations", []):
            message = rule.get("message") or rule["messageExpression"].split("[0] + ")[1].strip("' ")
            yield f"{path}{rule.get('fieldPath', '')}".lstrip("."), message


def without_indices(field: str) -> str:
    return re.sub(r"\[\d+\]", "[]", field)


def test_every_rule_has_a_case_above() -> None:
    def covered(field: str, message: str) -> bool:
        return any(without_indices(case.field) == field and case.says.split(": ")[-1] in message for case in BAD)

    assert len(list(rules())) > 40
    assert [rule for rule in rules() if not covered(*rule)] == []


def test_every_message_stands_in_the_documentation() -> None:
    text = DOCUMENT.read_text()
    assert [message for _, message in rules() if message not in text] == []


def test_every_keyed_list_has_a_case_with_a_duplicate() -> None:
    keyed_lists = {path for path, schema in SPEC if schema.get("x-kubernetes-list-type") == "map"}
    assert keyed_lists == {case.field for case in BAD if case.says == "duplicate entries"}


def test_every_enumeration_has_a_case_above() -> None:
    enumerated = {path for path, schema in SPEC if "enum" in schema}
    assert enumerated == {without_indices(case.field) for case in BAD if "supported values" in case.says}


def test_client_side_apply_can_store_the_crd() -> None:
    """`kubectl apply` keeps the whole object in an annotation, which may have 262144 bytes."""
    assert len(json.dumps(CRD, separators=(",", ":"))) < 60_000


def test_defaults_in_the_schema_are_these() -> None:
    """A default in the schema is filled into stored objects: adding one changes what every WebApp says."""
    defaults = {path: schema["default"] for path, schema in SPEC if "default" in schema}
    assert defaults == {
        "spec.replicas": 1,
        "spec.ports[].protocol": "TCP",
        "spec.service.ports[].protocol": "TCP",
        "spec.serviceAccount.create": True,
        "spec.serviceAccount.automountServiceAccountToken": False,
        "spec.rollout.strategy": "RollingUpdate",
        "spec.conflicts.policy": "Enforce",
        "spec.paused": False,
    }
