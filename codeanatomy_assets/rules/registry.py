"""Which rules there are: every module in the definitions folder that has a RULE. Adding a rule is adding a file.

Finding them neither parses their SQL nor imports sqlglot: compiling is for those who run or fingerprint them.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.rules import definitions
from codeanatomy_assets.rules.rule import Rule, RuleError, check_examples


def all_rules() -> tuple[Rule, ...]:
    """All rules, in the order of their names."""
    return _discovered(tuple(definitions.__path__))


def tables() -> tuple[Table, ...]:
    """The datasets of all rules, in the same order."""
    return tuple(rule.table for rule in all_rules())


def rule(name: str) -> Rule:
    for each in all_rules():
        if each.name == name:
            return each
    raise KeyError(f"no rule {name}; known: {', '.join(each.name for each in all_rules())}")


@cache
def _discovered(folders: tuple[str, ...]) -> tuple[Rule, ...]:
    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(folders):
        declared = getattr(import_module(f"{definitions.__name__}.{module.name}"), "RULE", None)
        if not isinstance(declared, Rule):
            raise RuleError(module.name, "its module has no RULE; one module of the folder declares one rule")
        if declared.name != module.name:
            raise RuleError(declared.name, f"stands in {module.name}.py; name the module after the rule")
        check_examples(declared)
        found[declared.name] = declared
    return tuple(found[name] for name in sorted(found))
