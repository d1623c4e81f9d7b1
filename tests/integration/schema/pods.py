"""Invalid volumes, scheduling and pod network, and the expected messages."""

from typing import Any

from integration.schema.case import Json, refused

CLAIM: Json = {"name": "data", "mountPath": "/data", "persistentVolumeClaim": {"claimName": "shop"}}
ALONE: Json = {"rollout": {"strategy": "Recreate"}}
"""A rollout that stops the old pod first."""
SERVES_ONE = "a persistentVolumeClaim without shared serves one pod at a time"
ITEM = {"key": "a", "path": "a"}


def volume(**fields: Any) -> list[Json]:
    return [{"name": "v", **fields}]


def projected(*sources: Json) -> list[Json]:
    return volume(projected={"sources": list(sources)})


OF_THE_KUBELET: list[Json] = [
    {"configMap": {"name": "a"}},
    {"secret": {"secretName": "a"}},
    {"projected": {"sources": [{"serviceAccountToken": {"path": "a"}}]}},
]
"""The sources of a volume in which the kubelet creates a directory for each nested mount."""

VOLUMES = [
    refused("volumes", "duplicate entries", volumes=volume(emptyDir={}) * 2),
    *(
        refused("volumes[0].name", "files and writable-* are reserved", volumes=[{"name": name, "emptyDir": {}}])
        for name in ("files", "writable-1")
    ),
    refused("volumes[0].name", "should match", volumes=[{"name": "A", "emptyDir": {}}]),
    *(
        refused("volumes[0]", "give exactly one of emptyDir, persistentVolumeClaim", volumes=volume(**sources))
        for sources in ({}, {"emptyDir": {}, "secret": {"secretName": "a"}})
    ),
    refused(
        "volumes",
        "each mountPath may stand only once",
        volumes=[{"name": name, "mountPath": "/a", "emptyDir": {}} for name in ("a", "b")],
    ),
    refused("volumes", "each claim may stand only once", volumes=[CLAIM, {**CLAIM, "name": "b", "mountPath": "/b"}]),
    *(
        refused("volumes[0].mountPath", "readOnly and subPath need mountPath", volumes=volume(emptyDir={}, **more))
        for more in ({"readOnly": True}, {"subPath": "a"})
    ),
    *(
        refused("volumes[0].mountPath", "should match", volumes=volume(emptyDir={}, mountPath=path))
        for path in ("data", "/a/", "/a/../b", "/a:b")
    ),
    *(
        refused("volumes[0].subPath", "should match", volumes=volume(emptyDir={}, mountPath="/a", subPath=path))
        for path in ("/a", "a/..", "../a", "a//b")
    ),
    *(
        refused("volumes", SERVES_ONE, volumes=[CLAIM], **spec)
        for spec in (
            {},
            {**ALONE, "replicas": 2},
            {**ALONE, "autoscaling": {"maxReplicas": 2}},
            {"rollout": {"maxSurge": 1}},
            {"rollout": {"maxSurge": "25%", "maxUnavailable": 1}},
        )
    ),
    refused(
        "volumes",
        "no mountPath may be the path of one of spec.files",
        volumes=volume(emptyDir={}, mountPath="/etc/a/b"),
        files=[{"path": "/etc/a", "content": ""}],
    ),
    *(
        refused(
            "files",
            "no path may lie below the mountPath of a configMap, secret or projected volume",
            volumes=volume(mountPath="/etc/a", **source),
            files=[{"path": "/etc/b", "content": ""}, {"path": path, "content": ""}],
        )
        for path, source in zip(("/etc/a/c", "/etc/a/c", "/etc/a/c/d"), OF_THE_KUBELET, strict=True)
    ),
    refused("volumes[0].emptyDir.medium", "supported values", volumes=volume(emptyDir={"medium": "Disk"})),
    refused("volumes[0].emptyDir.sizeLimit", "should match", volumes=volume(emptyDir={"sizeLimit": "1GB"})),
    refused(
        "volumes[0].configMap.defaultMode",
        "less than or equal to 511",
        volumes=volume(configMap={"name": "a", "defaultMode": 512}),
    ),
    refused(
        'volumes[name="v"].configMap.items',
        "duplicate entries",
        volumes=volume(configMap={"name": "a", "items": [ITEM, ITEM]}),
    ),
    refused(
        'volumes[name="v"].secret.items',
        "duplicate entries",
        volumes=volume(secret={"secretName": "a", "items": [ITEM, ITEM]}),
    ),
    *(
        refused(
            "volumes[0].secret.items[0].path",
            "should match",
            volumes=volume(secret={"secretName": "a", "items": [{"key": "a", "path": path}]}),
        )
        for path in ("/a", "..a", "a/..")
    ),
    *(
        refused(
            f'volumes[name="v"].projected.sources[0].{kind}.items',
            "duplicate entries",
            volumes=projected({kind: {"name": "a", "items": [ITEM, ITEM]}}),
        )
        for kind in ("configMap", "secret")
    ),
    *(
        refused("volumes[0].projected.sources", "each path may stand only once among all sources", volumes=volumes)
        for volumes in (
            projected({"serviceAccountToken": {"path": "a"}}, {"serviceAccountToken": {"path": "a"}}),
            projected({"serviceAccountToken": {"path": "a"}}, {"secret": {"name": "a", "items": [ITEM]}}),
            projected({"configMap": {"name": "a", "items": [ITEM]}}, {"secret": {"name": "a", "items": [ITEM]}}),
        )
    ),
    *(
        refused(
            "volumes[0].projected.sources[0]", "give exactly one of configMap, secret and", volumes=projected(wrong)
        )
        for wrong in ({}, {"configMap": {"name": "a"}, "secret": {"name": "a"}})
    ),
    refused(
        "volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds",
        "greater than or equal to 600",
        volumes=projected({"serviceAccountToken": {"path": "a", "expirationSeconds": 599}}),
    ),
    *(
        refused(
            "volumes[0].ephemeral.storage", "must be greater than 0", volumes=volume(ephemeral={"storage": storage})
        )
        for storage in (0, "0Gi", "0.0")
    ),
    refused(
        "volumes[0].ephemeral.accessMode",
        "supported values",
        volumes=volume(ephemeral={"storage": "1Gi", "accessMode": "ReadOnlyMany"}),
    ),
    refused("volumes", "Too many", volumes=[{"name": f"v{number}", "emptyDir": {}} for number in range(25)]),
    *(
        refused(
            "writablePaths",
            "no path may be the mountPath of a volume",
            writablePaths=["/a/b"],
            **spec,
        )
        for spec in (
            {"volumes": volume(emptyDir={}, mountPath="/a/b")},
            {"files": [{"path": "/a/b", "content": ""}]},
            {"files": [{"path": "/a", "content": ""}]},
        )
    ),
    refused("writablePaths[0]", "should match", writablePaths=["tmp"]),
    refused("fsGroup", "greater than or equal to 1", fsGroup=0),
]

