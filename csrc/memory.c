/* memory.c - the message store's memory: its allocations, the byte limit, the ring of records and the byte arena behind
 * it, the entries kept apart. What enters and leaves them is in ring.c. */
#include "store_internal.h"

#include <string.h>

enum { FIRST_RING = 16, FIRST_ARENA = 1024, FIRST_KEPT = 8 };

/* ------------------------------------------------------------------------------------------------ memory */

/* A block of `size` bytes within the byte limit. `freed` bytes will be given back when this succeeds. */
hm_status hm_take(hm_store *s, size_t size, size_t freed, void **out)
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

void hm_give_back(hm_store *s, void *block, size_t size)
{
    if (!block)
        return;
    s->config.allocator.release(s->config.allocator.context, block, size);
    s->totals.bytes -= size;
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
    hm_give_back(s, s->ring, s->ring_capacity * sizeof *s->ring);
    hm_give_back(s, s->arena, s->arena_capacity);
    hm_give_back(s, s->kept, s->kept_capacity * sizeof *s->kept);
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
    const hm_status status = hm_take(s, capacity * sizeof(hm_record), old * sizeof(hm_record), &block);
    if (status != HM_OK)
        return status;
    hm_record *ring = block;
    for (uint64_t p = s->base; p != s->end; p++)
        ring[p & (capacity - 1)] = *hm_at(s, p);
    hm_give_back(s, s->ring, old * sizeof(hm_record));
    s->ring = ring;
    s->ring_capacity = capacity;
    return HM_OK;
}

/* Moves the contents, one after the other, into an arena of `capacity` bytes, which holds them all. */
static hm_status resize_arena(hm_store *s, size_t capacity)
{
    void *block;
    const hm_status status = hm_take(s, capacity, s->arena_capacity, &block);
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
    hm_give_back(s, s->arena, s->arena_capacity);
    s->arena = arena;
    s->arena_capacity = capacity;
    s->arena_head = 0;
    s->arena_tail = at;
    return HM_OK;
}

/* Where `length` bytes fit in one piece, or SIZE_MAX. */
static size_t arena_place(hm_store *s, size_t length)
{
    if (s->base == s->end)
        s->arena_head = s->arena_tail = 0;
    if (length <= hm_arena_room(s))
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
hm_status hm_make_room(hm_store *s, size_t length, size_t *offset)
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
hm_status hm_make_room_apart(hm_store *s, size_t more)
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
        hm_take(s, capacity * sizeof(hm_kept), s->kept_capacity * sizeof(hm_kept), &block);
    if (status != HM_OK)
        return status;
    if (s->kept_count)
        memcpy(block, s->kept, s->kept_count * sizeof(hm_kept));
    hm_give_back(s, s->kept, s->kept_capacity * sizeof(hm_kept));
    s->kept = block;
    s->kept_capacity = capacity;
    return HM_OK;
}

/* ------------------------------------------------------------------------------------------------ size */

hm_status hm_store_trim(hm_store *s)
{
    const size_t records = (size_t)(s->end - s->base);
    const size_t ring = records ? power_of_two(records, FIRST_RING) : 0;
    hm_status status = HM_OK;
    if (!records) {
        hm_give_back(s, s->ring, s->ring_capacity * sizeof(hm_record));
        s->ring = NULL;
        s->ring_capacity = 0;
    } else if (ring < s->ring_capacity) {
        status = resize_ring(s, ring);
    }
    const size_t live = s->arena_live;
    if (status != HM_OK)
        return status;
    if (!live) {
        hm_give_back(s, s->arena, s->arena_capacity);
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
