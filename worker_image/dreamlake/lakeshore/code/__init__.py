"""Code on its way to workers: a git tree as an archive, pushed once for each commit, unpacked once for each machine."""

from __future__ import annotations

from dreamlake.lakeshore.code.archive import CodeArchive, archive_tree
from dreamlake.lakeshore.code.cache import CodeCache, CodeMount
from dreamlake.lakeshore.code.pushing import CodeStore, push_code
from dreamlake.lakeshore.code.unpacking import unpack

__all__ = ["CodeArchive", "CodeCache", "CodeMount", "CodeStore", "archive_tree", "push_code", "unpack"]
