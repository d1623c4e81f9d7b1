"""Start the operator for the integration tests, with one shorter interval.

`python -m integration.launch ARGUMENTS` runs `coxswain ARGUMENTS`. No watch reports a change of an object without the
operator's label, so each test of an adoption would wait for a minute.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from runpy import run_module

from coxswain import command_line
from coxswain.settings import Settings

NAME_INTERVAL_SECONDS = 5.0


def main() -> None:
    """Run the operator with the arguments of this process."""
    read = command_line.settings

    def shortened(arguments: Sequence[str], environment: Mapping[str, str], **named: str) -> Settings:
        found = read(arguments, environment, **named)
        return dataclasses.replace(found, taken_name_interval=NAME_INTERVAL_SECONDS)

    command_line.settings = shortened
    run_module("coxswain", run_name="__main__")


if __name__ == "__main__":
    main()
