"""Bodies of the control plane's routes: a full valid one for each model, and what a hostile client makes of it."""

import copy

import msgpack

VALUES = {
    "append_id": "append-number-1",
    "accept_result_ref": True,
    "ack": 1,
    "again": True,
    "acks": [{"invocation_id": "inv-1", "state": "failed", "error": {"type": "E", "message": "m"}}],
    "admission": {"max_depth": 5, "on_full": "reject", "rate_limit": {"rate": 5, "burst": 5}},
    "after": {"workers": 1},
    "args_blob": b"args",
    "atomic": False,
    "attempt": 1,
    "before": {"workers": 0},
    "bytes": b"frame",
    "capabilities": {"gpu": True},
    "code_context": {"code_repo_id": "0" * 40},
    "claim_id": "claim-number-1",
    "commit": "0" * 40,
    "concurrency": 1,
    "correlation_id": "together",
    "crashed": False,
    "data": {"why": "so"},
    "delay_s": 0.5,
    "dirty": False,
    "elasticity": {"min": 0},
    "error": {"type": "E", "message": "m", "traceback": "t"},
    "expires_in_s": 60.0,
    "final": False,
    "frames": [[None, b"frame", False]],
    "function": {"module": "m", "name": "f"},
    "host": "here",
    "ids": ["inv-1", "inv-2"],
    "invocation_id": "inv-1",
    "journal": "inv-1",
    "keep_last": 1,
    "key": "once",
    "kind_params": {},
    "lease_s": 30.0,
    "legacy_lease_s": 60.0,
    "machine_id": "m-1",
    "max": 1,
    "max_bytes": 1000,
    "older_than_s": 1e8,
    "parent_invocation_id": "inv-0",
    "pid": 1,
    "queue": "q",
    "queues": ["q"],
    "reason": "because",
    "remote": "https://example.org/a.git",
    "report_id": "report-1",
    "result_blob": b"result",
    "retention_s": 60.0,
    "retry": False,
    "run_config": {
        "queue": "q",
        "priority": 1.5,
        "key": "once",
        "retries": 2,
        "timeout_s": 5.0,
        "deadline": 4e9,
        "delay_s": 0.5,
        "backoff": {"base_s": 0.5, "cap_s": 5.0},
        "prefix": "p",
        "of-our-own": {"a": [1]},
    },
    "runners": ["run"],
    "scopes": ["producer"],
    "seq": 1,
    "sha256": "0" * 64,
    "since": -1,
    "size": 10,
    "started_at": 5.0,
    "tags": ["a"],
    "temperature": 1.0,
    "timeout_s": 0.01,
    "topics": {"done": None},
    "wait_s": 0.01,
    "watch": "watch-number-1",
    "worker_id": "w-1",
    "written_at": 4e9,
}
"""A good value for each field name that the models have."""
ONLY = {
    "Ack": {"state": "succeeded"},
    "AckItem": {"state": "succeeded"},
    "Event": {"kind": "note"},
    "Hello": {"state": "active"},
    "NewElasticityEvent": {"kind": "tick_noop"},
    "NewNamespace": {"name": "red"},
    "NewQueue": {"name": "declared", "kind": "fifo"},
    "NewToken": {"name": "t"},
    "Poll": {"kind": "fifo"},
    "QueueChanges": {"kind": "fifo"},
    "QueueDeclaration": {"kind": "fifo"},
    "QueueStateChange": {"state": "active"},
    "Count": {"state": "queued"},
}
"""Good values of names that mean something else in each model."""
LEFT_OUT = {
    "Ack": {"result_ref"},
    "AckItem": {"result_ref"},
    "Cancel": {"ids"},
    "Poll": {"queues"},
    "ResultChunk": {"frames"},
    "Submit": {"args_ref"},
}
"""Fields that exclude another one, or need something that is there."""


def full_body(model):
    """A valid body with every field of the model that has a good value here."""
    name = model.__name__
    found = {}
    for field in model.model_fields:
        if field in LEFT_OUT.get(name, ()):
            continue
        if field == "items":
            found[field] = [full_body(model.model_fields[field].annotation.__args__[0])]
        else:
            value = good_value(name, field)
            if value is not KeyError:
                found[field] = copy.deepcopy(value)
    model.model_validate(found)
    return found


def good_value(name, field):
    """The good value of a model's field; ``KeyError`` where there is none yet."""
    return ONLY.get(name, {}).get(field, VALUES.get(field, KeyError))


def unknown_fields(model):
    """The fields of a model that no good value is known for."""
    known = {"items", *LEFT_OUT.get(model.__name__, ())}
    return [
        field
        for field in model.model_fields
        if field not in known and good_value(model.__name__, field) is KeyError
    ]


def deep(levels, kind=list):
    """Nest lists or maps."""
    found = kind()
    for _ in range(levels):
        found = [found] if kind is list else {"a": found}
    return found


ODD = [
    None,
    True,
    0,
    -1,
    2**31,
    2**53,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
    -(2**63),
    1.5,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "\U0010ffff",
    "é",
    "\u202e",
    "a/b",
    "../../etc/passwd",
    "a" * 129,
    "a" * 513,
    "a" * 70_000,
    "$where",
    "a.b",
    "{red}",
    "red/inv-1",
    "*",
    "\r\nX-Evil: 1",
    "%00",
    b"",
    b"\xff\x00",
    b"a" * 70_000,
    [],
    [None],
    [[]],
    ["a", 1, None, b"b"],
    ["inv-1"] * 3,
    [float("nan")],
    [2**64 - 1],
    [[0, b"x", False]],
    [[2**63, b"x", False]],
    [[-(2**63), b"x", True]],
    [[0, None, 0]],
    {},
    {"$gt": ""},
    {"$ne": None},
    {"$where": "1"},
    {"a": {"$set": 1}},
    {"a.b": 1},
    {"": 1},
    {"\0": 1},
    {"\ud800": 1},
    {"a": "\ud800"},
    {"a": float("inf")},
    {"a": 2**64 - 1},
    {"a" * 70_000: 1},
    {"_id": 1, "namespaceId": "blue", "state": "running", "workerId": "me"},
    {"__proto__": {"a": 1}},
    {"k" + str(n): n for n in range(2000)},
    deep(70),
    deep(70, dict),
    deep(500),
    deep(500, dict),
    msgpack.ExtType(5, b"x" * 40),
    msgpack.ExtType(127, b""),
    msgpack.Timestamp(2**33, 5),
    {"a": msgpack.ExtType(1, b"")},
]
"""What may stand in place of any value."""


def places(body, at=()):
    """Every place in a body, as the keys that lead to it."""
    yield at
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in items:
        yield from places(value, (*at, key))


def put(body, place, value):
    """A copy of the body with another value at a place."""
    if not place:
        return value
    found = copy.deepcopy(body)
    inner = found
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return found


def without(body, place):
    """A copy of the body without a place."""
    found = copy.deepcopy(body)
    inner = found
    for key in place[:-1]:
        inner = inner[key]
    del inner[place[-1]]
    return found
