"""`python -m example`: the operator of ScheduledTasks."""

from coxswain import command_line

if __name__ == "__main__":
    command_line.run(
        "example.scheduled_task:WORKLOAD", program="example", description="Reconcile ScheduledTasks until SIGTERM."
    )
