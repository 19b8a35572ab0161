"""The table: every program, by the category whose edges it is for."""

from __future__ import annotations

from codeanatomy_assets_tests.calls.program import Program
from codeanatomy_assets_tests.calls.programs import (
    alias,
    callback_by_name,
    classmethod_staticmethod,
    closure,
    conditional_import,
    constructor,
    container,
    decorator,
    direct,
    imports,
    inherited,
    lambdas,
    method,
    nested,
    parameter,
    properties,
    reexport,
    returned,
    star,
    super_calls,
)

CATEGORIES: dict[str, tuple[Program, ...]] = {
    "direct": direct.PROGRAMS,
    "nested": nested.PROGRAMS,
    "method": method.PROGRAMS,
    "inherited": inherited.PROGRAMS,
    "super": super_calls.PROGRAMS,
    "constructor": constructor.PROGRAMS,
    "classmethod_staticmethod": classmethod_staticmethod.PROGRAMS,
    "property": properties.PROGRAMS,
    "decorator": decorator.PROGRAMS,
    "closure": closure.PROGRAMS,
    "lambda": lambdas.PROGRAMS,
    "alias": alias.PROGRAMS,
    "import": imports.PROGRAMS,
    "reexport": reexport.PROGRAMS,
    "star": star.PROGRAMS,
    "conditional_import": conditional_import.PROGRAMS,
    "callback_by_name": callback_by_name.PROGRAMS,
    "parameter": parameter.PROGRAMS,
    "container": container.PROGRAMS,
    "returned": returned.PROGRAMS,
}

ALL_PROGRAMS: tuple[Program, ...] = tuple(each for programs in CATEGORIES.values() for each in programs)
