"""Logs as one JSON object a line. Nothing secret and no payload is ever handed to a logger here."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

_FIELDS = ("invocation_id", "worker_id", "queue", "namespace", "route", "status", "duration_ms")


class JsonLines(logging.Formatter):
    """``{"at", "level", "logger", "message", ...}`` with what ``extra`` named of invocation, worker, queue, route."""

    def format(self, record: logging.LogRecord) -> str:
        """Give one line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        line: dict[str, Any] = {
            "at": at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({name: getattr(record, name) for name in _FIELDS if hasattr(record, name)})
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up(level: str, style: str) -> None:
    """Send all logs to standard error, as JSON lines or as text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonLines()
        if style == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("pymongo").setLevel(logging.WARNING)
    logging.getLogger("botocore").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").disabled = True
