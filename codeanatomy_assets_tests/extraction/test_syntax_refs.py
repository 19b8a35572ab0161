"""cst_name_refs: contexts, scopes that bind a name, usages and assignments."""

from __future__ import annotations

import pytest

from codeanatomy_assets.contracts.identity import REF
from codeanatomy_assets.contracts.syntax import CALLSITES, DEFS, NAME_REFS, TYPE_EXPRS
from codeanatomy_assets_tests.extraction.syntax_rows import FILE_ID, Row, all_rows, rows_of, the


def refs(source: str) -> list[Row]:
    return rows_of(source, NAME_REFS)


def found(source: str, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[column] for column in columns) for row in refs(source)]


def bindings(source: str, name: str) -> list[str]:
    """How each reference to a name is bound, in source order."""
    return [row["binding"] for row in refs(source) if row["name"] == name]


def binder(source: str, name: str, at: int = -1) -> str | None:
    """The local name of the definition that binds a reference."""
    rows = all_rows(source)
    ref = [row for row in rows[NAME_REFS.name] if row["name"] == name][at]
    scope_id = ref["binding_scope_id"]
    return the(rows[DEFS.name], def_id=scope_id)["local_qname"] if scope_id else None


def test_each_context_is_told_apart() -> None:
    source = "def f(p):\n    x = p.a(k=y)\n    x += 1\n    del x\n"
    assert found(source, "name", "context") == [
        ("p", "parameter"),
        ("x", "store"),
        ("p", "load"),
        ("a", "attribute"),
        ("k", "keyword"),
        ("y", "load"),
        ("x", "store"),
        ("x", "delete"),
    ]


def test_imports_and_definitions_have_no_reference_of_their_own() -> None:
    assert refs("import a.b as c\nfrom d import e\nfrom f import *\ndef g(): ...\nclass H: ...\nglobal z\n") == []


def test_a_chain_is_dotted_up_to_each_of_its_names() -> None:
    assert found("a.b.c\nf().x.y\n", "name", "dotted", "context") == [
        ("a", "a", "load"),
        ("b", "a.b", "attribute"),
        ("c", "a.b.c", "attribute"),
        ("f", "f", "load"),
        ("x", None, "attribute"),
        ("y", None, "attribute"),
    ]


def test_an_id_follows_the_contract_s_recipe() -> None:
    for row in refs("def f(x):\n    x.y; x.y\n    g().y\n    return x\nx = x\n"):
        text = row["dotted"] or row["name"]
        assert row["ref_id"] == REF.of(FILE_ID, row["scope_id"], row["context"], text, row["ordinal"])


def test_ordinals_count_in_source_order() -> None:
    rows = [row for row in refs("a().y.b().y.c().y\nf(lambda: x, x)[x](x)\n") if row["name"] in "xy"]
    groups: dict[tuple[object, ...], list[int]] = {}
    for row in rows:
        groups.setdefault((row["scope_id"], row["context"], row["name"]), []).append(row["ordinal"])
    assert all(ordinals == list(range(len(ordinals))) for ordinals in groups.values())


def test_local_enclosing_global_builtin_and_unresolved_names_are_told_apart() -> None:
    source = (
        "g = 1\ndef f(a):\n    b = 1\n    def h():\n        return a, b, c, g, len, nowhere\n    c = 1\n    return b\n"
    )
    assert bindings(source, "a") == ["local", "enclosing"]
    assert bindings(source, "b") == ["local", "enclosing", "local"]
    assert bindings(source, "c") == ["enclosing", "local"]
    assert bindings(source, "g") == ["global", "global"]
    assert bindings(source, "len") == ["builtin"]
    assert bindings(source, "nowhere") == ["unresolved"]
    assert binder(source, "a") == "f"


def test_a_comprehension_s_variable_is_its_own_and_its_first_iterable_is_read_outside() -> None:
    source = "x = 1\ny = [x for x in x if x for z in x]\nx\n"
    rows = [row for row in refs(source) if row["name"] == "x"]
    assert [row["binding"] for row in rows] == ["global", "local", "local", "global", "local", "local", "global"]


def test_a_class_body_is_not_seen_from_methods_and_comprehensions() -> None:
    source = "class C:\n    a = 1\n    b = a\n    c = [a for _ in a]\n"
    source += "    def m(self, d=a):\n        return a\n    e = lambda: a\n"
    assert bindings(source, "a") == ["class", "class", "unresolved", "class", "class", "unresolved", "unresolved"]


