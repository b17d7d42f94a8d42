/* ring.c - records and their content come in at one end of the ring and leave at the other. Its memory is memory.c's; what a
 * prompt shows is decided in frame.c. */
#include "store_internal.h"

#include <string.h>

void hm_release_kept(hm_store *s, hm_kept *entry)
{
    hm_give_back(s, entry->bytes, entry->record.length);
    entry->bytes = NULL;
    hm_release_host(s, entry->record.host);
    if (!(entry->record.flags & HM_HEAD))
        s->totals.dropped_records++;
}

/* The leading system records live in kept from the start. */
static hm_status append_head(hm_store *s, const hm_record *record, const hm_message *m)
{
    hm_status status = hm_reserve_kept(s, 2);
    if (status != HM_OK)
        return status;
    void *copy = NULL;
    if (m->length) {
        status = hm_take(s, m->length, 0, &copy);
        if (status != HM_OK)
            return status;
        memcpy(copy, m->bytes, m->length);
    }
    hm_kept *k = &s->kept[s->kept_count++];
    k->record = *record;
    k->record.flags |= HM_HEAD;
    k->record.where = HM_OWNED;
    k->bytes = copy;
    k->position = HM_NONE;
    s->head_count++;
    s->totals.head_tokens += record->tokens;
    s->totals.head_records++;
    return HM_OK;
}

/* ------------------------------------------------------------------------------------------------ append */

static hm_record *anchor_record(hm_store *s)
{
    if (s->anchor_pos != HM_NONE)
        return hm_at(s, s->anchor_pos);
    for (size_t i = s->kept_count; i > s->head_count; i--)
        if (s->kept[i - 1].record.where == HM_OWNED && s->kept[i - 1].record.seq == s->anchor_seq)
            return &s->kept[i - 1].record;
    return NULL;
}

/* A pinned record was appended: the anchor stays with it. */
static void pin_anchor(hm_store *s)
{
    hm_record *anchor = s->anchor_seq ? anchor_record(s) : NULL;
    if (!anchor || hm_is_pinned(anchor))
        return;
    anchor->flags |= HM_TURN_PINNED;
    s->totals.pinned_tokens += anchor->tokens;
    s->totals.messages--;
    if (s->anchor_pos != HM_NONE)
        s->protected_in_ring++;
}

static void count_append(hm_store *s, const hm_record *r)
{
    if (!hm_shown(r))
        return;
    s->totals.window_tokens += r->tokens;
    s->totals.window_records++;
    if (hm_opens_turn(r))
        s->totals.turns++;
    if (hm_is_pinned(r)) {
        s->totals.pinned_tokens += r->tokens;
        s->protected_in_ring++;
    } else {
        s->totals.messages++;
    }
}

__attribute__((noinline, cold)) static hm_status append_other(hm_store *s, const hm_message *m, uint64_t *seq)
{
    const unsigned known = HM_JOIN | HM_HIDDEN | HM_PINNED;
    const bool joins = (m->flags & HM_JOIN) != 0, hidden = (m->flags & HM_HIDDEN) != 0;
    if ((unsigned)m->role > HM_TOOL || (m->flags & ~known) || (m->length && !m->bytes) || (joins && hidden) ||
        (joins && (s->newest_pos == HM_NONE || m->role == HM_USER)))
        return HM_EINVAL;
    if (m->length > UINT32_MAX)
        return HM_ELIMIT;

    hm_record r = {.seq = s->last_seq + 1, .time = m->time, .host = m->host, .length = (uint32_t)m->length,
                   .weight = m->weight, .tokens = hidden ? 0 : m->tokens, .fingerprint = m->fingerprint,
                   .role = (uint8_t)m->role, .flags = (uint8_t)m->flags};
    r.start_seq = s->start != s->end ? hm_at(s, s->start)->seq : r.seq;
    if (hidden)
        r.flags = HM_HIDDEN;
    hm_status status;
    if (m->role == HM_SYSTEM && !hidden && s->base == s->end && s->kept_count == s->head_count &&
        !s->first_dropped_seq) {
        r.flags = HM_PINNED;
        status = append_head(s, &r, m);
        if (status != HM_OK)
            return status;
        s->last_seq = *seq = r.seq;
        s->appended = true;
        return HM_OK;
    }

    const bool opens_turn = m->role == HM_USER && !hidden;
    if (opens_turn) {
        r.in_turn = 1;
    } else if (s->anchor_seq) {
        if (r.seq - s->anchor_seq > UINT32_MAX)
            return HM_ELIMIT;
        r.turn = (uint32_t)(r.seq - s->anchor_seq);
        r.in_turn = 1;
    }
    const bool group_pinned = joins && (hm_at(s, s->newest_pos)->flags & HM_PINNED);
    const bool pins_group = joins && !group_pinned && (r.flags & HM_PINNED);
    status = hm_make_room_apart(s, s->protected_in_ring + 3 + (pins_group ? (size_t)(s->end - s->newest_pos) : 0));
    if (status != HM_OK)
        return status;
    status = hm_make_room(s, m->length, &r.offset);
    if (status != HM_OK)
        return status;

    /* Nothing below fails. */
    s->arena_live += m->length;
    if (m->length) {
        memcpy(s->arena + r.offset, m->bytes, m->length);
        s->arena_tail = r.offset + m->length;
    }
    if (group_pinned)
        r.flags |= HM_PINNED;
    else if (pins_group)
        r.flags &= (uint8_t)~HM_PINNED; /* set below, with the rest of its group */
    const uint64_t position = s->end++;
    const bool first_turn = opens_turn && !s->anchor_seq;
    *hm_at(s, position) = r;
    s->last_seq = *seq = r.seq;
    s->appended = true;
    if (opens_turn) {
        hm_demote_anchor(s);
        s->anchor_seq = r.seq;
        s->anchor_pos = position;
    }
    if (hm_opens_group(&r))
        s->newest_pos = position;
    count_append(s, hm_at(s, position));
    if (r.flags & HM_PINNED)
        pin_anchor(s);
    if (first_turn) {
        /* What came before the first user record is no longer shown, what is pinned of it included. */
        hm_move_start(s, position);
        const uint64_t tokens = s->totals.kept_tokens, records = s->totals.kept_records;
        if (s->kept_count != s->head_count)
            hm_reframe(s, position);
        s->totals.evicted_tokens += tokens - s->totals.kept_tokens;
        s->totals.evicted_records += records - s->totals.kept_records;
    }
    if (pins_group)
        hm_pin_group(s, hm_at(s, position), true);
    return HM_OK;
}

