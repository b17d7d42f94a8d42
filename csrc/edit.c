/* edit.c - changes to records that are already in a message store: cost, pins, rewind. */
#include "store_internal.h"

/* ------------------------------------------------------------------------------------------------ changing records */

static hm_record *find(hm_store *s, uint64_t seq)
{
    return (hm_record *)(uintptr_t)hm_store_find(s, seq);
}

/* A record that the prompt shows costs `tokens` instead of what it did. */
static void change_cost(hm_store *s, hm_record *r, uint32_t tokens)
{
    hm_totals *t = &s->totals;
    const bool in_window = r->where == HM_IN_RING && r->seq >= hm_at(s, s->start)->seq && s->start != s->end;
    uint64_t *sum = r->flags & HM_HEAD ? &t->head_tokens : in_window ? &t->window_tokens : &t->kept_tokens;
    const bool apart = (r->flags & HM_HEAD) || r->where != HM_IN_RING;
    if (in_window || apart) {
        *sum = *sum - r->tokens + tokens;
        if (hm_is_pinned(r) && !(r->flags & HM_HEAD))
            t->pinned_tokens = t->pinned_tokens - r->tokens + tokens;
    } else {
        t->outside_tokens = t->outside_tokens - r->tokens + tokens;
    }
    r->tokens = tokens;
    const uint64_t same = r->flags & HM_HEAD ? 0 : t->head_tokens; /* what surely stands before this record */
    if (s->stable_tokens > same)
        s->stable_tokens = same;
}

/* A record was hidden or is shown again: another group may be the newest shown one. */
static void refresh_newest(hm_store *s)
{
    uint64_t p = s->end;
    while (p != s->base && !hm_opens_group(hm_at(s, p - 1)))
        p--;
    s->newest_pos = p != s->base ? p - 1 : HM_NONE;
}

hm_status hm_store_set_cost(hm_store *s, uint64_t seq, uint32_t tokens, uint32_t fingerprint, unsigned flags)
{
    hm_record *r = find(s, seq);
    if (!r)
        return HM_ENOENT;
    const unsigned settable = HM_DEAD | HM_HIDDEN;
    const bool flips = ((r->flags ^ flags) & HM_HIDDEN) != 0;
    /* A window that starts inside a turn needs the user record of that turn before it. */
    if (flips && !(flags & HM_HIDDEN) && r->in_turn && r->where == HM_IN_RING && s->start != s->end &&
        r->seq >= hm_at(s, s->start)->seq && !find(s, r->seq - r->turn))
        return HM_ENOENT;
    if (!flips && hm_shown(r))
        change_cost(s, r, tokens);
    r->tokens = tokens;
    r->fingerprint = fingerprint;
    r->flags = (uint8_t)((r->flags & ~settable) | (flags & settable));
    if (flips) {
        refresh_newest(s);
        hm_reframe(s, s->start);
    }
    return HM_OK;
}

/* All records but the head's in order of seq: those that kept owns, then the ring's. */
static size_t owned_count(const hm_store *s)
{
    size_t n = 0;
    while (s->head_count + n < s->kept_count && s->kept[s->head_count + n].record.where == HM_OWNED)
        n++;
    return n;
}

static hm_record *nth(hm_store *s, size_t owned, size_t i)
{
    return i < owned ? &s->kept[s->head_count + i].record : hm_at(s, s->base + (i - owned));
}

void hm_refresh_turn_pins(hm_store *s)
{
    const size_t owned = owned_count(s), count = owned + (size_t)(s->end - s->base);
    for (size_t i = 0; i < count; i++)
        nth(s, owned, i)->flags &= (uint8_t)~HM_TURN_PINNED;
    for (size_t i = 0; i < count; i++) {
        const hm_record *r = nth(s, owned, i);
        hm_record *user = (r->flags & HM_PINNED) && r->in_turn && r->turn ? find(s, r->seq - r->turn) : NULL;
        if (user)
            user->flags |= HM_TURN_PINNED;
    }
}

/* The group of a record: its first record and one behind its last one, as indices for nth. Hidden records may lie between.
 * *first is no opener when the begin of the group has left memory. */
static void group_range(hm_store *s, const hm_record *found, size_t *first, size_t *last)
{
    const size_t owned = owned_count(s);
    const size_t at = found->where == HM_OWNED
                          ? (size_t)((const hm_kept *)(const void *)found - s->kept) - s->head_count
                          : owned + (size_t)(hm_position_after(s, found->seq) - 1 - s->base);
    /* Only a pinned group can lie in both places; else what is on the other side is another group's. */
    const bool pinned = (found->flags & HM_PINNED) != 0;
    const size_t least = at >= owned && !pinned ? owned : 0;
    const size_t count = at < owned && !pinned ? owned : owned + (size_t)(s->end - s->base);
    *first = at;
    while (*first > least && !hm_opens_group(nth(s, owned, *first)))
        --*first;
    *last = at + 1;
    while (*last < count && !hm_opens_group(nth(s, owned, *last)))
        ++*last;
}

void hm_pin_group(hm_store *s, const hm_record *found, bool pinned)
{
    const uint64_t tokens = s->totals.kept_tokens + s->totals.window_tokens;
    const uint64_t records = s->totals.kept_records + s->totals.window_records;
    const size_t owned = owned_count(s);
    size_t first, last;
    group_range(s, found, &first, &last);
    for (size_t i = first; i < last; i++) {
        hm_record *r = nth(s, owned, i);
        if (i == first || (r->flags & HM_JOIN))
            r->flags = (uint8_t)(pinned ? r->flags | HM_PINNED : r->flags & ~(unsigned)HM_PINNED);
    }
    hm_refresh_turn_pins(s);
    hm_reframe(s, s->start);
    const uint64_t records_now = s->totals.kept_records + s->totals.window_records;
    if (records_now < records) { /* not by tokens: a record may cost nothing */
        s->totals.evicted_tokens += tokens - s->totals.kept_tokens - s->totals.window_tokens;
        s->totals.evicted_records += records - records_now;
    }
}

