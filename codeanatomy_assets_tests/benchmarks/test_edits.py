"""The benchmark's edits are what they say: one body, one signature, imports of one module, and valid Python."""

from __future__ import annotations

import ast

from benchmarks.edits import with_edited_body, with_new_parameter, with_renamed_imports

SOURCE = '''"""A module."""

def short(): return 1


class Thing:
    def act(
        self,
        größe: str = "ä",  # a comment, with a comma
        *rest: int,
        **named: object,
    ) -> str:
        """Act."""
        if rest:
            return "many"
        return größe
'''


def test_an_edited_body_has_one_line_more_and_the_same_signatures() -> None:
    edited = with_edited_body(SOURCE, 7)
    assert edited is not None
    added = [line for line in edited.split("\n") if line not in SOURCE.split("\n")]
    assert added == ["        edited_7 = len('edited')"]
    method = ast.parse(edited).body[2].body[0]  # type: ignore[attr-defined]
    assert [type(each).__name__ for each in method.body] == ["Expr", "If", "Assign", "Return"]


def test_a_module_without_a_body_to_edit_is_left() -> None:
    assert with_edited_body("def short(): return 1\nsize = 2\n", 1) is None


def test_a_new_parameter_is_the_last_positional_one_with_a_default() -> None:
    edited = with_new_parameter(SOURCE, "Thing.act", 3)
    method = ast.parse(edited).body[2].body[0]  # type: ignore[attr-defined]
    assert [each.arg for each in method.args.args] == ["self", "größe", "added_3"]
    assert [ast.unparse(each) for each in method.args.defaults] == ["'ä'", "None"]
    assert method.args.vararg.arg == "rest"


def test_only_lines_that_import_the_module_follow_its_new_name() -> None:
    source = "from .old import older\nimport package.old as old_one\nold = 'from old'\nfrom .older import x\n"
    expected = "from .new import older\nimport package.new as old_one\nold = 'from old'\nfrom .older import x\n"
    assert with_renamed_imports(source, "old", "new") == expected
