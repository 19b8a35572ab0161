"""The Dagster UI as a user meets it, in a real browser: graph, Materialize, the sensor's runs, lineage, a failed check.

The tests share one served project and build on each other's commits, in the order they stand here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets_tests.browser import chromium, faulty_command
from codeanatomy_assets_tests.browser.served_project import RUN_SECONDS, ServedProject, served_project
from codeanatomy_assets_tests.orchestration.test_served_ui import LOCATION

pytestmark = pytest.mark.slow

FILES = {
    "shop/prices.py": "def net(price):\n    return price\n\n\ndef gross(price):\n    return net(price) * 1.19\n",
    "shop/orders.py": "from shop.prices import gross\n\n\ndef total(prices):\n    return sum(map(gross, prices))\n",
    "shop/report.py": "from shop.orders import total\n\n\ndef report():\n    return total([1, 2])\n",
}
RENAMED = {
    "shop/prices.py": "def net(price):\n    return price\n\n\ndef with_tax(price):\n    return net(price) * 1.19\n"
}
CLICKS = 5
SETTLED_MILLISECONDS = 2_000
Saved = Callable[[str], None]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.launched(chromium.needed()) as browser:
        yield browser


@pytest.fixture(scope="module")
def project(browser: Browser) -> Iterator[ServedProject]:
    # A short name of its own: screenshots show it.
    with tempfile.TemporaryDirectory(prefix="shop-") as folder, served_project(Path(folder), FILES) as served:
        yield served


@pytest.fixture
def page(browser: Browser, project: ServedProject) -> Iterator[Page]:
    with chromium.opened(browser, project.address) as page:
        yield page


@pytest.fixture
def saved(page: Page, tmp_path: Path) -> Saved:
    return lambda name: chromium.save_screenshot(page, name, tmp_path)


def press_materialize(page: Page, asset: str) -> None:
    page.goto(f"/assets/{asset}")
    page.get_by_role("button", name="Materialize").first.click()


def expect_success(page: Page, project: ServedProject) -> None:
    """Of the run that the page says it launched, on the run's own page."""
    page.get_by_role("link", name="View", exact=True).click()
    page.wait_for_url("**/runs/*")
    ended = page.get_by_text(re.compile("^(Success|Failure|Canceled)$")).first
    expect(ended).to_be_visible(timeout=RUN_SECONDS * 1000)
    expect(ended).to_have_text("Success")
    assert project.runs()[0].run_id in page.url


def opened_markdown(page: Page, label: str) -> Locator:
    """The text behind a row's link. A page that is drawn anew under the click closes it again."""
    link = page.get_by_role("row").filter(has_text=re.compile(f"^{label}")).get_by_text("Show Markdown")
    shown = page.get_by_role("dialog")
    for _ in range(CLICKS):
        link.click()
        page.wait_for_timeout(SETTLED_MILLISECONDS)
        if shown.is_visible():
            break
    expect(shown).to_be_visible()
    return shown


def test_the_asset_graph_has_all_groups(page: Page, saved: Saved) -> None:
    page.goto("/asset-groups")
    # The graph is drawn to fit the page once, when it loads.
    page.get_by_text("Hide navigation").click()
    page.reload()
    for stage in Stage:
        named = re.compile(rf"^(\d+_)?{stage.value}$")
        expect(page.locator("foreignObject").filter(has_text=named)).to_be_visible()
    saved("asset_graph")


def test_materialize_on_an_asset_without_partitions_succeeds(page: Page, project: ServedProject, saved: Saved) -> None:
    press_materialize(page, "graph_commits")
    expect_success(page, project)
    saved("materialized_run")