hm_status hm_store_pin(hm_store *s, uint64_t seq, bool pinned)
{
    hm_record *found = find(s, seq);
    if (!found || (found->flags & HM_HIDDEN))
        return HM_ENOENT;
    if (found->flags & HM_HEAD)
        return HM_EINVAL;
    if (((found->flags & HM_PINNED) != 0) == pinned)
        return HM_OK;
    if (pinned) {
        size_t first, last;
        group_range(s, found, &first, &last);
        const bool whole = hm_opens_group(nth(s, owned_count(s), first));
        if (!whole || (found->in_turn && !hm_store_find(s, seq - found->turn)))
            return HM_ENOENT; /* what would have to stay with it has left memory */
        const hm_status status = hm_reserve_kept(s, s->protected_in_ring + (last - first) + 2);
        if (status != HM_OK)
            return status;
        found = find(s, seq); /* kept may have moved */
    }
    hm_pin_group(s, found, pinned);
    return HM_OK;
}

/* ------------------------------------------------------------------------------------------------ advance */

hm_status hm_store_advance(hm_store *s, uint64_t seq)
{
    const uint64_t after = hm_position_after(s, seq);
    if (after == s->base || hm_at(s, after - 1)->seq != seq || after - 1 < s->start)
        return HM_ENOENT;
    if (s->newest_pos == HM_NONE || after - 1 > s->newest_pos || !hm_opens_group(hm_at(s, after - 1)))
        return HM_EINVAL;
    const uint64_t start = after - 1;
    if (start == s->start)
        return HM_OK;
    hm_advance_start(s, start);
    hm_at(s, s->end - 1)->start_seq = seq;
    return HM_OK;
}

/* ------------------------------------------------------------------------------------------------ rewind */

/* The newest shown record among ring positions [base, end), or HM_NONE. */
static uint64_t last_shown(const hm_store *s, uint64_t end)
{
    for (uint64_t p = end; p != s->base; p--)
        if (hm_shown(hm_at(s, p - 1)))
            return p - 1;
    return HM_NONE;
}

/* First position at or behind `start` where a window may begin: at a user record, or inside a turn whose user record is
 * still in memory to stand before it. */
static uint64_t legal_start(const hm_store *s, uint64_t start)
{
    uint64_t p = start;
    for (; p < s->newest_pos; p++) {
        const hm_record *r = hm_at(s, p);
        if (hm_opens_turn(r))
            break;
        if (hm_opens_group(r) && (!s->anchor_seq || (r->in_turn && hm_store_find(s, r->seq - r->turn))))
            break;
    }
    return p;
}

hm_status hm_store_rewind(hm_store *s, uint64_t after_seq)
{
    const uint64_t cut = hm_position_after(s, after_seq);
    const bool all = !s->first_dropped_seq || after_seq < s->first_dropped_seq; /* nothing needed has left memory */
    uint64_t newest = HM_NONE, anchor_seq = 0;
    const uint64_t last = last_shown(s, cut);
    if (last != HM_NONE) {
        newest = last;
        while (newest != s->base && !hm_opens_group(hm_at(s, newest)))
            newest--;
        if (!hm_opens_group(hm_at(s, newest)))
            return HM_ENOENT; /* the begin of the newest group has left memory */
        const hm_record *r = hm_at(s, newest);
        anchor_seq = r->in_turn ? r->seq - r->turn : 0;
        if (anchor_seq && !hm_store_find(s, anchor_seq))
            return HM_ENOENT;
    } else if (!all && s->first_dropped_seq <= after_seq) {
        return HM_ENOENT;
    }

    size_t n = 0;
    for (size_t i = 0; i < s->kept_count; i++) {
        hm_kept *k = &s->kept[i];
        if (k->record.where == HM_LISTED) {
            hm_at(s, k->position)->where = HM_IN_RING; /* hm_reframe lists again what is still due */
        } else if (k->record.seq <= after_seq) {
            s->kept[n++] = *k;
        } else {
            if (i < s->head_count)
                s->totals.dropped_records++;
            hm_release_kept(s, k);
        }
    }
    if (s->head_count > n)
        s->head_count = n;
    s->kept_count = n;
    while (s->end != cut)
        hm_pop_newest(s);

    s->newest_pos = newest;
    s->anchor_seq = anchor_seq;
    s->anchor_pos = HM_NONE;
    s->partial_seq = 0;
    uint64_t start = s->end;
    if (newest != HM_NONE) {
        const uint64_t found = anchor_seq ? hm_position_after(s, anchor_seq) : s->base;
        if (found != s->base && hm_at(s, found - 1)->seq == anchor_seq)
            s->anchor_pos = found - 1;
        start = hm_position_after(s, hm_at(s, s->end - 1)->start_seq - 1);
        start = legal_start(s, start < newest ? start : newest);
    } else {
        start = s->base; /* hidden records only, or nothing */
        if (all)
            s->first_dropped_seq = s->gone_records = s->gone_tokens = 0;
    }
    hm_refresh_turn_pins(s);
    const bool same = s->start == start;
    const uint64_t stable = s->stable_tokens;
    hm_reframe(s, start);
    const uint64_t common = same ? hm_prompt_tokens(s, 0) : s->totals.head_tokens;
    s->stable_tokens = common < stable ? common : stable;
    return HM_OK;
}
