/* ring.c - the message store's memory: the ring of records, the byte arena behind it, and the entries kept apart.
 * What a prompt shows is decided in frame.c. */
#include "store_internal.h"

#include <string.h>

enum { FIRST_RING = 16, FIRST_ARENA = 1024, FIRST_KEPT = 8 };

/* ------------------------------------------------------------------------------------------------ memory */

/* A block of `size` bytes within the byte limit. `freed` bytes will be given back when this succeeds. */
static hm_status take(hm_store *s, size_t size, size_t freed, void **out)
{
    const size_t limit = s->config.limit_bytes;
    if (size > SIZE_MAX - s->totals.bytes)
        return HM_ELIMIT;
    if (limit && s->totals.bytes - freed + size > limit)
        return HM_ELIMIT;
    void *block = s->config.allocator.alloc(s->config.allocator.context, size);
    if (!block)
        return HM_ENOMEM;
    s->totals.bytes += size;
    *out = block;
    return HM_OK;
}

static void give_back(hm_store *s, void *block, size_t size)
{
    if (!block)
        return;
    s->config.allocator.release(s->config.allocator.context, block, size);
    s->totals.bytes -= size;
}

static void release_host(hm_store *s, void *host)
{
    if (host && s->config.release)
        s->config.release(s->config.release_context, host);
}

hm_status hm_store_open(const hm_store_config *config, hm_store **out)
{
    *out = NULL;
    if (!config->allocator.alloc || !config->allocator.release)
        return HM_EINVAL;
    if (config->limit_bytes && config->limit_bytes < sizeof(hm_store))
        return HM_ELIMIT;
    hm_store *s = config->allocator.alloc(config->allocator.context, sizeof *s);
    if (!s)
        return HM_ENOMEM;
    memset(s, 0, sizeof *s);
    s->config = *config;
    s->anchor_pos = HM_NONE;
    s->newest_pos = HM_NONE;
    s->hold_seq = HM_NONE;
    s->totals.bytes = sizeof *s;
    *out = s;
    return HM_OK;
}

void hm_store_close(hm_store *s)
{
    if (!s)
        return;
    hm_store_clear(s);
    give_back(s, s->ring, s->ring_capacity * sizeof *s->ring);
    give_back(s, s->arena, s->arena_capacity);
    give_back(s, s->kept, s->kept_capacity * sizeof *s->kept);
    const hm_allocator a = s->config.allocator;
    a.release(a.context, s, sizeof *s);
}

/* Moves the records into a ring of `capacity` slots, which holds them all. */
static hm_status resize_ring(hm_store *s, size_t capacity)
{
    const size_t old = s->ring_capacity;
    if (capacity > SIZE_MAX / sizeof(hm_record))
        return HM_ELIMIT;
    void *block;
    const hm_status status = take(s, capacity * sizeof(hm_record), old * sizeof(hm_record), &block);
    if (status != HM_OK)
        return status;
    hm_record *ring = block;
    for (uint64_t p = s->base; p != s->end; p++)
        ring[p & (capacity - 1)] = *hm_at(s, p);
    give_back(s, s->ring, old * sizeof(hm_record));
    s->ring = ring;
    s->ring_capacity = capacity;
    return HM_OK;
}

/* Moves the contents, one after the other, into an arena of `capacity` bytes, which holds them all. */
static hm_status resize_arena(hm_store *s, size_t capacity)
{
    void *block;
    const hm_status status = take(s, capacity, s->arena_capacity, &block);
    if (status != HM_OK)
        return status;
    uint8_t *arena = block;
    size_t at = 0;
    for (uint64_t p = s->base; p != s->end; p++) {
        hm_record *r = hm_at(s, p);
        if (!r->length)
            continue;
        memcpy(arena + at, s->arena + r->offset, r->length);
        r->offset = at;
        at += r->length;
    }
    give_back(s, s->arena, s->arena_capacity);
    s->arena = arena;
    s->arena_capacity = capacity;
    s->arena_head = 0;
    s->arena_tail = at;
    return HM_OK;
}

/* How many bytes may be placed at the arena's tail. Where the contents wrap round, one byte before the head stays free, so
 * that head == tail means empty. */
static inline size_t arena_room(const hm_store *s)
{
    return (s->arena_tail >= s->arena_head ? s->arena_capacity : s->arena_head - 1) - s->arena_tail;
}

/* Where `length` bytes fit in one piece, or SIZE_MAX. */
static size_t arena_place(hm_store *s, size_t length)
{
    if (s->base == s->end)
        s->arena_head = s->arena_tail = 0;
    if (length <= arena_room(s))
        return s->arena_tail;
    return s->arena_tail >= s->arena_head && length < s->arena_head ? 0 : SIZE_MAX;
}

/* Smallest power of two that is >= wanted and >= least; 0 when there is none. */
static size_t power_of_two(size_t wanted, size_t least)
{
    size_t n = least;
    while (n < wanted) {
        if (n > SIZE_MAX / 2)
            return 0;
        n *= 2;
    }
    return n;
}