REQUIRED, PREFERRED = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
TERM = {"topologyKey": "kubernetes.io/hostname"}
WRONG_VALUES: list[Json] = [
    {"key": "a", "operator": "In"},
    {"key": "a", "operator": "NotIn", "values": []},
    {"key": "a", "operator": "Exists", "values": ["b"]},
]


def of_nodes(expression: Json) -> list[tuple[str, Json]]:
    """Return both places of a node condition, each with an affinity that contains it."""
    term = {"matchExpressions": [expression]}
    required = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
    preferred = {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": term}]}}
    return [
        (f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]", required),
        (f"affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0]", preferred),
    ]


def of_pods(**term: Any) -> list[tuple[str, Json]]:
    """Return all places of a pod term, each with an affinity that contains it."""
    found = []
    for kind in ("podAffinity", "podAntiAffinity"):
        found.append((f"affinity.{kind}.{REQUIRED}[0]", {kind: {REQUIRED: [{**TERM, **term}]}}))
        preferred = {kind: {PREFERRED: [{"weight": 1, "podAffinityTerm": {**TERM, **term}}]}}
        found.append((f"affinity.{kind}.{PREFERRED}[0].podAffinityTerm", preferred))
    return found


AFFINITY = [
    *(
        refused(f"{place}.values", "In and NotIn need values, Gt and Lt need one whole number", affinity=affinity)
        for wrong in (
            *WRONG_VALUES,
            {"key": "a", "operator": "Gt", "values": ["x"]},
            {"key": "a", "operator": "Lt", "values": ["1", "2"]},
        )
        for place, affinity in of_nodes(wrong)
    ),
    *(
        refused(f"{place}.operator", "supported values", affinity=affinity)
        for place, affinity in of_nodes({"key": "a", "operator": "Is"})
    ),
    *(
        refused(f"{place}.{selector}.matchExpressions[0].values", "In and NotIn need values, Exists", affinity=affinity)
        for wrong in WRONG_VALUES
        for selector in ("labelSelector", "namespaceSelector")
        for place, affinity in of_pods(**{selector: {"matchExpressions": [wrong]}})
    ),
    *(
        refused(f"{place}.{selector}.matchExpressions[0].operator", "supported values", affinity=affinity)
        for selector in ("labelSelector", "namespaceSelector")
        for place, affinity in of_pods(**{selector: {"matchExpressions": [{"key": "a", "operator": "Gt"}]}})
    ),
    *(
        refused(f"{place}.{selector}.matchLabels", "a/b/c: keys must be qualified names", affinity=affinity)
        for selector in ("labelSelector", "namespaceSelector")
        for place, affinity in of_pods(**{selector: {"matchLabels": {"a/b/c": ""}}})
    ),
    *(
        refused(f"{place}.matchLabelKeys", "no key may also be in labelSelector", affinity=affinity)
        for term in (
            {"matchLabelKeys": ["coxswain.dev/webapp"]},
            {"matchLabelKeys": ["a"], "labelSelector": {"matchLabels": {"a": "b"}}},
            {"matchLabelKeys": ["a"], "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
        )
        for place, affinity in of_pods(**term)
    ),
    *(
        refused(f"affinity.{kind}.{PREFERRED}[0].weight", "less than or equal to 100", affinity=affinity)
        for kind in ("podAffinity", "podAntiAffinity")
        for affinity in ({kind: {PREFERRED: [{"weight": 101, "podAffinityTerm": TERM}]}},)
    ),
]

NETWORK = [
    refused("hostAliases", "duplicate entries", hostAliases=[{"ip": "192.0.2.1", "hostnames": ["a"]}] * 2),
    *(
        refused("hostAliases[0].ip", "must be an IP address", hostAliases=[{"ip": address, "hostnames": ["a"]}])
        for address in ("db.example.com", "192.0.2.256", "192.0.2.0/24")
    ),
    refused("hostAliases[0].hostnames[0]", "should match", hostAliases=[{"ip": "192.0.2.1", "hostnames": ["A"]}]),
    refused("dnsConfig.nameservers[0]", "must be an IP address", dnsConfig={"nameservers": ["dns.example.com"]}),
    refused("dnsConfig.nameservers", "Too many", dnsConfig={"nameservers": [f"192.0.2.{n}" for n in range(4)]}),
    refused("dnsConfig.searches[0]", "should match", dnsConfig={"searches": ["a b"]}),
    refused("dnsConfig.options", "duplicate entries", dnsConfig={"options": [{"name": "ndots"}, {"name": "ndots"}]}),
    refused("dnsConfig.options[0].value", "should match", dnsConfig={"options": [{"name": "a", "value": "1\n2"}]}),
    refused("dnsPolicy", "supported values", dnsPolicy="ClusterFirstWithHostNet"),
    refused("dnsPolicy", "None needs at least one of dnsConfig.nameservers", dnsPolicy="None"),
    refused("dnsPolicy", "None needs at least one of", dnsPolicy="None", dnsConfig={"nameservers": []}),
    refused("schedulerName", "should match", schedulerName="My scheduler"),
    refused("runtimeClassName", "should match", runtimeClassName="gVisor"),
    *(
        refused("rollout.minReadySeconds", "must be less than rollout.progressDeadlineSeconds", rollout=rollout)
        for rollout in ({"minReadySeconds": 600}, {"minReadySeconds": 30, "progressDeadlineSeconds": 30})
    ),
    refused("restartOn.secrets", "duplicate entries", restartOn={"secrets": ["db", "db"]}),
    refused("restartOn.secrets[0]", "should match", restartOn={"secrets": ["DB"]}),
    refused("restartOn.configMaps[0]", "should match", restartOn={"configMaps": ["a/b"]}),
    refused("restartOn.configMaps", "Too many", restartOn={"configMaps": [f"c{n}" for n in range(17)]}),
]
