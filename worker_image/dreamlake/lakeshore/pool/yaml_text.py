"""YAML text to plain values, with every mistake said in one line that names the place."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import yaml

from dreamlake.lakeshore.errors import ConfigError

_LONGEST = 400


def fault(where: str, message: str) -> ConfigError:
    """Make the error for a place in a file: one line, and not a long one, whatever the file holds."""
    line = " ".join(message.split())
    return ConfigError(f"{where}: {line if len(line) <= _LONGEST else line[:_LONGEST] + '...'}")


def documents(text: str, where: str) -> Iterator[Any]:
    """Give the documents that are not blank. Raises ``ConfigError`` with line and column."""
    try:
        yield from [raw for raw in yaml.load_all(text, _Loader) if raw is not None]
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise fault(f"{where}{at}", f"not valid YAML: {exc.problem or exc.context}") from exc
    except yaml.reader.ReaderError as exc:
        before = text[: exc.position].split("\n")
        at = f":{len(before)}:{len(before[-1]) + 1}"
        raise fault(f"{where}{at}", f"not valid YAML: a character that is not text: {exc.reason}") from exc
    except RecursionError as exc:
        raise fault(where, "not a queue.yaml: nested too deeply") from exc
    except (yaml.YAMLError, ValueError, OverflowError) as exc:
        raise fault(where, f"not valid YAML: {exc}") from exc


class _Loader(yaml.SafeLoader):
    """The safe loader, as strict as Kubernetes: a name twice is an error, a date is text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key.value!r} is there twice", key.start_mark
                )
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else "")
        return super().construct_mapping(node, deep)


def _as_text(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _as_text)
