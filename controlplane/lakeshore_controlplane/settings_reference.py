"""Every setting as a table in Markdown, made from ``Settings``.

``python -m lakeshore_controlplane.settings_reference`` prints it; with docs/operations.md as its argument it puts it
there, between two marks.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from lakeshore_controlplane.settings import Settings

BEGIN = "<!-- settings: made by python -m lakeshore_controlplane.settings_reference -->"
END = "<!-- end of settings -->"
_UNITS = ((1 << 20, "MiB"), (1 << 10, "KiB"))


def settings_table() -> str:
    """Give a row for each setting: its variable, its default, its meaning."""
    rows = [_row(name, field) for name, field in Settings.model_fields.items()]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows]) + "\n"


def with_table(page: str) -> str:
    """Give a page with the table of now between its marks. Raises ``ValueError`` where they are not."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n{settings_table()}{END}{after}"


def _row(name: str, field: FieldInfo) -> str:
    meaning = " ".join((field.description or "").split())
    return f"| `LAKESHORE_{name.upper()}` | {_shown(name, field.default)} | {meaning} |"


def _shown(name: str, default: Any) -> str:
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    if default is None or default == "":
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, int) and name.endswith("_limit"):
        size, unit = next((size, unit) for size, unit in _UNITS if default % size == 0)
        return f"`{default}` ({default // size} {unit})"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        where = Path(sys.argv[1])
        where.write_text(with_table(where.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(settings_table())
