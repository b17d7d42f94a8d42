"""Which messages a summary covers: a set of seqs as sorted intervals. A long turn's question can lie before its
summarised rounds, so it is not always one stretch."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Covered"]


class Covered:
    """Sorted, disjoint, inclusive intervals of seqs."""

    __slots__ = ("intervals",)

    def __init__(self, intervals: Iterable[tuple[int, int]] = ()) -> None:
        self.intervals = list(intervals)

    def add(self, first: int, last: int) -> None:
        """Adds first..last; what touches or overlaps becomes one interval."""
        before = [i for i in self.intervals if i[1] < first - 1]
        after = [i for i in self.intervals if i[0] > last + 1]
        same = self.intervals[len(before) : len(self.intervals) - len(after)]
        if same:
            first, last = min(first, same[0][0]), max(last, same[-1][1])
        self.intervals = [*before, (first, last), *after]

    def add_seqs(self, seqs: list[int], without: Iterable[int] = ()) -> None:
        """Adds a stretch given by its ascending seqs, gaps included, but for the seqs `without`."""
        if not seqs:
            return
        start = seqs[0]
        for out in sorted(w for w in without if seqs[0] <= w <= seqs[-1]):
            if out > start:
                self.add(start, out - 1)
            start = out + 1
        if start <= seqs[-1]:
            self.add(start, seqs[-1])

    def cut(self, after: int) -> None:
        """Forgets every seq greater than `after`."""
        self.intervals = [(a, min(b, after)) for a, b in self.intervals if a <= after]

    def copy(self) -> Covered:
        """An equal one that changes apart."""
        return Covered(self.intervals)

    @property
    def last(self) -> int:
        """The greatest seq covered, 0 when there is none."""
        return self.intervals[-1][1] if self.intervals else 0

    def __contains__(self, seq: int) -> bool:
        return any(a <= seq <= b for a, b in reversed(self.intervals))

    def __eq__(self, other: object) -> bool:
        return self.intervals == other.intervals if isinstance(other, Covered) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Covered {self.intervals}>"