static hm_status grow_arena(hm_store *s, size_t length)
{
    const size_t live = s->arena_live;
    if (length > SIZE_MAX / 4 || live > SIZE_MAX / 4)
        return HM_ELIMIT;
    /* Twice what lives, so that growth is amortised. Where the byte limit forbids that, history goes first; without
     * history, exactly what is needed. */
    const hm_status status = resize_arena(s, power_of_two((live + length) * 2, FIRST_ARENA));
    return status == HM_ELIMIT && s->base == s->start ? resize_arena(s, live + length) : status;
}

/* Room for one more record with `length` bytes; *offset is its place. At the byte limit history goes first. */
static hm_status make_room(hm_store *s, size_t length, size_t *offset)
{
    for (;;) {
        hm_status status = HM_OK;
        if (s->end - s->base == s->ring_capacity)
            status = resize_ring(s, s->ring_capacity ? s->ring_capacity * 2 : FIRST_RING);
        if (status == HM_OK && length) {
            *offset = arena_place(s, length);
            if (*offset != SIZE_MAX)
                return HM_OK;
            status = grow_arena(s, length);
            if (status == HM_OK)
                continue;
        }
        if (status != HM_ELIMIT)
            return status;
        if (hm_drop_oldest(s))
            continue;
        /* What is left of history can't be copied aside at the limit: give it what the arena does not need. */
        if (s->arena_capacity <= s->arena_live + length)
            return status;
        status = resize_arena(s, s->arena_live + length);
        if (status != HM_OK)
            return status;
    }
}

/* hm_reserve_kept; at the byte limit history goes first. */
static hm_status make_room_apart(hm_store *s, size_t more)
{
    const hm_status status = hm_reserve_kept(s, more);
    if (status != HM_ELIMIT || s->base == s->start)
        return status;
    while (hm_drop_oldest(s))
        ;
    (void)hm_store_trim(s);
    return hm_reserve_kept(s, more);
}

hm_status hm_reserve_kept(hm_store *s, size_t more)
{
    if (s->kept_capacity - s->kept_count >= more)
        return HM_OK;
    if (more > SIZE_MAX / sizeof(hm_kept) / 4 - s->kept_count)
        return HM_ELIMIT;
    const size_t capacity = power_of_two(s->kept_count + more, FIRST_KEPT);
    void *block;
    const hm_status status =
        take(s, capacity * sizeof(hm_kept), s->kept_capacity * sizeof(hm_kept), &block);
    if (status != HM_OK)
        return status;
    if (s->kept_count)
        memcpy(block, s->kept, s->kept_count * sizeof(hm_kept));
    give_back(s, s->kept, s->kept_capacity * sizeof(hm_kept));
    s->kept = block;
    s->kept_capacity = capacity;
    return HM_OK;
}

void hm_release_kept(hm_store *s, hm_kept *entry)
{
    give_back(s, entry->bytes, entry->record.length);
    entry->bytes = NULL;
    release_host(s, entry->record.host);
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
        status = take(s, m->length, 0, &copy);
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
    status = make_room_apart(s, s->protected_in_ring + 3 + (pins_group ? (size_t)(s->end - s->newest_pos) : 0));
    if (status != HM_OK)
        return status;
    status = make_room(s, m->length, &r.offset);
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
        position - s->base == s->ring_capacity || length > arena_room(s) || (length && !m->bytes) ||
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
            if (take(s, r->length, 0, &copy) != HM_OK)
                return false;
            memcpy(copy, s->arena + r->offset, r->length);
        }
        s->kept[i].record = *r;
        s->kept[i].record.where = HM_OWNED;
        s->kept[i].bytes = copy;
        s->kept[i].position = HM_NONE;
    } else {
        release_host(s, r->host);
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
    release_host(s, r->host);
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

/* ------------------------------------------------------------------------------------------------ size */

hm_status hm_store_trim(hm_store *s)
{
    const size_t records = (size_t)(s->end - s->base);
    const size_t ring = records ? power_of_two(records, FIRST_RING) : 0;
    hm_status status = HM_OK;
    if (!records) {
        give_back(s, s->ring, s->ring_capacity * sizeof(hm_record));
        s->ring = NULL;
        s->ring_capacity = 0;
    } else if (ring < s->ring_capacity) {
        status = resize_ring(s, ring);
    }
    const size_t live = s->arena_live;
    if (status != HM_OK)
        return status;
    if (!live) {
        give_back(s, s->arena, s->arena_capacity);
        s->arena = NULL;
        s->arena_capacity = s->arena_head = s->arena_tail = 0;
    } else if (live < s->arena_capacity) {
        status = resize_arena(s, live);
    }
    return status;
}

void hm_store_hold(hm_store *s, uint64_t seq) { s->hold_seq = seq ? seq : HM_NONE; }

void hm_store_set_limits(hm_store *s, size_t limit_bytes, size_t history_bytes)
{
    s->config.limit_bytes = limit_bytes;
    s->config.history_bytes = history_bytes;
}
