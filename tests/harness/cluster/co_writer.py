"""Another controller in its own process: repeatedly writes one object with its own field manager.

    python -m cluster.co_writer --kubeconfig FILE --ca-file FILE --namespace shop --manager updater --mode apply \
        --object deployments/web --body '{"spec": {"replicas": 3}}' --every 0.2

Prints a line for each response: HTTP status, resourceVersion. `{n}` in the body is the number of the write.
"""

import argparse
import itertools
import json
import time
from pathlib import Path

from cluster.clients import pykube_client

KINDS = {
    "deployments": ("apps/v1", "Deployment"),
    "services": ("v1", "Service"),
    "serviceaccounts": ("v1", "ServiceAccount"),
}
MODES = {
    "apply": ("application/apply-patch+yaml", {"force": "false"}),
    "force-apply": ("application/apply-patch+yaml", {"force": "true"}),
    "update": ("application/merge-patch+json", {}),
}
"""The request of each mode: Content-Type, and parameters besides the field manager."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cluster.co_writer", description=__doc__)
    for name in ("--kubeconfig", "--ca-file"):
        parser.add_argument(name, type=Path, required=True)
    for name in ("--namespace", "--manager", "--object"):
        parser.add_argument(name, required=True)
    parser.add_argument("--mode", choices=MODES, required=True)
    parser.add_argument("--body", required=True, metavar="JSON")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS")
    return parser.parse_args()


def main() -> None:
    """Write until the process is stopped."""
    given = _arguments()
    api = pykube_client(given.kubeconfig, given.ca_file)
    plural, _, name = given.object.partition("/")
    version, kind = KINDS[plural]
    content_type, parameters = MODES[given.mode]
    for number in itertools.count(1):
        thing = {"apiVersion": version, "kind": kind, **json.loads(given.body.replace("{n}", str(number)))}
        thing["metadata"] = {**thing.get("metadata", {}), "name": name}
        answer = api.patch(
            version=version,
            namespace=given.namespace,
            url=f"{plural}/{name}",
            params={"fieldManager": given.manager, **parameters},
            headers={"Content-Type": content_type},
            data=json.dumps(thing),
        )
        told = answer.json()
        print(answer.status_code, told["metadata"].get("resourceVersion") or told.get("message"), flush=True)
        time.sleep(given.every)


if __name__ == "__main__":
    main()
