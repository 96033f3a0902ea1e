"""``lakeshore submit``: submit a call of an importable function from the shell."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dreamlake.lakeshore.cli.opening import NamespaceOption, TokenOption, UrlOption, plane
from dreamlake.lakeshore.cli.output import JsonFlag, plain, print_json
from dreamlake.lakeshore.dispatch.plane import RunConfig
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.function.kinds import body_kind
from dreamlake.lakeshore.function.run_options import RunOptions, run_options
from dreamlake.lakeshore.function.udf import UDF
from dreamlake.lakeshore.queue import SyncQueue
from dreamlake.lakeshore.suggest import nearest

_FLAGS = {"timeout_s": "--run-timeout", "delay_s": "--delay", "priority": "--priority", "key": "--key"}


def submit(
    function: Annotated[
        str, typer.Argument(metavar="MODULE:FUNCTION", help="For example examples.hello:add.")
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARG|NAME=VALUE]...", help="Arguments: JSON where it is JSON, else text."),
    ] = None,
    queue: Annotated[
        str | None, typer.Option("--queue", metavar="NAME", help="Queue; a udf has one of its own.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the result and print it.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Seconds to --wait.")
    ] = 3600.0,
    key: Annotated[str | None, typer.Option("--key", metavar="TEXT", help="Submit once per key.")] = None,
    priority: Annotated[
        float | None, typer.Option("--priority", metavar="NUMBER", help="The higher the sooner.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option("--retries", metavar="N", min=0, help="Attempts after the first.")
    ] = None,
    timeout_s: Annotated[
        float | None,
        typer.Option("--run-timeout", metavar="SECONDS", help="Seconds that an attempt may run."),
    ] = None,
    delay_s: Annotated[
        float | None, typer.Option("--delay", metavar="SECONDS", help="Seconds before it may start.")
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Submit a call of an importable function and print its id."""
    found = _load(function)
    args, kwargs = parse_arguments(arguments or ())
    name = queue or _queue_of(found)
    options = _options(key, priority, retries, timeout_s, delay_s)
    with plane(url, token, namespace) as opened:
        target = SyncQueue(name, dispatch=opened)
        base = found.base_config() if isinstance(found, UDF) else RunConfig()
        try:
            inv_id = target.submit_call(found, tuple(args), kwargs, options.over(base))
        except TypeError as exc:  # the arguments do not fit the function
            raise ConfigError(f"{exc}: see its parameters") from exc
        if not wait:
            if as_json:
                print_json({"id": inv_id, "queue": name})
            else:
                typer.echo(inv_id)
            return
        typer.echo(f"submitted {inv_id} to queue {name}", err=True)
        with _cancelled_by_ctrl_c(target, inv_id, shared=options.over(base).key is not None):
            if _is_stream(found):
                for value in target.stream(inv_id, timeout=timeout):
                    _print_value(value, inv_id, as_json=as_json)
            value = target.result(inv_id, timeout=timeout)
    if as_json:
        print_json({"id": inv_id, "queue": name, "result": plain(value)})
    elif not _is_stream(found) or value is not None:
        typer.echo(value if isinstance(value, str) else repr(value))


@contextmanager
def _cancelled_by_ctrl_c(target: SyncQueue, inv_id: str, *, shared: bool) -> Iterator[None]:
    """Cancel the job that only this command waits for when it is interrupted; one with a key may be others' too."""
    try:
        yield
    except KeyboardInterrupt:
        if shared:
            typer.echo(f"{inv_id} goes on: it has a key, so others may wait for it", err=True)
        elif target.cancel(inv_id):
            typer.echo(f"{inv_id} is cancelled", err=True)
        raise


def _is_stream(found: Any) -> bool:
    return (found.kind if isinstance(found, UDF) else body_kind(found)) in ("generator", "async_generator")


def _print_value(value: Any, inv_id: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"id": inv_id, "value": plain(value)})
    else:
        typer.echo(value if isinstance(value, str) else repr(value))


def _options(
    key: str | None,
    priority: float | None,
    retries: int | None,
    timeout_s: float | None,
    delay_s: float | None,
) -> RunOptions:
    try:
        return run_options(key, priority, retries, timeout_s, None, delay_s, None)
    except ConfigError as exc:
        setting, space, rest = str(exc).partition(" ")  # the message begins with the setting's name in Python
        raise ConfigError(f"{_FLAGS.get(setting, setting)}{space}{rest}") from exc


def parse_arguments(words: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Split words into positional and named arguments; ``name=value`` is named when ``name`` is an identifier."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            if name in kwargs:
                raise ConfigError(f"argument {name} is given twice: give it once")
            kwargs[name] = _value(value)
        elif kwargs:
            raise ConfigError(f"argument {word!r} follows a named one: put positional arguments first")
        else:
            args.append(_value(word))
    return args, kwargs


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _load(path: str) -> Any:
    module_name, colon, qualname = path.partition(":")
    if not (colon and module_name and qualname):
        raise ConfigError(
            f"{path!r}: name the function as MODULE:FUNCTION, for example my_project.jobs:train"
        )
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    found: Any = _import(module_name)
    module = found
    for part in qualname.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as exc:
            near = nearest(qualname, [name for name in dir(module) if not name.startswith("_")])
            hint = near if near.endswith("?") else ""
            raise ConfigError(f"module {module_name} has no {qualname}{hint}") from exc
    if not callable(found):
        raise ConfigError(f"{path} is not a function")
    return found


def _import(module_name: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except (Exception, SystemExit) as exc:  # it runs the module's code, which may raise anything
        hint = ": run this where the module lies" if isinstance(exc, ImportError) else ""
        raise ConfigError(f"cannot import {module_name}: {type(exc).__name__}: {exc}{hint}") from exc


def _queue_of(found: Any) -> str:
    bound = getattr(found, "queue", None) if isinstance(found, UDF) else None
    if bound is None:
        raise ConfigError("the function has no queue: give --queue NAME")
    return bound if isinstance(bound, str) else str(bound.name)
