"""The children of a WebApp, one file a kind."""

from coxswain.webapp.children.configmap import config_map
from coxswain.webapp.children.deployment import deployment
from coxswain.webapp.children.service import service
from coxswain.webapp.children.serviceaccount import service_account
from coxswain.webapp.spec import Manifest, WebApp


def desired(webapp: WebApp) -> list[Manifest]:
    """Return the manifests of all children that the WebApp should have, in the order in which they are written.

    Pods need their ServiceAccount and ConfigMap, so these come before the Deployment. It has the replicas of the spec;
    `deployment` makes it with others.
    """
    manifests = [service_account(webapp), config_map(webapp), service(webapp), deployment(webapp)]
    return [manifest for manifest in manifests if manifest is not None]
