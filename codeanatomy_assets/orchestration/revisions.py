"""Which built commits are meant: by id or its first digits, by a name that git knows, or by a range of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.extraction.git_history import GitRepository
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.ledger import SHORTEST_ABBREVIATION, LedgerRow
from codeanatomy_assets.storage.state_folder import StateFolder

RANGE = ".."
MOST_COMMITS_NAMED = 8


def built_commits(settings: Settings, which: str | None) -> list[LedgerRow]:
    """The ledger's rows that `REV` or `A..B` stands for; of a commit that was built again, the newest."""
    if which is None or RANGE not in which:
        return [built_commit(settings, which)]
    older, _, newer = which.partition(RANGE)
    if newer.startswith("."):
        raise BadInput(f"{which} has three dots: write A..B for the commits built after A, up to B")
    last = built_commit(settings, newer or None)
    rows = [row for row in open_ledger(settings).kept_rows() if row.sequence <= last.sequence]
    begins = 0
    if older:
        after = built_commit(settings, older)
        begins = max((row.sequence for row in rows if row.commit == after.commit), default=after.sequence)
    newest = {row.commit: row for row in rows}
    found = sorted((row for row in newest.values() if row.sequence > begins), key=lambda row: row.sequence)
    if not found:
        order = "was built after" if begins > last.sequence else "is"
        raise BadInput(
            f"nothing was built in {which}: {older} {order} {newer or short(last.commit)}; write older..newer"
        )
    return found


def built_commit(settings: Settings, revision: str | None) -> LedgerRow:
    """The newest row of a built commit: by its id or first digits, or by a name that the repository knows."""
    ledger = open_ledger(settings)
    rows = ledger.rows()
    if not rows or revision is None or _is_built(revision, rows):
        return ledger.resolve(revision)
    commit = _named_in_git(settings, revision)
    if commit in {row.commit for row in rows}:
        return ledger.resolve(commit)
    meant = f"{revision} is {short(commit)}, which" if commit else f"commit {revision}"
    known = list(dict.fromkeys(short(row.commit) for row in reversed(ledger.kept_rows())))
    further = ", …" if len(known) > MOST_COMMITS_NAMED else ""
    raise BadInput(f"{meant} is not built: built are {', '.join(known[:MOST_COMMITS_NAMED])}{further} (newest first)")


def _is_built(revision: str, rows: Iterable[LedgerRow]) -> bool:
    """Whether these are digits of a built commit: fewer than the ledger takes may be a branch's name."""
    return len(revision) >= SHORTEST_ABBREVIATION and any(row.commit.startswith(revision) for row in rows)


def _named_in_git(settings: Settings, revision: str) -> str | None:
    owner = StateFolder(settings.state).owner()
    if owner is None or owner.get("kind") == "folder":
        return None
    try:
        return GitRepository.open(Path(owner["repository"])).resolve(revision)
    except BadInput:
        return None
