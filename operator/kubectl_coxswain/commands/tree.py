"""`tree`: a WebApp with everything that belongs to it."""

from kubectl_coxswain.find import webapp_of
from kubectl_coxswain.owned import ALL, read, tree
from kubectl_coxswain.reports import TreeReport
from kubectl_coxswain.session import Arguments, Session
from kubectl_coxswain.tree_text import write_tree


def run(session: Session, arguments: Arguments) -> int:
    """Show the tree of one WebApp."""
    webapp = webapp_of(session.kubectl, arguments.name)
    found, notes = read(session.kubectl, webapp, ALL)
    metadata = webapp["metadata"]
    report = TreeReport(metadata["namespace"], metadata["name"], tree(webapp, found, everything=True), notes)
    session.show("Tree", report, lambda: write_tree(session.screen, report.tree, session.now()))
    session.tell(report.notes)
    return 0
