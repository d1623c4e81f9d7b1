"""Ask network-config-analyzer which pods and addresses may reach each other under a NetworkPolicy.

It reads Kubernetes manifests and evaluates them by its own implementation of the NetworkPolicy API
(https://github.com/np-guard/network-config-analyzer). A network plugin is not needed.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / ".nca" / "bin" / "nca"

Ports = frozenset[str]
"""Protocols with a port, such as `TCP 8080`; `ALL` for all of them."""
ALL: Ports = frozenset({"all"})
NONE: Ports = frozenset()


@dataclass(frozen=True)
class Reach:
    """The allowed connections under one policy."""

    rules: Sequence[Mapping[str, Any]] = field(repr=False)

    def ports(self, source: str, target: str) -> Ports:
        """Return the ports at which a source may reach a target, each `namespace/pod` or an address."""
        allowed = [rule for rule in self.rules if _is_in(rule, "src", source) and _is_in(rule, "dst", target)]
        found = frozenset(port for rule in allowed for entry in rule["connection"] for port in _ports(entry))
        return ALL if "all" in found else found


def reaches(cluster: Sequence[Any], policies: Mapping[str, Any], folder: Path) -> dict[str, Reach]:
    """Return what each policy allows, by its key.

    Args:
        cluster: the namespaces and pods.
        policies: one NetworkPolicy for each key.
        folder: an empty folder for files.
    """
    for kind in ("Namespace", "Pod"):
        (folder / f"{kind}.yaml").write_text(yaml.safe_dump_all(each for each in cluster if each["kind"] == kind))
    for number, policy in enumerate(policies.values()):
        (folder / f"{number}.yaml").write_text(yaml.safe_dump(policy))
    names = {f"case-{number}": key for number, key in enumerate(policies)}
    # Without a label that is allowed in the answer, pods are listed by their names.
    names_only = {"outputEndpoints": "pods", "fwRulesOverrideAllowedLabels": "none"}
    output = {"outputFormat": "json", "excludeIPv6Range": False, **names_only}
    scheme = {
        "namespaceList": "Namespace.yaml",
        "podList": "Pod.yaml",
        "networkConfigList": [
            {"name": name, "networkPolicyList": [f"{number}.yaml"]} for number, name in enumerate(names)
        ],
        "queries": [{"name": "all", "connectivityMap": list(names), "outputConfiguration": output}],
    }
    (folder / "scheme.yaml").write_text(yaml.safe_dump(scheme))
    arguments = ["-s", "scheme.yaml", "--output_format", "json", "--file_out", "answer.json"]
    done = subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = json.loads((folder / "answer.json").read_text())
    return {names[answer["configs"][0]]: Reach(answer["explanation"][0]["rules"]) for answer in answers}


def _is_in(rule: Mapping[str, Any], side: str, peer: str) -> bool:
    if "/" not in peer:
        return any(ip_address(peer) in ip_network(block) for block in rule.get(f"{side}_ip_block", []))
    namespace, pod = peer.split("/")
    pods = {name for names in rule.get(f"{side}_pods", []) for name in names.split(", ")}
    return namespace in rule.get(f"{side}_ns", []) and bool({"*", pod} & pods)


def _ports(entry: Any) -> Ports:
    if entry == "All connections":
        return ALL
    assert entry.keys() == {"protocols", "dst_ports"}, entry
    return frozenset(f"{protocol} {port}" for protocol in entry["protocols"].split(", ") for port in entry["dst_ports"])
