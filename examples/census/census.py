"""Bodies of the demo: a census of Python source files."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dreamlake.lakeshore as dls

_BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.BoolOp, ast.IfExp, ast.comprehension)


@dls.udf(queue="census")
def measure(path: str) -> dict[str, Any]:
    """Parse one source file and count what is in it."""
    source = Path(path).read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as exc:  # the library ships a few files that are wrong on purpose
        return {"path": path, "lines": source.count(b"\n"), "unparsed": str(exc)}
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    longest = max(functions, key=_length, default=None)
    return {
        "path": path,
        "lines": source.count(b"\n"),
        "functions": len(functions),
        "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
        "branches": sum(isinstance(node, _BRANCHES) for node in nodes),
        "longest": None if longest is None else {"name": longest.name, "lines": _length(longest)},
    }


@dls.udf(queue="census")
def record_holders(paths: list[str]) -> Iterator[dict[str, Any]]:
    """Read files one by one and yield each function that is longer than all before it."""
    best = 0
    for path in paths:
        found = measure.local(path).get("longest")
        if found and found["lines"] > best:
            best = found["lines"]
            yield {"path": path, **found}


@dls.udf(queue="census")
def slow_walk(paths: list[str], pause_s: float) -> dict[str, int]:
    """Count the lines of a few files, slowly: a job long enough to lose its worker in the middle."""
    lines = 0
    for path in paths:
        lines += Path(path).read_bytes().count(b"\n")
        time.sleep(pause_s)
    return {"files": len(paths), "lines": lines, "attempt": dls.run.attempt}


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