def test_global_and_nonlocal_bind_where_they_say() -> None:
    source = (
        "def f():\n    global g\n    g = 1\n    n = 1\n    def h():\n        nonlocal n\n        n = 2\n"
        "        return g\n    return n\ndef k():\n    return g\n"
    )
    assert bindings(source, "g") == ["global", "global", "global"]
    assert bindings(source, "n") == ["local", "enclosing", "local"]
    assert binder(source, "n", 1) == "f"


def test_match_patterns_bind_captures_and_read_classes_and_values() -> None:
    source = (
        "def f(s):\n    match s:\n"
        "        case [a, *b] | (a, *b): ...\n"
        "        case {'k': c, **d}: ...\n"
        "        case m.Point(e, y=g) as h if a: ...\n"
        "        case m.VALUE | -1 | None | 'x': ...\n"
        "        case str(): ...\n"
        "        case _: ...\n"
    )
    rows = refs(source)
    stored = [row["name"] for row in rows if row["context"] == "store"]
    assert stored == ["a", "b", "a", "b", "c", "d", "e", "g", "h"]
    assert [row["name"] for row in rows if row["context"] == "load"] == ["s", "m", "a", "m", "str"]
    assert [row["dotted"] for row in rows if row["context"] == "attribute"] == ["m.Point", "m.VALUE"]
    assert [row["name"] for row in rows if row["context"] == "keyword"] == ["y"]
    assert {row["binding"] for row in rows if row["context"] == "store"} == {"local"}


def test_type_parameters_are_scopes_of_functions_classes_and_aliases() -> None:
    source = "def f[T: int](x: T = T) -> T:\n    return T\n"
    assert bindings(source, "T") == ["local", "local", "unresolved", "local", "local"]
    assert binder(source, "T", 1) == binder(source, "T", -1) == "f"
    source = "class C[T](B[T]):\n    a: T\n    def m(self) -> T:\n        return T\nT\n"
    assert bindings(source, "T") == ["local", "local", "local", "local", "enclosing", "unresolved"]
    assert binder(source, "T", -2) == "C"
    source = "type X[*Ts] = tuple[*Ts]\nX\nTs\n"
    assert bindings(source, "Ts") == ["local", "local", "unresolved"]
    assert bindings(source, "X") == ["global", "global"]
    source = "class C:\n    K = 1\n    def m[T: K](self) -> K:\n        return K\n"
    assert bindings(source, "K") == ["class", "class", "class", "unresolved"]


def test_a_type_parameter_s_default_is_read_though_the_grammar_calls_it_an_error() -> None:
    source = "class A[U, T: int = str](B): ...\nclass C[T = int]: ...\n"
    assert [row["name"] for row in refs(source) if row["context"] == "store"] == ["U", "T", "T"]
    assert bindings(source, "int") == ["builtin", "builtin"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def f():\n    for x in y: x\n", "x"),
        ("def f():\n    with y as x: x\n", "x"),
        ("def f():\n    with (y as (x, z)): x\n", "x"),
        ("def f():\n    try: ...\n    except E as x: x\n", "x"),
        ("def f():\n    try: ...\n    except* (E, G) as x: x\n", "x"),
        ("def f():\n    if (x := y): x\n", "x"),
        ("def f():\n    x\n    del x\n", "x"),
        ("def f():\n    x: int\n    x\n", "x"),
        ("def f():\n    *x, y = z\n    x\n", "x"),
        ("def f():\n    (a, [x, b]) = z\n    x\n", "x"),
        ("def f():\n    async for x in y: x\n", "x"),
        ("def f():\n    x = y = z\n    x\n", "x"),
        ("def f(x, *a, **k): x\n", "x"),
        ("def f(*x): x\n", "x"),
        ("f = lambda x: x\n", "x"),
        ("def f():\n    return [x async for x in y]\n", "x"),
        ("def f():\n    return {x: v for x, v in y}\n", "x"),
    ],
)
def test_every_way_to_bind_makes_a_name_local(source: str, name: str) -> None:
    assert bindings(source, name) == ["local", "local"]


def test_a_walrus_in_a_comprehension_binds_around_it() -> None:
    source = "def f():\n    [w := x for x in y if [w for _ in w]]\n    return w\n"
    assert bindings(source, "w") == ["local"] * 4
    assert bindings("[w := x for x in y]\nw\n", "w") == ["global", "global"]


