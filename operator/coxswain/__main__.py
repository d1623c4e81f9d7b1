"""`python -m coxswain`: the operator of WebApps."""

from coxswain import command_line

DESCRIPTION = "Reconcile WebApps until SIGTERM."


def main() -> None:
    """Run the operator of WebApps."""
    command_line.run("coxswain.webapp.workload:WORKLOAD", program="coxswain", description=DESCRIPTION)


if __name__ == "__main__":
    main()
