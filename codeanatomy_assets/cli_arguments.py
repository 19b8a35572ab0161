"""What the commands share: kinds of arguments, the state, and the layout of help texts."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

from codeanatomy_assets.settings import Settings, from_environment

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Number = TypeVar("Number", int, float)


def at_least(kind: type[Number], least: Number) -> Callable[[str], Number]:
    """A number of this kind that is not less; for argparse, which tells what is wrong with it."""

    def number(text: str) -> Number:
        given = kind(text)
        if not given >= least:
            raise argparse.ArgumentTypeError(f"{text} is too little: {least} is the least")
        return given

    # By its name argparse tells of a text that is no number.
    number.__name__ = kind.__name__
    return number


def add_command(commands: Commands, name: str, does: str, told: str = "") -> argparse.ArgumentParser:
    """A command with what all have: one line for the list, the same as its description, the state, and examples."""
    parser = commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
        epilog=told,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--state", type=Path, metavar="DIR", help="state folder (default: $CODEANATOMY_STATE, or .codeanatomy here)"
    )
    return parser


def add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait",
        type=at_least(float, 0),
        metavar="SECONDS",
        help="how long to wait for another run (default: $CODEANATOMY_LOCK_WAIT_SECONDS, or not at all)",
    )


def settings_of(told: argparse.Namespace) -> Settings:
    return from_environment(state=told.state)