def test_an_import_binds_its_name_in_its_scope() -> None:
    source = "def f():\n    import a.b\n    from c import d as e\n    return a, b, d, e\n"
    assert [bindings(source, name)[0] for name in "abde"] == ["local", "unresolved", "unresolved", "local"]


def test_a_name_that_only_a_star_import_can_bring_stays_unresolved() -> None:
    assert bindings("from m import *\nf\nlen\n", "f") == ["unresolved"]


def test_headers_are_evaluated_in_the_scope_around() -> None:
    source = "x = 1\n@x\ndef f(x=x, y: x = lambda x=x: x) -> x: ...\nclass C(x, metaclass=x):\n    x = x\n"
    rows = [row for row in refs(source) if row["name"] == "x" and row["context"] == "load"]
    assert [row["binding"] for row in rows] == ["global"] * 4 + ["local", "global", "global", "global", "class"]


def test_names_in_f_strings_are_read_even_nested() -> None:
    source = "f'{a!r:>{b}} {c.d(e=1)} {[g for g in h]} {f\"{i}\"}' rf'{j}'\n"
    names = [row["name"] for row in refs(source)]
    assert names == ["a", "b", "c", "d", "e", "g", "g", "h", "i", "j"]


def test_quoted_annotations_and_type_comments_hold_no_names() -> None:
    assert [row["name"] for row in refs("def f(x: 'A', y): # type: (B) -> C\n    ...\n")] == ["x", "y"]


def test_module_and_class_names_that_python_sets_are_bound() -> None:
    source = "__name__\nclass C:\n    __qualname__\n    def m(self):\n        __file__\n        __class__\n"
    assert [row["binding"] for row in refs(source) if row["context"] == "load"] == [
        "global",
        "class",
        "global",
        "unresolved",
    ]


def test_names_that_nfkc_makes_equal_are_one_name_and_keep_their_spelling() -> None:
    assert found("def f():\n    ﬁ = 1\n    return fi\n", "name", "binding") == [("ﬁ", "local"), ("fi", "local")]


def test_callee_decorator_base_metaclass_and_annotation_name_what_they_belong_to() -> None:
    source = "@d.e\n@m.make(q)\nclass C(p.Base, Generic[T], metaclass=n.Meta):\n    x: o.Type[Arg] = r.s.call(v)\n"
    rows = all_rows(source)
    names = rows[NAME_REFS.name]
    class_id = the(rows[DEFS.name], name="C")["def_id"]
    annotation = the(rows[TYPE_EXPRS.name], role="variable")["type_expr_id"]
    calls = {row["callee_name"]: row["call_id"] for row in rows[CALLSITES.name]}
    expected = {
        "e": ("decorator", class_id),
        "make": ("callee", calls["make"]),
        "Base": ("base", class_id),
        "Generic": ("base", class_id),
        "Meta": ("metaclass", class_id),
        "Type": ("annotation", annotation),
        "Arg": ("annotation", annotation),
        "call": ("callee", calls["call"]),
    }
    for row in names:
        assert (row["usage"], row["usage_id"]) == expected.get(row["name"], ("value", None)), row


def test_an_assignment_from_a_chain_of_names_is_kept() -> None:
    source = "g = f\nh = mod.f\ni = j = a.b.c\nk: T = f\n(w := f)\nx = f()\ny, z = f, g\n"
    rows = {row["name"]: row for row in refs(source) if row["context"] == "store"}
    assert {name: row["assigned_from"] for name, row in rows.items()} == {
        "g": "f", "h": "mod.f", "i": "a.b.c", "j": "a.b.c", "k": "f", "w": "f", "x": None, "y": None, "z": None,
    }  # fmt: skip
    assert source[rows["h"]["assigned_bstart"] : rows["h"]["assigned_bend"]] == "f"


def test_an_assignment_through_type_of_self_is_no_type_alias() -> None:
    rows = all_rows("def f(self, v):\n    type(self).x = v\n    type (v)[0] = v\ntype X = int\n")
    assert [row["callee_text"] for row in rows[CALLSITES.name]] == ["type", "type"]
    assert [row["role"] for row in rows[TYPE_EXPRS.name]] == ["alias"]
    assert [row["name"] for row in rows[NAME_REFS.name]][2:5] == ["type", "self", "x"]
