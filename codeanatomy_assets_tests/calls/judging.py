"""Judging a graph's call edges by the table of programs: precision and recall of each category, and what is wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from codeanatomy_assets_tests.calls.program import Edge, Program, Tree

# What these ask for, names and types decide: all of it must be found, and nothing wrong.
STRICT = ("direct", "import", "constructor", "inherited", "super", "reexport")

Found = Mapping[str, Iterable[tuple[Program, Collection[Edge]]]]


@dataclass(frozen=True)
class Score:
    """A category's edges: right ones, wrong ones, and missed ones."""

    right: frozenset[Edge]
    wrong: frozenset[Edge]
    missed: frozenset[Edge]

    @property
    def precision(self) -> float:
        """The right ones' share of those found; a tolerated edge counts as neither right nor wrong."""
        return len(self.right) / (len(self.right) + len(self.wrong)) if self.right or self.wrong else 1.0

    @property
    def recall(self) -> float:
        return len(self.right) / (len(self.right) + len(self.missed)) if self.right or self.missed else 1.0


def combined_tree(programs: Iterable[Program]) -> Tree:
    """All programs in one repository, each its own top-level package: one build serves them all."""
    tree: Tree = {}
    for each in programs:
        taken = tree.keys() & each.files.keys()
        assert not taken, f"two programs are named {each.package}: {sorted(taken)}"
        tree |= each.files
    return tree


def found_by_category(categories: Mapping[str, Iterable[Program]], edges: Iterable[Edge]) -> Found:
    """The edges of a build of the combined tree, dealt out to the programs whose definitions call."""
    by_package: defaultdict[str, set[Edge]] = defaultdict(set)
    for caller, callee in edges:
        by_package[caller.partition(".")[0]].add((caller, callee))
    return {
        category: [(each, frozenset(by_package[each.package])) for each in programs]
        for category, programs in categories.items()
    }


def scores(found: Found) -> dict[str, Score]:
    return {category: _score(judged) for category, judged in found.items()}


def _score(judged: Iterable[tuple[Program, Collection[Edge]]]) -> Score:
    right: set[Edge] = set()
    wrong: set[Edge] = set()
    missed: set[Edge] = set()
    for each, edges in judged:
        right |= each.wanted & set(edges)
        wrong |= set(edges) - each.wanted - each.tolerated
        missed |= each.wanted - set(edges)
    return Score(frozenset(right), frozenset(wrong), frozenset(missed))


def printable(by_category: Mapping[str, Score]) -> str:
    """A line for each category, then one for all."""
    lines = [f"{'category':<26}{'precision':>10}{'recall':>8}{'right':>7}{'wrong':>7}{'missed':>8}"]
    for category, score in [*by_category.items(), ("all", _total(by_category.values()))]:
        name = f"{category} (strict)" if category in STRICT else category
        counts = f"{len(score.right):>7}{len(score.wrong):>7}{len(score.missed):>8}"
        lines.append(f"{name:<26}{score.precision:>10.3f}{score.recall:>8.3f}{counts}")
    return "\n".join(lines)


def _total(each: Iterable[Score]) -> Score:
    right, wrong, missed = zip(*((score.right, score.wrong, score.missed) for score in each), strict=True)
    return Score(frozenset().union(*right), frozenset().union(*wrong), frozenset().union(*missed))


def mistakes(by_category: Mapping[str, Score], categories: Iterable[str] = STRICT) -> list[str]:
    """One line per wrong or missed edge of these categories; none means that they are as they must be."""
    return [
        f"{category}: {what} {caller} -> {callee}"
        for category in categories
        for what, edges in (("wrong", by_category[category].wrong), ("missed", by_category[category].missed))
        for caller, callee in sorted(edges)
    ]
