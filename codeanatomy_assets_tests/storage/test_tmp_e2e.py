from codeanatomy_assets_tests.states import BuiltState
def test_build(built: BuiltState) -> None:
    a=built.commit({"a.py":"x=1\n","b.py":"def f(): ...\n"}); print(a["mode"], a["versions"])
    b=built.build(); assert b["mode"]=="noop"
    c=built.commit({"a.py":"x=2\n"}); print(c["mode"], c["versions"]); assert c["mode"]=="incremental" and c["changed"]
