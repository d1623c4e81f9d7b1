"""`version`: the versions of plugin, kubectl, API server and operator."""

import json

from coxswain.kernel.objects.quote import clean
from kubectl_coxswain import VERSION
from kubectl_coxswain.kubectl import Kubectl
from kubectl_coxswain.names import DEPLOYMENT, WEBAPP
from kubectl_coxswain.problems import Forbidden, NotServed, Problem
from kubectl_coxswain.reports import VersionReport
from kubectl_coxswain.session import Arguments, Session

_OPERATOR = "app.kubernetes.io/name=coxswain"


def run(session: Session, arguments: Arguments) -> int:
    """Show the versions. Those that cannot be found out are notes, not errors."""
    report = VersionReport(VERSION) if arguments.client else _report(session.kubectl)
    session.show("Version", report, lambda: _write(session, report))
    session.tell(report.notes)
    return 0


def _report(kubectl: Kubectl) -> VersionReport:
    notes: list[str] = []
    versions = json.loads(kubectl.text("version", "--client", "--output=json"))
    client = str(versions.get("clientVersion", {}).get("gitVersion", ""))
    try:
        server = str(kubectl.get("/version").get("gitVersion", ""))
    except Problem as error:
        return VersionReport(VERSION, client, notes=[error.message])
    return VersionReport(VERSION, client, server, _operators(kubectl, notes), _api(kubectl, notes), notes)


def _operators(kubectl: Kubectl, notes: list[str]) -> list[str]:
    """Return namespace, name and image of each operator in the cluster, or else in the namespace."""
    try:
        found = kubectl.all_of(DEPLOYMENT, everywhere=True, labelSelector=_OPERATOR)
    except Forbidden:
        try:
            found = kubectl.all_of(DEPLOYMENT, labelSelector=_OPERATOR)
        except Forbidden as error:
            notes.append(f"the operator's version is unknown: {error.message}")
            return []
        notes.append("only the operators of this namespace are listed: you may not list Deployments elsewhere")
    if not found:
        notes.append("no Deployment of the operator was found; it may run elsewhere")
    images = ((each, each["spec"]["template"]["spec"]["containers"][0]) for each in found)
    return [
        clean(f"{each['metadata']['namespace']}/{each['metadata']['name']}: {container.get('image', '')}")
        for each, container in images
    ]


def _api(kubectl: Kubectl, notes: list[str]) -> str:
    try:
        kubectl.get(WEBAPP.group_path)
    except NotServed:
        notes.append(f"the cluster does not serve {WEBAPP.api_version}: install the CRD, see docs/install.md")
        return ""
    except Forbidden as error:
        notes.append(f"it is unknown whether the cluster serves {WEBAPP.api_version}: {error.message}")
        return ""
    return WEBAPP.api_version


def _write(session: Session, report: VersionReport) -> None:
    rows = [("Plugin", report.plugin), ("kubectl", report.kubectl), ("API server", report.server), ("API", report.api)]
    rows += [("Operator", each) for each in report.operator]
    session.screen.fields((name, value, "none") for name, value in rows)
