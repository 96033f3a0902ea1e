"""What a lane should do, in plain lists and dicts; and a strategy for what may be asked of one."""

from hypothesis import strategies as st

from lakeshore_controlplane.store.lane.port import Entry, LaneSizes, QueueKey, Taken

QUEUE = QueueKey("ns", "q:1")
IDS = ["a", "b", "a:b", "a/b", "01J", "01J.x", "z_", "z-", "0", "00", "00000000000000000001:a", "B"]
PRIORITIES = [0.0, -0.0, 1.0, -1.0, 0.1, 0.1 + 2**-56, 1e300, -1e300, 5e-324, 1.5]
KINDS = ["fifo", "priority", "filo", "boltzmann"]


class LaneModel:
    def __init__(self):
        self.clear()
        self.held = {}
        self.warm = False

    def clear(self):
        self.ready = {}
        self.waiting = {}

    def push(self, entries):
        for entry in entries:
            self.drop([entry.id])
            (self.ready if entry.attention_at is None else self.waiting)[entry.id] = entry

    def take(self, n, kind, now, until, drawn):
        """``drawn``: what a boltzmann lane gave; the model only checks that each could be given."""
        expired = sorted((t, i) for i, t in self.held.items() if t <= now)[:100]
        for _, one in expired:
            self.held[one] = now + 5.0
        ids = [one for _, one in expired]
        if not self.warm:
            return Taken([], ids, True)
        for entry in [entry for entry in self.waiting.values() if entry.attention_at <= now]:
            self.ready[entry.id] = self.waiting.pop(entry.id)
        taken = []
        while len(taken) < n and self.ready:
            if kind == "boltzmann":
                assert drawn, "an id was ready and was not drawn"
                chosen = drawn.pop(0)
                level = self.ready[chosen].priority
            else:
                level = max(entry.priority for entry in self.ready.values())
            line = sorted((e.order, e.id) for e in self.ready.values() if e.priority == level)
            first = line[-1 if kind == "filo" else 0][1]
            assert kind != "boltzmann" or first == chosen
            del self.ready[first]
            self.held[first] = until
            taken.append(first)
        return Taken(taken, ids, False)

    def hold(self, ids, until):
        self.drop(ids)
        self.held.update(dict.fromkeys(ids, until))

    def drop(self, ids):
        for one in ids:
            for place in (self.ready, self.waiting, self.held):
                place.pop(one, None)

    def begin(self):
        if not self.warm:
            self.clear()

    def sizes(self):
        return LaneSizes(len(self.ready), len(self.waiting), len(self.held))

    def next_due(self):
        times = [entry.attention_at for entry in self.waiting.values()] + list(self.held.values())
        return min(times, default=None)


TIMES = st.sampled_from([999.0, 1000.0, 1000.1, 1001.0, 1003.5, 1e300])
ENTRIES = st.builds(
    Entry,
    id=st.sampled_from(IDS),
    priority=st.sampled_from(PRIORITIES),
    order=st.sampled_from([0, 1, 2, 3, 10, 2**53 + 1, 2**63 - 1]),
    attention_at=st.none() | TIMES,
)
SOME_IDS = st.lists(st.sampled_from(IDS), max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.lists(ENTRIES, max_size=8)),
        st.tuples(
            st.just("take"),
            st.integers(0, 6),
            st.sampled_from(KINDS),
            st.sampled_from([1e-320, 0.05, 1.0, 50.0, 1e300, 1e308]),
            st.sampled_from([1000.0, 1000.5, 1004.0, 1010.0]),
            TIMES,
        ),
        st.tuples(st.just("hold"), SOME_IDS, TIMES),
        st.tuples(st.just("drop"), SOME_IDS),
        st.tuples(st.just("refill")),
        st.tuples(st.just("begin")),
        st.tuples(st.just("forget")),
    ),
    max_size=30,
)


async def ask(lane, step):
    """Ask a lane for one step; gives everything that can be seen of it afterwards."""
    name, *values = step
    answer = None
    if name == "push":
        await lane.push(QUEUE, values[0])
    elif name == "take":
        n, kind, temperature, now, until = values
        answer = await lane.take(QUEUE, n, kind=kind, temperature=temperature, now=now, held_until=until)
    elif name == "hold":
        await lane.hold(QUEUE, values[0], values[1])
    elif name == "drop":
        await lane.drop(QUEUE, values[0])
    elif name == "forget":
        await lane.forget(QUEUE)
    else:
        assert await lane.begin_refill(QUEUE, "me", 60)
        if name == "refill":
            await lane.end_refill(QUEUE, "me")
    return answer, await lane.sizes(QUEUE), await lane.next_due(QUEUE), await lane.is_warm(QUEUE)


def model_step(model, step, drawn):
    name, *values = step
    answer = None
    if name == "push":
        model.push(values[0])
    elif name == "take":
        n, kind, _, now, until = values
        answer = model.take(n, kind, now, until, drawn)
    elif name == "hold":
        model.hold(values[0], values[1])
    elif name == "drop":
        model.drop(values[0])
    elif name == "forget":
        model.__init__()
    else:
        model.begin()
        model.warm = model.warm or name == "refill"
    return answer, model.sizes(), model.next_due(), model.warm


async def follows_the_model(steps, *lanes):
    """Ask every lane for the same steps; all must answer as the model does."""
    model = LaneModel()
    for step in [("refill",), *steps]:
        answers = [await ask(lane, step) for lane in lanes]
        drawn = list(answers[0][0].ids) if step[0] == "take" else []
        expected = model_step(model, step, drawn)
        for answer in answers:
            assert answer == expected, step
