"""Collector of cst_name_refs: every name read, bound, deleted, declared, passed as keyword or exported.

Choices: an import clause and a definition's own name have no row here (cst_imports and cst_defs have
them); `x += 1` is one store; a name that only a star import can bring is `unresolved`, its candidates
are the call's; a comprehension's variable is `local` to the definition around it; inside annotations
the last name of each chain is an `annotation`, those before it and a call's arguments are values.
"""

from __future__ import annotations

from operator import itemgetter

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.extraction.syntax_exports import export_references
from codeanatomy_assets.extraction.syntax_facts import OrdinalIds, Row
from codeanatomy_assets.extraction.syntax_walk import Walk

_NOT_ASSIGNED = (None, None, None)


def name_ref_rows(walk: Walk) -> list[Row]:
    """Rows in source order. The longest table by far, so each step counts."""
    references = walk.references + export_references(walk)
    references.sort(key=itemgetter(0))
    file_id = walk.file_id
    take = OrdinalIds(identity.REF, file_id).take
    rows: list[Row] = []
    for bstart, bend, scope, name, dotted, context, usage, usage_id, assigned in references:
        scope_id = scope.def_id
        ref_id, ordinal = take((scope_id, context), dotted or name)
        if context == "attribute" or context == "keyword":
            binding, binding_scope_id = "member", None
        else:
            binding, _, binding_scope_id = scope.bindings.get(name) or scope.binding(name)
        chain, chain_bstart, chain_bend = assigned or _NOT_ASSIGNED
        rows.append(
            (
                file_id,
                ref_id,
                scope_id,
                name,
                dotted,
                context,
                binding,
                binding_scope_id,
                usage,
                usage_id,
                chain,
                chain_bstart,
                chain_bend,
                ordinal,
                bstart,
                bend,
            )
        )
    return rows
