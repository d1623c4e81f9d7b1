"""Hand-written objects of two common styles of Helm charts."""

from typing import Any

from integration.adoptions import ADOPT

PORT = 8080


def _metadata(labels: dict[str, str]) -> dict[str, Any]:
    helm = {"meta.helm.sh/release-name": "blue", "meta.helm.sh/release-namespace": "shop"}
    return {"name": "web", "labels": labels, "annotations": {**helm, **ADOPT}}


def _chart(selector: dict[str, str], labels: dict[str, str], container: dict[str, Any], **pod: Any) -> list[Any]:
    probe = {"httpGet": {"path": "/", "port": "http"}}
    app = {"ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}], "readinessProbe": probe, **container}
    template = {
        "metadata": {"labels": labels, "annotations": {"checksum/config": "5f70bf18"}},
        "spec": {"serviceAccountName": "web", "containers": [app], **pod},
    }
    ports = [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(labels)},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _metadata(labels),
            "spec": {"type": "NodePort", "selector": selector, "ports": ports},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": _metadata(labels),
            "spec": {"replicas": 3, "selector": {"matchLabels": selector}, "template": template},
        },
    ]


def recommended(image: str) -> list[Any]:
    """Return a chart like that of `helm create`: recommended labels, and a container named after the chart."""
    selector = {"app.kubernetes.io/name": "storefront", "app.kubernetes.io/instance": "blue"}
    labels = {**selector, "helm.sh/chart": "storefront-1.2.3", "app.kubernetes.io/managed-by": "Helm"}
    return _chart(selector, labels, {"name": "storefront", "image": image, "resources": {}})


def release(image: str) -> list[Any]:
    """Return a chart of an older style: labels app and release, a ConfigMap volume, and a second container."""
    selector = {"app": "storefront", "release": "blue"}
    mounts = [{"name": "settings", "mountPath": "/etc/storefront"}, {"name": "shared", "mountPath": "/shared"}]
    main = {"name": "web-server", "image": image, "volumeMounts": mounts}
    exporter = {
        "name": "exporter",
        "image": "registry.example/exporter:1",
        "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
    }
    volumes = [
        {"name": "settings", "configMap": {"name": "settings", "optional": True}},
        {"name": "shared", "emptyDir": {}},
    ]
    made = _chart(selector, {**selector, "chart": "storefront-0.9", "heritage": "Helm"}, main, volumes=volumes)
    made[2]["spec"]["template"]["spec"]["containers"].append(exporter)
    return made


CHARTS = {"recommended labels": recommended, "app and release": release}
