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
    if (s->stable_tokens > t->head_tokens)
        s->stable_tokens = t->head_tokens;
}

hm_status hm_store_set_cost(hm_store *s, uint64_t seq, uint32_t tokens, uint32_t fingerprint, unsigned flags)
{
    hm_record *r = find(s, seq);
    if (!r)
        return HM_ENOENT;
    const unsigned settable = HM_DEAD | HM_HIDDEN;
    const bool flips = ((r->flags ^ flags) & HM_HIDDEN) != 0;
    if (!flips && hm_shown(r))
        change_cost(s, r, tokens);
    r->tokens = tokens;
    r->fingerprint = fingerprint;
    r->flags = (uint8_t)((r->flags & ~settable) | (flags & settable));
    if (flips)
        hm_reframe(s, s->start);
    return HM_OK;
}

void hm_refresh_turn_pins(hm_store *s)
{
    for (size_t i = s->head_count; i < s->kept_count; i++)
        s->kept[i].record.flags &= (uint8_t)~HM_TURN_PINNED;
    for (uint64_t p = s->base; p != s->end; p++)
        hm_at(s, p)->flags &= (uint8_t)~HM_TURN_PINNED;
    for (size_t i = s->head_count; i < s->kept_count + (size_t)(s->end - s->base); i++) {
        const bool apart = i < s->kept_count;
        if (apart && s->kept[i].record.where != HM_OWNED)
            continue;
        const hm_record *r = apart ? &s->kept[i].record : hm_at(s, s->base + (i - s->kept_count));
        if (!(r->flags & HM_PINNED) || !r->in_turn || !r->turn)
            continue;
        hm_record *user = find(s, r->seq - r->turn);
        if (user)
            user->flags |= HM_TURN_PINNED;
    }
}

static void flag_record(hm_record *r, bool pinned)
{
    r->flags = (uint8_t)(pinned ? r->flags | HM_PINNED : r->flags & ~(unsigned)HM_PINNED);
}

/* A group in the ring: its first record, and one behind its last one. Hidden records may lie between. */
static uint64_t group_begin(const hm_store *s, uint64_t p)
{
    while (p != s->base && !hm_opens_group(hm_at(s, p)))
        p--;
    return p;
}

static uint64_t group_end(const hm_store *s, uint64_t p)
{
    for (p++; p < s->end && !hm_opens_group(hm_at(s, p)); p++)
        ;
    return p;
}

void hm_pin_group(hm_store *s, const hm_record *found, bool pinned)
{
    const uint64_t tokens = s->totals.kept_tokens + s->totals.window_tokens;
    const uint64_t records = s->totals.kept_records + s->totals.window_records;
    if (found->where == HM_OWNED) {
        /* Owned entries of one group follow each other, the first one without HM_JOIN. */
        size_t i = (size_t)((const hm_kept *)(const void *)found - s->kept);
        while (i > s->head_count && (s->kept[i].record.flags & HM_JOIN))
            i--;
        do
            flag_record(&s->kept[i++].record, pinned);
        while (i < s->kept_count && s->kept[i].record.where == HM_OWNED && (s->kept[i].record.flags & HM_JOIN));
    } else {
        const uint64_t begin = group_begin(s, hm_position_after(s, found->seq) - 1), end = group_end(s, begin);
        for (uint64_t p = begin; p != end; p++)
            if (p == begin || (hm_at(s, p)->flags & HM_JOIN))
                flag_record(hm_at(s, p), pinned);
    }
    hm_refresh_turn_pins(s);
    hm_reframe(s, s->start);
    const uint64_t tokens_now = s->totals.kept_tokens + s->totals.window_tokens;
    if (tokens_now < tokens) {
        s->totals.evicted_tokens += tokens - tokens_now;
        s->totals.evicted_records += records - s->totals.kept_records - s->totals.window_records;
    }
}

hm_status hm_store_pin(hm_store *s, uint64_t seq, bool pinned)
{
    const hm_record *found = hm_store_find(s, seq);
    if (!found || (found->flags & HM_HIDDEN))
        return HM_ENOENT;
    if (found->flags & HM_HEAD)
        return HM_EINVAL;
    if (pinned && found->where != HM_OWNED) {
        const uint64_t p = hm_position_after(s, seq) - 1;
        const size_t group = (size_t)(group_end(s, p) - group_begin(s, p));
        const hm_status status = hm_reserve_kept(s, s->protected_in_ring + group + 2);
        if (status != HM_OK)
            return status;
    }
    hm_pin_group(s, hm_store_find(s, seq), pinned); /* looked up again: kept may have moved */
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
        start = hm_position_after(s, hm_at(s, last)->start_seq - 1);
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
