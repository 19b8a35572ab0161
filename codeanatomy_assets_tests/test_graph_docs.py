"""`docs/graph.md` and its picture say what the contracts say."""

from __future__ import annotations

from xml.etree import ElementTree

from codeanatomy_assets import graph_picture
from codeanatomy_assets.contracts.graph_kinds import EDGE_KINDS, NODE_KINDS
from codeanatomy_assets.contracts.graph_props import PROPS
from codeanatomy_assets.graph_docs import pages, render


def test_the_committed_pages_are_current() -> None:
    stale = [path.name for path, text in pages().items() if not path.is_file() or path.read_text("utf-8") != text]
    assert stale == [], f"{', '.join(stale)} out of date: run make docs"


def test_every_kind_has_a_section_with_source_and_row() -> None:
    sections = {section.split("\n")[0]: section for section in render().split("\n### ")[1:]}
    for kind in (*NODE_KINDS, *EDGE_KINDS):
        assert kind.doc in sections[kind.name]
        assert f"| `{kind.name}` |" in sections[kind.name]


def test_every_prop_has_a_line_with_source_and_value() -> None:
    lines = [line for line in render().splitlines() if line.startswith("| `")]
    for prop in PROPS:
        [_] = [line for line in lines if f"| `{prop.key}` | {prop.value_type} |" in line and prop.doc in line][:1]
    cells = {line.replace("\\|", "").count("|") for line in lines if " | string | " in line or " | json | " in line}
    assert cells == {8}


def test_the_picture_is_well_formed_and_shows_every_kind() -> None:
    texts = {element.text for element in ElementTree.fromstring(graph_picture.render()).iter() if element.text}
    assert {kind.name for kind in NODE_KINDS} <= texts
    assert {kind.name for kind in EDGE_KINDS} - {graph_picture.QUIET} <= texts
    placed = {label for column in graph_picture.COLUMNS for label in column}
    assert placed == {example.label for kind in NODE_KINDS for example in kind.examples}
