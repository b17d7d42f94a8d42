"""From scores to an order, and from an order to what fits: time decay, rankings taken in turn, greedy filling."""

from __future__ import annotations

from ..errors import OptionError, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["DECAY_FLOOR", "aged", "best", "checked_half_life", "interleave", "select"]

DECAY_FLOOR = 0.5
"""What time leaves of a score at the least. Age breaks ties between equal matches; it must not bury the only match."""


def checked_half_life(half_life: float | None) -> float | None:
    """The half-life in ms, None for no decay. Raises OptionError unless it is None or a number above 0."""
    if half_life is None:
        return None
    if isinstance(half_life, bool) or not isinstance(half_life, (int, float)) or not half_life > 0:
        raise OptionError(f"half_life is {brief(half_life)}; allowed: ms above 0, or None for no decay")
    return float(min(half_life, 1e300))  # an int may be larger than any float


def aged(scores: dict[int, float], times: Sequence[int], now: int, half_life: float | None) -> dict[int, float]:
    """The scores of places in `times`, each times its decay: 1 now, 0.75 after one half-life, 0.5 at last.

    times, now, half_life: ms. What comes from the future (clocks jump) counts as new. `half_life` has passed
    checked_half_life; None changes nothing.
    """
    if half_life is None:
        return scores
    rest = 1.0 - DECAY_FLOOR
    return {
        place: score * (DECAY_FLOOR + rest * 2.0 ** ((times[place] - now) / half_life)) if times[place] < now else score
        for place, score in scores.items()
    }


def best(scores: dict[int, float], limit: int) -> list[int]:
    """The `limit` highest keys by score, best first; of equal scores the newest (highest) first."""
    found: Iterable[int] = scores
    if len(scores) > limit:
        least = sorted(scores.values(), reverse=True)[limit - 1]
        found = [key for key, score in scores.items() if score >= least]
    return sorted(found, key=lambda key: (-scores[key], -key))[:limit]


def interleave(rankings: Sequence[Sequence[int]]) -> list[int]:
    """One entry of each ranking in turn, what came before left out, until all are used up."""
    seen: set[int] = set()
    out: list[int] = []
    for place in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking) and ranking[place] not in seen:
                seen.add(ranking[place])
                out.append(ranking[place])
    return out


def select(order: Iterable[int], cost: Callable[[int], int], room: int, *, misses: int = 30) -> list[int]:
    """The seqs of `order` that fit into `room` tokens, taken by rank, in ascending order.

    What doesn't fit is skipped for something smaller further down; after `misses` such skips it ends, and so does it
    when nothing is left of the room. `cost` is asked once for each seq that is looked at. A seq is taken once.
    """
    taken: set[int] = set()
    for seq in order:
        if room <= 0:
            break
        if seq in taken:
            continue
        price = cost(seq)
        if price <= room:
            room -= price
            taken.add(seq)
        else:
            misses -= 1
            if misses <= 0:
                break
    return sorted(taken)
