"""Recall: finding what was said earlier in the conversation, by its words, without a model.

index = Index()
index.add(source)                                          # one message
index.search("过敏", k=5, before=seq, now=ms)               # hits, best first
order = index.ranked("过敏", before=seq, now=ms)            # seqs, best first, for filling a budget
select(order, cost, room)                                  # those that fit, in the order of the conversation
"""

from __future__ import annotations

from .index import Hit, Index, texts_of
from .ranking import checked_half_life, interleave, select
from .terms import terms

__all__ = ["Hit", "Index", "checked_half_life", "interleave", "select", "terms", "texts_of"]
