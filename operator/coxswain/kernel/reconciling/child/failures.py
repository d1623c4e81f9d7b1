"""Failed requests: their effect on the reconcile and on the health of a child."""

import re
from collections.abc import Mapping

from coxswain.kernel.api.errors import (
    ErrorClass,
    NotSent,
    OutOfDate,
    Refused,
    RequestFailed,
    Undecodable,
    Unreachable,
)
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.quote import reason
from coxswain.kernel.status.health import Health, denied, not_written, rejected, retried

_REASONS: Mapping[type[RequestFailed], str] = {Unreachable: "NoAnswer", Undecodable: "UnreadableAnswer"}


PATIENCE = 3
"""Maximum number of consecutive transient failures without a report in the status."""


def concerns_all(error: RequestFailed) -> bool:
    """Tell whether a failed request for one child ends the whole reconcile."""
    return isinstance(error, (OutOfDate, NotSent)) or (isinstance(error, Refused) and error.namespace_terminating)


_QUOTA = re.compile(r"exceeded quota: (\S+),")
_POLICY = re.compile(r"(\w+AdmissionPolicy) '([^']+)'")
_RBAC = re.compile(r'User "([^"]+)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"')


def failure(error: RequestFailed, commands: Commands, *, there: bool, patient: bool) -> Health:
    """Return the health of a child after a failed request.

    Args:
        error: the failure.
        commands: the commands about the parent.
        there: whether the child exists.
        patient: whether a transient failure, such as a conflict or a 500, is not reported yet.
    """
    if isinstance(error, Refused):
        if error.error_class is ErrorClass.TERMINAL:
            return rejected(error.message, commands, there=there)
        if error.by_admission:
            return denied(error.message, commands)
        if error.status == 403 or not patient:
            advice = next_step(error, commands.namespace)
            return not_written(reason(error.reason, "WriteFailed"), error.message, advice)
    if patient:
        return retried(there=there)
    return not_written(_REASONS.get(type(error), "WriteFailed"), str(error))


def next_step(error: RequestFailed, namespace: str) -> str:
    """Return the next step of the user after a refusal, by the message of the API server; empty if there is none."""
    if isinstance(error, Refused) and error.by_admission:
        if policy := _POLICY.search(error.message):
            return f"See the policy: kubectl describe {policy[1].lower()} {policy[2]}"
        return "See the webhook: kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations"
    if not isinstance(error, Refused) or error.status != 403:
        return ""
    if quota := _QUOTA.search(error.message):
        return f"Raise the quota: kubectl describe resourcequota {quota[1]} -n {namespace}"
    if denied_right := _RBAC.search(error.message):
        user, verb, resource, group = denied_right.groups()
        command = f"kubectl auth can-i {verb} {resource}{'.' * bool(group)}{group} -n {namespace} --as={user}"
        return f"Check the operator's RBAC rules: {command}"
    return f"Check the policies and quotas of the namespace: kubectl describe resourcequotas -n {namespace}"
