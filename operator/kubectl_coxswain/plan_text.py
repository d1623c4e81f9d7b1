"""A plan as text."""

from collections.abc import Sequence

from kubectl_coxswain.reports import ChildChange, FieldChange, PlanReport
from kubectl_coxswain.screen import Level, Screen, Span

_SIGN: dict[str, tuple[str, Level]] = {
    "Create": ("+", "good"),
    "Adopt": ("~", "busy"),
    "Change": ("~", "busy"),
    "Replace": ("!", "bad"),
    "Remove": ("-", "bad"),
    "Blocked": ("!", "bad"),
    "Paused": ("=", "paused"),
    "Unknown": ("?", "unknown"),
}
_WORD = {
    "Create": "create",
    "Adopt": "adopt",
    "Change": "change",
    "Replace": "replace",
    "Remove": "remove",
    "Blocked": "blocked",
    "Paused": "paused",
    "Unknown": "not compared",
}
_RESTARTS: dict[bool | None, tuple[str, Level]] = {
    True: ("yes", "busy"),
    False: ("no", "good"),
    None: ("unknown", "unknown"),
}


def write_plan(screen: Screen, report: PlanReport) -> None:
    """Write a plan: the verdict, the changed fields of the spec, and the children."""
    if not report.differs:
        unread = any(child.action == "Unknown" for child in report.children)
        where = " in the objects that you may read" if unread else ""
        screen.line(Span(f"{screen.mark('good')}{report.name}: no differences{where}", "good"))
        return
    what = {"Create": "is new", "Change": "changes", "None": "stays as it is, but its children change"}[report.action]
    restarts, level = _RESTARTS[report.restart.restarts]
    screen.line(Span(f"WebApp {report.name}", "head"), f" in namespace {report.namespace} {what}.")
    lead = f"{screen.mark(level)}Pods restart: {restarts}, because "
    screen.paragraph(report.restart.because, "    ", first=Span(lead, level))
    if report.spec:
        screen.blank()
        screen.line(Span("Spec:", "head"))
        _write_fields(screen, report.spec, "  ")
    shown = [child for child in report.children if child.action != "None"]
    screen.blank()
    screen.line(Span("Children:", "head"))
    for child in shown:
        write_child(screen, child)
    unchanged = len(report.children) - len(shown)
    if unchanged:
        screen.line(Span(f"  {unchanged} {'child stays' if unchanged == 1 else 'children stay'} unchanged", "dim"))


def write_child(screen: Screen, child: ChildChange) -> None:
    """Write the change of one child with its fields."""
    sign, level = _SIGN[child.action]
    head = f"  {sign} {child.object}: {_WORD[child.action]}"
    if child.message:
        screen.paragraph(child.message, "      ", first=Span(f"{head}: ", level))
    else:
        screen.line(Span(head, level))
    if child.action != "Create":
        _write_fields(screen, child.fields, "      ")


def _write_fields(screen: Screen, fields: Sequence[FieldChange], indent: str) -> None:
    arrow = "→" if screen.glyphs else "->"
    for each in fields:
        owners = f" (also owned by {', '.join(each.managers)})" if each.managers else ""
        screen.paragraph(f"{each.live} {arrow} {each.wanted}{owners}", f"{indent}  ", first=f"{indent}{each.field}: ")
