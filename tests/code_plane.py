"""A plane that keeps code, as a control plane does, on SQLite and a folder: for workers and producers of one test."""

import json
from pathlib import Path

from dreamlake.lakeshore import Dispatch
from dreamlake.lakeshore.errors import RefusedError


class CodeKeepingPlane(Dispatch):
    """``Dispatch`` on ``folder/dispatch.sqlite`` that is not local, with archives in ``folder/code-repos``."""

    local = False

    def __init__(self, folder):
        super().__init__(Path(folder) / "dispatch.sqlite")
        self.repos = Path(folder) / "code-repos"
        self.repos.mkdir(exist_ok=True)
        self.code_scope = f"file://{folder}"
        self.refusing = False

    def announce_code(self, *, remote, commit, dirty, size, sha256):
        if self.refusing:
            raise RefusedError("this server has no blob store, so it keeps no code")
        self._note("announced")
        return {"code_repo_id": commit, "exists": (self.repos / commit).exists()}

    def upload_code(self, code_repo_id, data, upload):
        self._note("uploaded")
        (self.repos / code_repo_id).write_bytes(data)

    def fetch_code(self, code_repo_id):
        self._note("fetched")
        try:
            return (self.repos / code_repo_id).read_bytes()
        except FileNotFoundError:
            raise RefusedError(f"no code repository {code_repo_id!r}") from None

    def _note(self, what):
        with (self.repos.parent / "notes.jsonl").open("a") as notes:
            notes.write(json.dumps(what) + "\n")

    def notes(self):
        path = self.repos.parent / "notes.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
