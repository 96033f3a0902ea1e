"""How a function is turned into the ``fn`` field of an envelope."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import math
import pickle
import sys

import pytest

from dreamlake.lakeshore.errors import ConfigError, TransportError
from dreamlake.lakeshore.transport import INLINE_PICKLE_LIMIT, function_arm, is_importable, resolve
from dreamlake.lakeshore.wire import Envelope, pack, unpack

MODULE = """
import functools

OFFSET = 10

def helper(x):
    return x + OFFSET

def topk(x):
    return helper(x)

def deco(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*args)
    return wrapper

@deco
def decorated(x):
    return x * 2

class Scorer:
    @staticmethod
    def static(x):
        return x

    @classmethod
    def named(cls, x):
        return cls.__name__, x

    def method(self, x):
        return self, x

    def __call__(self, x):
        return x

    class Inner:
        @staticmethod
        def deep(x):
            return x

class Sub(Scorer):
    pass

by_lambda = lambda x: x + 1

def make(n):
    def inner(x):
        return x + n
    return inner

def gone(x):
    return x
saved = gone
del gone
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A user's module on the path, under a name of its own per test."""
    name = f"user_pkg_{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:12]}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


class Holder:
    """What a UDF is to the transport."""

    def __init__(self, fn, transport="auto"):
        self.fn, self.transport = fn, transport
        functools.update_wrapper(self, fn)


def run(arm, *args):
    carried = Envelope.from_bytes(Envelope("ID", arm, pack([]), pack({})).to_bytes()).fn
    return resolve(carried, allow_pickled=True)(*args)


def test_an_importable_function_is_shipped_by_reference(module):
    arm = function_arm(module.topk)
    assert set(arm) == {"kind", "module", "qualname", "src_hash"}
    assert (arm["kind"], arm["module"], arm["qualname"]) == ("ref", module.__name__, "topk")
    assert run(arm, 1) == 11


@pytest.mark.parametrize(
    "path", ["Scorer.static", "Scorer.named", "Scorer.Inner.deep", "decorated", "Scorer"]
)
def test_nested_names_and_decorated_functions_are_found_by_reference(module, path):
    fn = functools.reduce(getattr, path.split("."), module)
    arm = function_arm(fn)
    assert (arm["kind"], arm["qualname"]) == ("ref", path)
    assert resolve(arm) == fn


@pytest.mark.parametrize(
    "make, reason",
    [
        (lambda m: m.by_lambda, "lambda"),
        (lambda m: m.make(3), "inside a function"),
        (lambda m: m.Scorer(), "without a name"),
        (lambda m: functools.partial(m.topk, 1), "without a name"),
        (lambda m: m.Scorer().method, "bound to an instance of Scorer"),
        (lambda m: m.Sub.named, "inherits"),
        (lambda m: m.saved, "has no gone"),
    ],
)
def test_what_cannot_be_imported_is_pickled_or_refused(module, make, reason):
    fn = make(module)
    assert not is_importable(fn)
    assert function_arm(fn)["kind"] == "pickle"
    with pytest.raises(TransportError, match=f"{reason}.*importable|{reason}.*import"):
        function_arm(fn, "ref")


def test_a_function_of_main_is_pickled(module, monkeypatch):
    monkeypatch.setattr(module.topk, "__module__", "__main__")
    arm = function_arm(module.topk)
    assert (arm["kind"], arm["qualname"]) == ("pickle", "topk")
    with pytest.raises(TransportError, match="__main__"):
        function_arm(module.topk, "ref")


def test_an_inherited_class_method_keeps_its_class(module):
    assert run(function_arm(module.Sub.named), 5) == ("Sub", 5)
    assert run(function_arm(module.Scorer.named), 5) == ("Scorer", 5)


def test_a_closure_carries_what_it_closes_over(module):
    assert run(function_arm(module.make(3)), 4) == 7


def test_a_pickled_arm_has_the_documented_fields():
    arm = function_arm(lambda x: x + 1)
    assert list(arm) == ["kind", "blob", "hash", "source", "qualname", "where", "runtime"]
    assert arm["hash"] == "sha256:" + hashlib.sha256(arm["blob"]).hexdigest()
    assert "lambda x: x + 1" in arm["source"]
    assert "<lambda>" in arm["qualname"]
    assert f"({__file__}:" in arm["where"]
    assert set(arm["runtime"]) == {"python", "impl", "cloudpickle", "pickle_protocol", "platform"}
    assert unpack(pack(arm)) == arm


def test_a_snapshot_of_an_importable_function_needs_no_module_on_the_worker(module):
    arm = function_arm(module.topk, "pickle")
    del sys.modules[module.__name__]
    sys.path_importer_cache.clear()
    sys.path.remove(next(place for place in sys.path if place in module.__file__))
    assert run(arm, 1) == 11


def test_an_installed_function_is_pickled_by_its_name():
    arm = function_arm(json.dumps, "pickle")
    assert len(arm["blob"]) < 200
    assert run(arm, [1]) == "[1]"
    assert run(function_arm(math.sqrt, "pickle"), 9) == 3


def test_each_pickle_is_a_snapshot_of_that_moment():
    state = [1]

    def body():
        return list(state)

    first = function_arm(body)
    state.append(2)
    assert run(function_arm(body)) == [1, 2]
    assert run(first) == [1]


def test_a_blob_up_to_the_limit_passes_and_a_larger_one_says_what_to_do():
    def capture(size):
        data = b"\0" * size
        return lambda: len(data)

    small = len(function_arm(capture(1000))["blob"]) - 1000
    room = INLINE_PICKLE_LIMIT - small - 16
    assert run(function_arm(capture(room))) == room
    with pytest.raises(
        TransportError, match=r"limit of 32 KiB: it captures data\. Pass the data as arguments"
    ):
        function_arm(capture(INLINE_PICKLE_LIMIT))


def test_what_cannot_be_pickled_is_named_with_the_way_out():
    import threading

    lock = threading.Lock()
    with pytest.raises(TransportError, match=r"cannot pickle .*<lambda> \(.*lock.*pass it as an argument"):
        function_arm(lambda: lock)


def test_a_holder_ships_its_function_in_its_own_way(module):
    assert function_arm(Holder(module.topk))["kind"] == "ref"
    assert function_arm(Holder(module.topk, "pickle"))["kind"] == "pickle"
    assert function_arm(Holder(module.topk, "pickle"), "ref")["kind"] == "ref"


def test_the_hash_is_that_of_the_undecorated_function(module):
    assert function_arm(module.decorated)["src_hash"] == function_arm(Holder(module.decorated))["src_hash"]
    assert function_arm(module.decorated)["src_hash"] != function_arm(module.deco)["src_hash"]


def test_changing_a_returned_arm_does_not_change_the_next(module):
    function_arm(module.topk)["src_hash"] = "x"
    assert function_arm(module.topk)["src_hash"] != "x"


def test_a_built_in_has_no_source_hash():
    assert function_arm(len) == {"kind": "ref", "module": "builtins", "qualname": "len", "src_hash": None}


def test_what_cannot_be_called_and_unknown_transports_are_refused():
    with pytest.raises(TransportError, match="int cannot be called"):
        function_arm(3)
    with pytest.raises(ConfigError, match="auto, ref, pickle"):
        function_arm(len, "value")


def test_the_inline_pickle_is_protocol_5():
    assert function_arm(lambda: 1)["blob"][:2] == pickle.PROTO + b"\x05"