/* A record without flags, in a session that has a user record, where there is room for it: nearly every append. The same
 * as append_other, with all that can't happen then left out, and the record written where it stays. */
hm_status hm_store_append(hm_store *s, const hm_message *m, uint64_t *seq)
{
    const size_t length = m->length, offset = s->arena_tail;
    const uint64_t number = s->last_seq + 1, position = s->end, turn = number - s->anchor_seq;
    if (m->flags || (unsigned)m->role > HM_TOOL || !s->anchor_seq || (turn | length) > UINT32_MAX ||
        position - s->base == s->ring_capacity || length > hm_arena_room(s) || (length && !m->bytes) ||
        s->kept_capacity - s->kept_count < s->protected_in_ring + 3)
        return append_other(s, m, seq);
    hm_record *r = hm_at(s, position);
    r->seq = number;
    r->time = m->time;
    r->start_seq = s->start != position ? hm_at(s, s->start)->seq : number;
    r->host = m->host;
    r->offset = offset;
    r->length = (uint32_t)length;
    r->weight = m->weight;
    r->tokens = m->tokens;
    r->fingerprint = m->fingerprint;
    r->turn = (uint32_t)turn;
    r->role = (uint8_t)m->role;
    r->flags = 0;
    r->in_turn = 1;
    r->where = HM_IN_RING;
    s->end = position + 1;
    s->last_seq = *seq = number;
    s->appended = true;
    s->newest_pos = position;
    if (m->role == HM_USER) {
        if (s->anchor_pos < s->start || s->anchor_pos == HM_NONE)
            hm_demote_anchor(s);
        r->turn = 0;
        s->anchor_seq = number;
        s->anchor_pos = position;
        s->totals.turns++;
    }
    s->totals.window_tokens += m->tokens;
    s->totals.window_records++;
    s->totals.messages++;
    if (length) {
        s->arena_live += length;
        s->arena_tail = offset + length;
        memcpy(s->arena + offset, m->bytes, length);
    }
    return HM_OK;
}

/* ------------------------------------------------------------------------------------------------ leaving the ring */

/* The arena's head moves behind the oldest content. Where the next content was placed at the arena's begin, the bytes
 * between here and the arena's end come back only with the next drop: never too much is free, at times a little less. */
static void arena_drop(hm_store *s, const hm_record *r)
{
    s->arena_live -= r->length;
    if (r->length)
        s->arena_head = r->offset + r->length;
}