def test_materialize_on_one_file_succeeds(page: Page, project: ServedProject, saved: Saved) -> None:
    press_materialize(page, "cst_defs")
    page.get_by_text("Select a partition or create one").click()
    offered = page.get_by_role("menuitem").filter(has_text=re.compile("^file_"))
    expect(offered).to_have_count(len(FILES))
    chosen = offered.first.locator("[title]").get_attribute("title")
    offered.first.click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("1 partition", exact=True)).to_be_visible()
    # Every dataset upstream knows the file: nothing warns of missing data.
    expect(page.get_by_text("Upstream data missing")).to_have_count(0)
    saved("materialize_dialog")
    page.get_by_role("button", name="Launch 1 run").click()
    expect_success(page, project)
    assert project.runs()[0].tags["dagster/partition"] == chosen


def test_a_commit_makes_the_sensor_run(page: Page, project: ServedProject, saved: Saved) -> None:
    before = project.runs()[0].run_id
    run = project.ended(project.repo.commit_files(RENAMED))
    assert (run.status, run.tags["dagster/sensor_name"]) == ("SUCCESS", "commit_sensor")
    assert run.run_id != before
    page.goto(f"/locations/__repository__@{LOCATION}/sensors/commit_sensor")
    page.get_by_role("button", name="Runs", exact=True).click()
    expect(page.get_by_role("link", name=run.run_id[:8])).to_be_visible()
    saved("sensor_run")


def test_the_impacted_files_of_the_commit_are_shown_with_their_reasons(
    page: Page, project: ServedProject, saved: Saved
) -> None:
    page.goto("/assets/inc_impacted_files?view=events")
    told = page.get_by_role("row")
    expect(told.filter(has_text=re.compile("^commit"))).to_contain_text(project.repo.commits[-1])
    shown = told.filter(has_text=re.compile("^reasons"))
    shown.scroll_into_view_if_needed()
    for text in ("changed_file", "import_name", "shop/prices.py changed", "shop/orders.py ←"):
        expect(shown).to_contain_text(text)
    saved("impacted_files")


@pytest.mark.parametrize(("asset", "name"), [("inc_impacted_files", "closure"), ("cpg_edges", "edges")])
def test_pictures_are_drawn(page: Page, project: ServedProject, saved: Saved, asset: str, name: str) -> None:
    page.goto(f"/assets/{asset}?view=events")
    picture = opened_markdown(page, name).locator("img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 200
    saved(name)


def test_the_columns_that_a_relationship_is_made_of_are_shown_with_the_asset(page: Page, saved: Saved) -> None:
    page.goto("/assets/rel_calls")
    told = opened_markdown(page, "column_origins").get_by_role("row").filter(has_text=re.compile("^via_id"))
    expect(told).to_contain_text("cst_callsites.call_id")
    saved("column_lineage")


def test_the_columns_that_a_relationship_is_made_of_are_in_its_materialization(
    page: Page, project: ServedProject
) -> None:
    page.goto(f"/runs/{project.runs()[0].run_id}?logs=Materialized value rel_calls.")
    page.get_by_text("View full message").click()
    told = page.get_by_role("dialog").last
    expect(told).to_contain_text("Materialized value rel_calls.")
    told.get_by_text("Show JSON").click()
    shown = page.get_by_role("dialog").last
    via_id = r'"columnName": "via_id",\s+"columnDeps": \[[^\]]*"cst_callsites"\s+\][^\]]*"columnName": "call_id"'
    expect(shown).to_contain_text(re.compile(via_id))


def test_a_check_that_failed_is_shown_with_the_rows_that_broke_it(
    page: Page, project: ServedProject, saved: Saved
) -> None:
    command = [sys.executable, "-m", faulty_command.__name__, "build", str(project.repo.folder), "--full"]
    done = subprocess.run(
        [*command, "--state", str(project.state)], capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    assert done.returncode == 1
    assert "cpg_edges: check dst_exists is broken" in done.stderr
    page.goto("/assets/cpg_edges?view=checks")
    page.get_by_text("contract", exact=True).first.click()
    expect(page.get_by_text("Failed", exact=True).first).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="dst_exists")).to_contain_text(faulty_command.NOWHERE)
    saved("failing_check")
