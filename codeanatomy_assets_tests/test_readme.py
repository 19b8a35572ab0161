"""What README and docs say of settings, commands and files is what there is."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path

import pytest

from codeanatomy_assets import __version__, cli
from codeanatomy_assets.settings import PREFIX, Settings

TOP = Path(__file__).parents[1]
REFERENCE = (TOP / "docs" / "reference.md").read_text(encoding="utf-8")
PLACES = ("*.md", "docs/**/*.md", "benchmarks/*.md")
PAGES = sorted(page.relative_to(TOP) for place in PLACES for page in TOP.glob(place))


def table_of(heading: str) -> dict[str, list[str]]:
    """The rows of the reference's table with this heading, by what stands in code at their beginning."""
    lines = REFERENCE.split(heading, 1)[1].split("\n\n", 1)[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| `")]
    return {row[0].strip("` "): row[1:] for row in rows}


def commands() -> dict[str, argparse.ArgumentParser]:
    choices = next(action for action in cli._parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(choices.choices)


def told_default(setting: Field[object]) -> Iterator[str]:
    """A default that can be written down: not one that the machine decides, nor an empty one."""
    default = setting.default
    if default is not MISSING and default != "":
        yield f"`{f'{default:g}' if isinstance(default, float) else str(default).lower()}`"


def test_the_table_of_settings_has_all_of_them_with_their_defaults() -> None:
    told = table_of("| variable | default | meaning |")
    assert sorted(told) == sorted(PREFIX + each.name.upper() for each in fields(Settings))
    for each in fields(Settings):
        for default in told_default(each):
            assert told[PREFIX + each.name.upper()][0] == default, each.name


def test_the_table_of_commands_has_all_of_them_and_only_options_that_there_are() -> None:
    told = table_of("| command | does |")
    by_name = {line.split()[1]: cells for line, cells in told.items()}
    assert set(by_name) == set(commands())
    for name, parser in commands().items():
        there = {option for action in parser._actions for option in action.option_strings if option.startswith("--")}
        named = set(re.findall(r"`(--[a-z-]+)", by_name[name][0]))
        assert named == there - {"--help", "--state"}, name


def test_every_command_says_what_it_does_and_shows_how() -> None:
    for name, parser in commands().items():
        told = parser.format_help()
        assert f"  codeanatomy {name} " in f"{told}\n".replace("\n", " \n"), name
        assert parser.description


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_to_files(page: Path) -> None:
    text = (TOP / page).read_text(encoding="utf-8")
    targets = {target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target}
    assert [target for target in targets if target and not (TOP / page.parent / target).exists()] == []


def test_the_version_is_the_same_everywhere() -> None:
    declared = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert declared == __version__
    assert f"{__version__}\n" in (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
