"""Summarisers: what turns a stretch of messages into a few statements, and what checks their answers.

Here is what works without a model: `Extractive`, which quotes, and the wrapper around a caller's own function.
"""

from __future__ import annotations

from .base import CallableSummarizer, Summarizer, accept, fit, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..types import Source, Summary

__all__ = ["CallableSummarizer", "Summarizer", "accept", "fit", "ground", "resolve"]


def ground(summary: Summary, sources: list[Source], previous: Summary | None) -> tuple[Summary, int]:
    """See grounding.ground; imported when first used, as its patterns cost memory."""
    from .grounding import ground as checked

    return checked(summary, sources, previous)
