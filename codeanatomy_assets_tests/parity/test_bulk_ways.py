"""The limits by which a build goes the ways of large repositories are there, and come back."""

from codeanatomy_assets_tests.parity.bulk_ways import LIMITS, bulk_ways


def test_nothing_is_small_within_the_block_and_everything_is_as_it_was_after_it() -> None:
    before = [getattr(module, name) for module, name in LIMITS]
    with bulk_ways():
        assert {getattr(module, name) for module, name in LIMITS} == {0}
    assert [getattr(module, name) for module, name in LIMITS] == before
    assert 0 not in before
