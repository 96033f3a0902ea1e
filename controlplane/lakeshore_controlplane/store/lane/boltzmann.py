"""The draw of a boltzmann queue in memory; ``lua/boltzmann.lua`` says the same for Redis, and explains it."""

from __future__ import annotations

import math
from collections.abc import Callable, MutableSequence
from dataclasses import dataclass
from typing import Protocol

Ranked = tuple[float, str]
"""(score, member); the lowest comes first."""

_DEEPEST = 40
_AFTER_ALL = "~"
_MODULUS = 2_147_483_647

SEEDS = range(1, _MODULUS)
"""What a draw may be seeded with."""


class Ranking(Protocol):
    """What is ready, in order."""

    def __len__(self) -> int: ...
    def __getitem__(self, rank: int) -> Ranked: ...

    def bisect_left(self, value: Ranked) -> int:
        """How many come before ``value``."""
        ...

    def pop(self, rank: int) -> Ranked:
        """Remove and give the one at ``rank``."""
        ...


@dataclass(slots=True)
class _Band:
    fold: int
    first: int
    count: int

    @property
    def weight(self) -> float:
        return self.count * math.exp(-self.fold)


def pop_boltzmann(ready: Ranking, n: int, temperature: float, seed: int) -> list[str]:
    """Draw and remove up to ``n`` members; ``seed`` is one of ``SEEDS``."""
    random = _generator(seed)
    popped: list[str] = []
    bands: list[_Band] = []
    top = 0.0
    while len(popped) < n and ready:
        if not bands or not bands[0].count:
            top = ready[0][0]
            bands = _survey(ready, top, temperature)
        chosen, score = _draw_level(ready, bands, top, temperature, random)
        popped.append(ready.pop(ready.bisect_left((score, "")))[1])
        bands[chosen].count -= 1
        for band in bands[chosen + 1 :]:
            band.first -= 1
    return popped


def _generator(seed: int) -> Callable[[], float]:
    state = seed

    def random() -> float:
        nonlocal state
        state = state * 48271 % _MODULUS
        return state / _MODULUS

    return random


def _survey(ready: Ranking, top: float, temperature: float) -> list[_Band]:
    bands: list[_Band] = []
    rank = 0
    while rank < len(ready):
        score = ready[rank][0]
        folds = (score - top) / temperature
        if folds >= _DEEPEST + 1:
            break
        fold = math.floor(folds)
        upper = top + (fold + 1) * temperature
        bound = (upper, "") if upper > score else (score, _AFTER_ALL)
        count = ready.bisect_left(bound) - rank
        bands.append(_Band(fold, rank, count))
        rank += count
    return bands


def _draw_band(bands: MutableSequence[_Band], random: Callable[[], float]) -> int:
    weights = [band.weight for band in bands]
    mass = 0.0
    for weight in weights:
        mass += weight
    point = random() * mass
    for index, weight in enumerate(weights):
        point -= weight
        if point < 0:
            return index
    return 0


def _draw_level(
    ready: Ranking, bands: MutableSequence[_Band], top: float, temperature: float, random: Callable[[], float]
) -> tuple[int, float]:
    while True:
        chosen = _draw_band(bands, random)
        band = bands[chosen]
        score = ready[band.first + math.floor(random() * band.count)][0]
        if random() < math.exp(band.fold - (score - top) / temperature):
            return chosen, score