bool hm_drop_oldest(hm_store *s)
{
    if (s->base == s->start)
        return false;
    hm_record *r = hm_at(s, s->base);
    if (r->where == HM_LISTED) {
        size_t i = s->head_count;
        while (s->kept[i].record.where == HM_OWNED || s->kept[i].position != s->base)
            i++;
        void *copy = NULL;
        if (r->length) {
            if (hm_take(s, r->length, 0, &copy) != HM_OK)
                return false;
            memcpy(copy, s->arena + r->offset, r->length);
        }
        s->kept[i].record = *r;
        s->kept[i].record.where = HM_OWNED;
        s->kept[i].bytes = copy;
        s->kept[i].position = HM_NONE;
    } else {
        hm_release_host(s, r->host);
        s->totals.dropped_records++;
        if (hm_shown(r)) {
            s->gone_records++;
            s->gone_tokens += r->tokens;
        }
    }
    if (hm_is_pinned(r))
        s->protected_in_ring--;
    if (s->anchor_pos == s->base)
        s->anchor_pos = HM_NONE;
    if (!s->first_dropped_seq)
        s->first_dropped_seq = r->seq;
    s->totals.history_bytes -= hm_weight(r);
    arena_drop(s, r);
    s->base++;
    return true;
}

void hm_drop_history(hm_store *s)
{
    const uint64_t most = s->config.history_bytes;
    void (*const release)(void *, void *) = s->config.release;
    while (s->totals.history_bytes > most && s->base != s->start && hm_at(s, s->base)->seq < s->hold_seq) {
        uint64_t at = s->base, weight = s->totals.history_bytes;
        uint64_t tokens = 0, shown = 0;
        size_t live = s->arena_live, head = s->arena_head;
        if (!s->first_dropped_seq)
            s->first_dropped_seq = hm_at(s, at)->seq;
        while (weight > most && at != s->start) {
            const hm_record *r = hm_at(s, at);
            if (r->where != HM_IN_RING || hm_is_pinned(r) || r->seq >= s->hold_seq)
                break;
            if (r->host && release)
                release(s->config.release_context, r->host);
            tokens += hm_shown(r) ? r->tokens : 0;
            shown += hm_shown(r);
            weight -= hm_weight(r);
            live -= r->length;
            head = r->length ? r->offset + r->length : head;
            at++;
        }
        s->totals.dropped_records += at - s->base;
        s->gone_records += shown;
        s->gone_tokens += tokens;
        s->totals.history_bytes = weight;
        s->arena_live = live;
        s->arena_head = head;
        s->base = at;
        if (weight > most && at != s->start && hm_at(s, at)->seq < s->hold_seq && !hm_drop_oldest(s)) /* the one that stopped the loop is more than an ordinary record */
            break;
    }
}

void hm_pop_newest(hm_store *s)
{
    hm_record *r = hm_at(s, --s->end);
    s->arena_live -= r->length;
    if (r->length)
        s->arena_tail = r->offset;
    hm_release_host(s, r->host);
    s->totals.dropped_records++;
}

void hm_store_clear(hm_store *s)
{
    while (s->end != s->base)
        hm_pop_newest(s);
    s->totals.dropped_records += s->head_count;
    for (size_t i = 0; i < s->kept_count; i++)
        if (s->kept[i].record.where == HM_OWNED)
            hm_release_kept(s, &s->kept[i]);
    s->kept_count = s->head_count = s->protected_in_ring = 0;
    s->start = s->base;
    s->anchor_seq = s->partial_seq = s->first_dropped_seq = 0;
    s->gone_records = s->gone_tokens = 0;
    s->anchor_pos = s->newest_pos = HM_NONE;
    s->had_prompt = false;
    hm_reframe(s, s->start);
}

/* ------------------------------------------------------------------------------------------------ looking up */

uint64_t hm_position_after(const hm_store *s, uint64_t seq)
{
    uint64_t low = s->base, high = s->end;
    while (low != high) {
        const uint64_t middle = low + (high - low) / 2;
        if (hm_at(s, middle)->seq > seq)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const hm_record *hm_store_find(const hm_store *s, uint64_t seq)
{
    const uint64_t after = hm_position_after(s, seq);
    if (after != s->base && hm_at(s, after - 1)->seq == seq)
        return hm_at(s, after - 1);
    for (size_t i = 0; i < s->kept_count; i++)
        if (s->kept[i].record.where == HM_OWNED && s->kept[i].record.seq == seq)
            return &s->kept[i].record;
    return NULL;
}

const hm_record *hm_store_from(const hm_store *s, uint64_t seq)
{
    const uint64_t p = seq ? hm_position_after(s, seq - 1) : s->base;
    return p == s->end ? NULL : hm_at(s, p);
}

const uint8_t *hm_store_bytes(const hm_store *s, const hm_record *r)
{
    if (r->where == HM_OWNED)
        return ((const hm_kept *)(const void *)r)->bytes;
    return r->length ? s->arena + r->offset : NULL;
}
