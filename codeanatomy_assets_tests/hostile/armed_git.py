"""Traps in a repository's git folder: every hook and every setting that names a program, each to touch a canary."""

from __future__ import annotations

from pathlib import Path

from codeanatomy_assets_tests.git_repositories import GitRepo

HOOKS = (
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "post-merge",
    "fsmonitor-watchman",
)


def arm(repo: GitRepo, canary: Path) -> None:
    """Every setting that names a program, each set to touch the canary."""
    program = canary.parent / "touch-canary"
    program.write_text(f"#!/bin/sh\ntouch '{canary}'\ncat\n")
    program.chmod(0o755)
    for folder in (repo.folder / ".git" / "hooks", canary.parent / "hooks"):
        folder.mkdir()
        for hook in HOOKS:
            (folder / hook).symlink_to(program)
    for name in (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy"),
        *("core.alternateRefsCommand", "gpg.program", "credential.helper", "diff.external", "sequence.editor"),
        *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.command", "diff.evil.textconv"),
        *("uploadpack.packObjectsHook", "remote.origin.uploadpack", "pager.rev-list", "interactive.diffFilter"),
    ):
        repo.run("config", name, str(program))
    repo.run("config", "core.hooksPath", str(canary.parent / "hooks"))
    repo.run("config", "log.showSignature", "true")
    repo.run("config", "alias.rev-parse", f"!{program}")
