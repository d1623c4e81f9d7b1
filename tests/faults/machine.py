"""The random mix: a Hypothesis state machine whose rules append steps to a script, and pass it to a judge at the end.

Nothing runs before the script is complete. So shrinking costs no runs, known scripts are not played again, and a failed
script can be replayed without Hypothesis. `faults.script_state` has the allowed orders of steps.
"""

import sys
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from fault_engine.plan import Answer, Delay, Doubled, Drop, Hide, Kill, Match, Rule, Stream
from fault_engine.script import Cut, Disaster, Inject, Kubectl, Operator, Script
from faults.script_state import WEBAPPS, Plot

Judge = Callable[[Script], None]
"""Plays a script; raises AssertionError with the violations."""

_CHILDREN = ("serviceaccounts", "configmaps", "services", "poddisruptionbudgets", "deployments")
_WRITTEN = ("*", *_CHILDREN, "webapps/status", "events")
_WATCHED = ("*", "webapps", *_CHILDREN, "replicasets", "pods")
_ERRORS: tuple[dict[str, Any], ...] = (
    {"code": 410, "reason": "Expired"},
    {"code": 500, "reason": "InternalError"},
    {"code": 504},
)

_request_faults = st.one_of(
    st.builds(Kill, answered=st.booleans()),
    st.builds(Kill, forwarded=st.just(False)),
    st.builds(Drop, answered=st.booleans()),
    st.builds(Answer, st.sampled_from((500, 503, 403, 504)), instead=st.booleans()),
    st.builds(Answer, st.just(429), retry_after=st.just(1)),
    st.builds(Delay, st.sampled_from((0.5, 4.0)), answered=st.booleans()),
)
_matches = st.one_of(
    st.builds(
        Match, st.sampled_from(("patch", "*", "patch|delete|create", "delete")), st.sampled_from(_WRITTEN),
        first=st.integers(1, 4), count=st.integers(1, 3), every=st.just(1),
    ),
    st.builds(Match, st.sampled_from(("list", "get")), count=st.integers(1, 8)),
)  # fmt: skip
_lasting = st.builds(
    Rule,
    st.builds(
        Match, st.sampled_from(("patch", "patch|delete|create", "*")), st.sampled_from(_WRITTEN), count=st.none()
    ),
    st.one_of(st.builds(Drop), st.builds(Answer, st.sampled_from((500, 503, 403)))),
)
_STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
_errors = st.sampled_from(_ERRORS).map(lambda error: {"type": "ERROR", "object": {**_STATUS, **error}})
_streams = st.one_of(
    st.builds(Stream, st.integers(0, 3), then=st.sampled_from(("close", "reset", "freeze", "truncate"))),
    st.builds(Stream, st.integers(0, 3), inject=st.tuples(_errors), then=st.sampled_from(("close", "go on"))),
    st.builds(Stream, drop=st.just(("BOOKMARK",))),
)
_watch_faults = st.one_of(
    _streams,
    st.builds(Answer, st.sampled_from((410, 500, 403))),
    st.builds(Doubled, swapped=st.booleans()),
    st.builds(Hide, st.sampled_from(WEBAPPS), until=st.sampled_from(("*", "MODIFIED", "DELETED"))),
)
watch_rules = st.builds(
    Rule, st.builds(Match, st.just("watch"), st.sampled_from(_WATCHED), count=st.integers(1, 3)), _watch_faults
)
request_rules = st.one_of(st.builds(Rule, _matches, _request_faults), _lasting)
_operations = st.runner().flatmap(lambda machine: st.sampled_from(machine.plot.operations()))


class Mix(RuleBasedStateMachine):
    """Builds one script."""

    def __init__(self, judge: Judge) -> None:
        """Pass the complete script to a judge."""
        super().__init__()
        self._judge = judge
        self.plot = Plot()
        self.plot.operate("create", WEBAPPS[0])

    @rule(operation=_operations)
    @precondition(lambda self: self.plot.operations())
    def operate(self, operation: tuple[str, str]) -> None:
        self.plot.operate(*operation)

    @rule(operation=_operations)
    @precondition(lambda self: self.plot.operations() and self.plot.gap)
    def operate_amid_faults(self, operation: tuple[str, str]) -> None:
        self.plot.operate(*operation)

    @rule()
    @precondition(lambda self: self.plot.unsettled)
    def settle(self) -> None:
        self.plot.settle()

    @rule(found=request_rules)
    @precondition(lambda self: not self.plot.injected and self.plot.operator == "runs")
    def inject(self, found: Rule) -> None:
        self.plot.inject(found)

    @rule(found=watch_rules)
    @precondition(lambda self: not self.plot.injected and self.plot.operator == "runs")
    def inject_in_new_watches(self, found: Rule) -> None:
        """Inject faults into watches, and reset the open ones, because a fault starts only with a new watch."""
        self.plot.inject(found)
        self.plot.steps.append(Cut())

    @rule()
    @precondition(lambda self: self.plot.injected and not isinstance(self.plot.steps[-1], Inject | Cut))
    def lift(self) -> None:
        self.plot.lift()

    @rule(how=st.sampled_from(("kill", "pause", "stop")))
    @precondition(lambda self: self.plot.operator == "runs" and not self.plot.kills)
    def take_operator_down(self, how: str) -> None:
        self.plot.take_down(how)

    @rule()
    @precondition(lambda self: self.plot.operator != "runs" and not isinstance(self.plot.steps[-1], Operator))
    def bring_operator_up(self) -> None:
        self.plot.bring_up()

    @rule()
    @precondition(lambda self: self.plot.unsettled and not self.plot.api_server_restarted and not self.plot.collected)
    def restart_api_server(self) -> None:
        self.plot.restart_api_server()

    @rule()
    @precondition(lambda self: self.plot.gap and isinstance(self.plot.steps[-1], Kubectl))
    def compact(self) -> None:
        """Compact etcd's history, so that it lacks the last changes of users."""
        self.plot.steps.append(Disaster("compact"))

    def teardown(self) -> None:
        """Pass the script to the judge, unless an exception of Hypothesis has aborted it."""
        if sys.exception() is None:
            self._judge(self.plot.script())
