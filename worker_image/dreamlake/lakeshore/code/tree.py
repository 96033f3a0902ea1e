"""What git says about a folder: its tree, its commit, where it comes from, and which files belong to it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from dreamlake.lakeshore.errors import ConfigError

_LIMIT_S = 120.0
_SUBMODULE = "160000"
_MOVED = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
)
"""Set inside hooks and aliases, where they would point every call at another tree."""


class Tree(NamedTuple):
    """A git tree. ``head``: its commit, None before the first. ``files``: relative POSIX paths, sorted, that exist."""

    root: Path
    remote: str
    head: str | None
    dirty: bool
    files: list[str]


def read_tree(path: Path) -> Tree:
    """Read the tree that ``path`` lies in. Raises ``ConfigError`` when there is none, or no git."""
    root = tree_root(path)
    head = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", allow_failure=True).strip()
    changes = _git(root, "status", "--porcelain", "-z", "--untracked-files=all").split("\0")
    dirty = any(change and not _is_compiled(change) for change in changes) or not head
    files = sorted(name for name in _files(root) if os.path.lexists(root / name))
    return Tree(root, _remote(root), head or None, dirty, files)


def tree_root(path: Path) -> Path:
    """Give the top folder of the tree that ``path`` lies in. Raises ``ConfigError``."""
    return Path(_git(path, "rev-parse", "--show-toplevel").removesuffix("\n")).resolve()


def _files(root: Path) -> set[str]:
    """List what is tracked, and what is not and not ignored; of submodules and nested trees too."""
    found: set[str] = set()
    nested: set[str] = set()
    for entry in _git(root, "ls-files", "-z", "--stage").split("\0"):
        facts, _, name = entry.partition("\t")
        if name:
            (nested if facts.startswith(_SUBMODULE) else found).add(name)
    for name in _git(root, "ls-files", "-z", "--others", "--exclude-standard").split("\0"):
        if name:
            (nested if name.endswith("/") else found).add(name.rstrip("/"))
    for name in nested:
        if (root / name / ".git").exists():  # else it was never checked out
            found |= {f"{name}/{inner}" for inner in _files(root / name)}
    return {name for name in found if not _is_compiled(name)}


def _is_compiled(name: str) -> bool:
    """Tell Python's own traces: they say nothing new, and a stale one would be run for its source."""
    return "__pycache__/" in name or name.endswith((".pyc", ".pyo"))


def _remote(root: Path) -> str:
    """Give the remote's URL without user and password, or a name of our own for a tree that has none."""
    names = _git(root, "remote").split()
    if not names:
        return f"local:{root.name}"
    name = "origin" if "origin" in names else names[0]
    url = _git(root, "config", "--get", f"remote.{name}.url", allow_failure=True).strip()
    return without_password(url) if url else f"local:{root.name}"


def without_password(url: str) -> str:
    """Take user and password out of a URL; ``git@host:path`` holds none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "unreadable:"
    if not parts.scheme or "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _git(folder: Path, *words: str, allow_failure: bool = False) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in _MOVED}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        ran = subprocess.run(
            ["git", "-C", os.fspath(folder), *words],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=environment,
            timeout=_LIMIT_S,
        )
    except FileNotFoundError:
        raise ConfigError("pushing code needs git, which is not on PATH: install it") from None
    except subprocess.TimeoutExpired:
        raise ConfigError(f"git {words[0]} in {folder} did not end within {_LIMIT_S:g} s") from None
    if ran.returncode and not allow_failure:
        raise ConfigError(_explained(folder, words, os.fsdecode(ran.stderr)))
    return os.fsdecode(ran.stdout)


def _explained(folder: Path, words: tuple[str, ...], said: str) -> str:
    if not folder.is_dir():
        return f"{folder} is not a folder: give one inside a git tree"
    if "not a git repository" in said:
        return (
            f"{folder} is in no git tree, so its code cannot be pushed: run `git init` there (and commit), "
            "or start the workers where the code is"
        )
    reason = next((line for line in said.splitlines() if line.startswith("fatal")), said.strip()[:200])
    return f"git {words[0]} failed in {folder}: {reason}"
