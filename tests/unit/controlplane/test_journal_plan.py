"""Which frames a journal takes, against a journal that is a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshore_controlplane.faults import Refused
from lakeshore_controlplane.services.journal_plan import Head, floor_after_trim, plan
from lakeshore_controlplane.store.mongo.journals import Row

FRAMES = st.lists(st.builds(Row, st.integers(-1, 6), st.just(b""), st.booleans()), max_size=6)


class Journal:
    """One frame after the other, as the rules say it."""

    def __init__(self):
        self.seqs = set()
        self.final = None

    def append(self, seq, final):
        if seq < 0 or (self.final is not None and seq > self.final):
            raise Refused("cannot follow")
        if final and any(there > seq for there in self.seqs):
            raise Refused("cannot be the last")
        self.seqs.add(seq)
        if final:
            self.final = seq


@given(FRAMES)
def test_frames_are_taken_and_refused_one_after_the_other(frames):
    journal, refused = Journal(), False
    try:
        for frame in frames:
            journal.append(frame.seq, frame.final)
    except Refused:
        refused = True
    if refused:
        with pytest.raises(Refused):
            plan("j", Head(), frames)
    else:
        assert plan("j", Head(), frames) == Head(max(journal.seqs, default=-1) + 1, 0, journal.final)


@given(FRAMES, st.integers(0, 6))
def test_a_batch_is_taken_like_its_parts(frames, cut):
    def outcome(*batches):
        head = Head()
        try:
            for batch in batches:
                head = plan("j", head, batch)
        except Refused as refused:
            return refused.message
        return head

    assert outcome(frames) == outcome(frames[:cut], frames[cut:])


@given(st.integers(0, 20), st.integers(0, 20), st.integers(-3, 30))
def test_a_trim_keeps_the_last_ones_and_never_gives_back(length, floor, keep):
    after = floor_after_trim(Head(max(length, floor), floor), keep)
    assert after >= floor
    assert max(length, floor) - after == min(max(length, floor) - floor, max(0, keep))
