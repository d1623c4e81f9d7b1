"""The commands, one module each with a function `run(session, arguments) -> exit code`. Imported on demand."""
