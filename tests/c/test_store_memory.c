/* test_store_memory.c - the memory of the message store: contents, limits, failing allocations, and the calls to the
 * allocator in the long run. */
#include "store_kit.h"
#include "store_internal.h" /* sizes of what is allocated */

/* ------------------------------------------------------------------------------------------------ contents */
static void test_gather(void)
{
    OPEN(b, 0);
    PUT(b, HM_SYSTEM, 1, 11, 0);
    PUT(b, HM_USER, 1, 0, HM_PINNED);
    PUT(b, HM_USER, 1, 300, HM_PINNED);
    for (size_t i = 0; i < 40; i++)
        PUT(b, i % 2 ? HM_ASSISTANT : HM_USER, 1, i * 7 % 60, 0);
    const hm_policy p = marks(25, 0), narrow = marks(9, 0);
    (void)hm_store_settle(b.store, &p);
    const hm_policy *both[] = {&NO_MARKS, &narrow};
    for (int k = 0; k < 2; k++) {
        const hm_view view = hm_store_view(b.store, both[k]);
        const size_t size = hm_store_gather_size(b.store, &view);
        uint8_t *out = malloc(size), *at = out; /* exactly as much: a byte too many is seen */
        NEED(out);
        hm_store_gather(b.store, &view, out);
        uint64_t cursor = 0;
        bool right = true;
        for (const hm_record *r; (r = hm_store_next(b.store, &view, &cursor)) != NULL; at += r->length)
            right = right && content_ok(at, r->seq, r->length) &&
                    (!r->length || memcmp(at, hm_store_bytes(b.store, r), r->length) == 0);
        CHECK(right && at == out + size && size > 311);
        free(out);
    }
    close_bench(&b);
}

/* One window through an arena that wraps at every kind of place: contents of up to most of the arena, and empty ones. */
static void test_arena(void)
{
    static const size_t lengths[][7] = {{100, 100, 100, 100, 100, 100, 100}, {0, 1, 0, 511, 0, 0, 3}, {900, 0, 10, 700, 1, 1023, 0},
                                        {341, 342, 341, 0, 341, 342, 341}, {1024, 1024, 1024, 1024, 1024, 1024, 1024},
                                        {1, 5000, 1, 20, 9000, 0, 2}, {512, 512, 511, 513, 512, 512, 0}};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (uint64_t high = 10; high <= 60; high += 10) {
            OPEN(b, 0);
            const hm_policy p = marks(high, 0);
            bool right = true;
            for (size_t i = 0; i < 300; i++) {
                PUT(b, HM_USER, 10, lengths[k][(i + i / 50) % 7], 0);
                (void)hm_store_settle(b.store, &p);
                if (i % 41 == 40) /* the arena's end moves back */
                    right = right && hm_store_rewind(b.store, b.seq - (high > 10 ? 1 : 0)) == HM_OK;
                if (i % 97 == 96)
                    right = right && hm_store_trim(b.store) == HM_OK && totals_of(b.store).bytes == b.heap.in_use;
                for (const hm_record *r = hm_store_from(b.store, 0); r; r = hm_store_from(b.store, r->seq + 1))
                    right = right && content_ok(hm_store_bytes(b.store, r), r->seq, r->length);
            }
            CHECK(right && totals_of(b.store).window_records == high / 10);
            close_bench(&b);
        }
}

static void test_history_bytes(void)
{
    OPEN(b, 3 * (64 + 10));
    const hm_policy p = marks(10, 0);
    for (uint64_t i = 1; i <= 50; i++) {
        PUT(b, HM_USER, 10, 6, 0); /* each weighs 64 + 6 + seq % 5 */
        (void)hm_store_settle(b.store, &p);
        uint64_t expected = 0, weight = 0;
        while (expected + 1 < i && weight + 70 + (i - 1 - expected) % 5 <= 222)
            weight += 70 + (i - ++expected) % 5;
        const hm_totals t = totals_of(b.store);
        CHECK(t.history_records == expected && t.history_bytes == weight && t.first_seq == i - expected);
        CHECK(t.dropped_records == i - 1 - expected && (i < 6 || handle_released(&handle_state[i - expected - 2])));
    }
    hm_store_set_limits(b.store, 0, 0); /* acts at the next settle */
    CHECK(totals_of(b.store).history_records == 3);
    CHECK(hm_store_settle(b.store, &p) == 0 && totals_of(b.store).history_records == 0);
    CHECK(hm_store_find(b.store, 50) && !hm_store_find(b.store, 49) && hm_store_from(b.store, 1)->seq == 50);
    close_bench(&b);
}

static void test_byte_limit(void)
{
    bench b = {.store = NULL};
    const size_t limit = 6000;
    NEED(open_bench(&b, limit, 1 << 20) == HM_OK);
    PUT(b, HM_SYSTEM, 1, 100, 0);
    const hm_policy p = marks(3, 0);
    for (uint64_t i = 2; i < 300; i++) { /* history goes to make room; the window never */
        PUT(b, HM_USER, 1, 200, 0);
        (void)hm_store_settle(b.store, &p);
        CHECK(totals_of(b.store).bytes <= limit && b.heap.in_use == totals_of(b.store).bytes);
    }
    PROMPT(b, "1 298 299");
    CHECK(totals_of(b.store).history_records > 2);
    CHECK(put(&b, HM_USER, 1, 6000, 0) == HM_ELIMIT);
    PROMPT(b, "1 298 299");
    CHECK(totals_of(b.store).history_records == 0 && totals_of(b.store).last_seq == 299); /* it went first */
    dump *before = new_dump(b.store);
    CHECK(put(&b, HM_USER, 1, 5000, HM_PINNED) == HM_ELIMIT);
    dump *after = new_dump(b.store);
    CHECK(same_dump(before, after) && contents_right(after));
    free(before);
    free(after);
    /* Where doubling would pass the limit, exactly as much as is needed, up to the last byte of it. */
    const size_t room = limit - totals_of(b.store).bytes + b.store->arena_capacity - b.store->arena_live;
    CHECK(put(&b, HM_USER, 1, room + 1, 0) == HM_ELIMIT);
    PUT(b, HM_USER, 1, room, 0);
    CHECK(totals_of(b.store).bytes == limit);
    while (put(&b, HM_USER, 1, 0, 0) == HM_OK) /* the ring fills up, and then cannot double */
        NEED(b.seq < 1000);
    CHECK(totals_of(b.store).bytes <= limit && (totals_of(b.store).window_records & (totals_of(b.store).window_records - 1)) == 0);
    hm_store_set_limits(b.store, 0, 0);
    PUT(b, HM_USER, 1, 9000, 0); /* other limits act at the next append */
    close_bench(&b);

    b = (bench){.store = NULL}; /* the head and the entries apart count too */
    NEED(open_bench(&b, sizeof(hm_store) + 3 * 8 * sizeof(hm_kept), 0) == HM_OK);
    CHECK(put(&b, HM_SYSTEM, 1, 9000, 0) == HM_ELIMIT);
    unsigned heads = 0;
    while (put(&b, HM_SYSTEM, 1, 10, 0) == HM_OK)
        NEED(++heads < 1000);
    CHECK(heads >= 7 && totals_of(b.store).head_records == heads && totals_of(b.store).bytes == b.heap.in_use);
    close_bench(&b);
}

/* At the limit history does not stand in the way of a message that fits without it: neither where the entries apart have
 * to grow, nor where a pinned record in it must be copied first and the arena is half empty. */
static void test_history_yields(void)
{
    for (unsigned pins = 1; pins <= 6; pins++) {
        bench b = {.store = NULL};
        NEED(open_bench(&b, 0, 1 << 20) == HM_OK);
        const hm_policy p = marks(20, 0);
        for (unsigned i = 0; i < 16; i++) {
            PUT(b, HM_USER, 10, 100, i < pins ? HM_PINNED : 0);
            (void)hm_store_settle(b.store, &p);
        }
        hm_store_set_limits(b.store, (size_t)totals_of(b.store).bytes, 1 << 20); /* half of the arena is free */
        bool all = true;
        for (unsigned i = 0; i < 60; i++) {
            all = put(&b, HM_USER, 10, 100, i % 2 == 0 && i < 12 - 2 * pins ? HM_PINNED : 0) == HM_OK && all;
            (void)hm_store_settle(b.store, &p);
        }
        CHECK(all && totals_of(b.store).kept_records == 6);
        close_bench(&b);
    }
}

static void test_trim(void)
{
    OPEN(b, 0);
    const hm_policy p = marks(20, 0);
    for (int i = 0; i < 1000; i++)
        PUT(b, HM_USER, 10, 100, 0);
    const uint64_t large = totals_of(b.store).bytes;
    (void)hm_store_settle(b.store, &p);
    CHECK(totals_of(b.store).bytes == large);
    CHECK(hm_store_trim(b.store) == HM_OK && totals_of(b.store).bytes < large / 20 && totals_of(b.store).bytes == b.heap.in_use);
    dump *d = new_dump(b.store);
    CHECK(contents_right(d) && d->in_prompt == 2);
    free(d);
    hm_store_clear(b.store);
    CHECK(hm_store_trim(b.store) == HM_OK && !hm_store_from(b.store, 0) && !hm_store_find(b.store, 1000));
    PROMPT(b, "");
    PUT(b, HM_USER, 10, 100, 0);
    PROMPT(b, "1001");
    close_bench(&b);
}

/* ------------------------------------------------------------------------------------------------ failing allocations */

/* One call of the scripted session. Returns its status; calls that cannot fail return HM_OK. */
enum { STEPS = 420 };
static hm_status scripted(bench *b, unsigned i, bool limited)
{
    const hm_policy p = marks(160, 40), wide = marks(400, 0);
    const size_t length = i * 37 % 90 * (i % 50 == 49 ? 40 : 1);
    if (i < 9)
        return put(b, HM_SYSTEM, 3, i * 10, 0);
    switch (i) {
    case 100: return hm_store_trim(b->store);
    case 130: return hm_store_pin(b->store, b->seq - 2, true);
    case 150: return hm_store_rewind(b->store, b->seq - 4);
    case 170: hm_store_refill(b->store, &wide); return HM_OK;
    case 230: return hm_store_set_cost(b->store, b->seq - 1, 4, 9, HM_DEAD);
    case 250: hm_store_set_limits(b->store, limited ? 14000 : 0, 700); return HM_OK;
    case 300: hm_store_clear(b->store); return HM_OK;
    case 301: return hm_store_trim(b->store);
    case 302: return put(b, HM_SYSTEM, 3, 50, 0);
    case 360: return hm_store_pin(b->store, b->seq, true);
    case 400: return hm_store_trim(b->store);
    default: break;
    }
    if (i % 2) {
        (void)hm_store_settle(b->store, &p);
        return HM_OK;
    }
    if (i % 60 < 40) { /* a long turn, with a group of two in it */
        const bool opens = i % 60 == 10 || i % 60 == 11 || i == 304;
        return put(b, opens ? HM_USER : i % 6 ? HM_ASSISTANT : HM_TOOL, 9, length, !opens && i % 6 == 0 && b->seq ? HM_JOIN : 0);
    }
    return put(b, i % 4 ? HM_ASSISTANT : HM_USER, 11, length, i % 56 == 0 ? HM_PINNED : 0);
}

/* Runs the session; where a call fails for want of memory, the store is as before and the call works once there is some. */
static bool run_script(bench *b, bool limited, bool *failed_once)
{
    bool right = true;
    for (unsigned i = 0; i < STEPS; i++) {
        dump *before = b->heap.fail_at ? new_dump(b->store) : NULL;
        const uint64_t seq = b->seq;
        hm_status status = scripted(b, i, limited);
        if (status == HM_ENOMEM) {
            *failed_once = true;
            dump *after = new_dump(b->store);
            right = right && before && b->heap.did_fail && same_dump(before, after) && b->seq == seq;
            right = right && totals_of(b->store).bytes == b->heap.in_use;
            free(after);
            b->heap.fail_at = 0;
            status = scripted(b, i, limited);
        } else if (b->heap.did_fail && i % 2) {
            b->heap.fail_at = 0; /* a settle could not copy what stands apart: it tries again at the next one */
        }
        free(before);
        right = right && (status == HM_OK || (limited && status == HM_ELIMIT));
    }
    const hm_policy p = marks(160, 40);
    (void)hm_store_settle(b->store, &p);
    return right;
}

static void test_failing_allocations(bool limited, bool stay_failed)
{
    dump *wanted = NULL;
    unsigned statuses = 0, silent = 0;
    for (uint64_t n = 0;; n++) { /* 0: without a failure */
        forget_handles();
        bench b = {.heap = {.fail_at = n ? n + 1 : 0, .stay_failed = stay_failed}}; /* the first one is open's */
        bool failed_once = false;
        NEED(open_bench(&b, limited ? 20000 : 0, 600) == HM_OK);
        CHECK(run_script(&b, limited, &failed_once));
        dump *d = new_dump(b.store);
        CHECK(contents_right(d) && totals_of(b.store).bytes == b.heap.in_use);
        if (!n)
            wanted = d;
        else if (!limited) { /* in the end nobody can tell that memory ran out once, but for where handles lie */
            for (size_t i = 0; i < d->count && i < wanted->count; i++)
                d->records[i].host = wanted->records[i].host;
            d->totals.reuse_share = wanted->totals.reuse_share;
            CHECK(same_dump(d, wanted));
        }
        if (n)
            free(d);
        const bool did_fail = b.heap.did_fail;
        statuses += failed_once;
        silent += did_fail && !failed_once;
        close_bench(&b);
        if (n && !did_fail)
            break;
    }
    CHECK(statuses > 20); /* growth of ring, arena and kept, copies of the head, trim */
    CHECK(silent > 3);    /* copies of pinned records and anchors while history is dropped */
    free(wanted);
}

/* ------------------------------------------------------------------------------------------------ the long run */

/* 100,000 steady appends with settle; returns the calls to the allocator. `rounds`: answers in a turn. */
typedef struct calls {
    uint64_t allocs, releases, turns;
} calls;

static calls long_run(size_t history, unsigned rounds, bool pinned, size_t anchor_length, uint64_t high)
{
    enum { WARM = 20000, COUNTED = 100000 };
    OPEN(b, history);
    const hm_policy p = marks(high, high * 3 / 10);
    static uint8_t bytes[256];
    uint64_t seq, turns = 0;
    heap at_start = {0};
    PUT(b, HM_SYSTEM, 10, 100, 0);
    for (unsigned i = 0; i < WARM + COUNTED; i++) {
        if (i == WARM) {
            at_start = b.heap;
            turns = 0;
        }
        const bool user = i % (rounds + 1) == 0;
        turns += user;
        const hm_message m = {.bytes = bytes, .length = user ? anchor_length : i % 200, .tokens = 10, /* no handles */
                              .role = user ? HM_USER : i % 3 ? HM_ASSISTANT : HM_TOOL,
                              .flags = (!user && i % 3 == 0 && i % (rounds + 1) > 1 ? HM_JOIN : 0u) |
                                       (pinned && i < 400 && i % 100 == 1 ? HM_PINNED : 0u)};
        NEED(hm_store_append(b.store, &m, &seq) == HM_OK);
        (void)hm_store_settle(b.store, &p);
    }
    const hm_totals t = totals_of(b.store);
    CHECK(t.evicted_records > WARM + COUNTED - 2000 && (!pinned || t.pinned_tokens >= 80));
    const calls c = {b.heap.allocs - at_start.allocs, b.heap.releases - at_start.releases, turns};
    close_bench(&b);
    return c;
}

static void test_no_allocation_in_the_long_run(void)
{
    const size_t histories[] = {0, 65536};
    for (int h = 0; h < 2; h++)
        for (int pinned = 0; pinned < 2; pinned++) {
            calls c = long_run(histories[h], 1, pinned, 60, 900); /* short turns */
            CHECK(c.allocs == 0 && c.releases == 0);
            c = long_run(histories[h], 30, pinned, 60, 900); /* turns that fit into the window */
            CHECK(c.allocs == 0 && c.releases == 0);
            /* Turns of four windows: the anchor stands apart. Where its content leaves the arena, that is copied, once a
             * turn, and released with the turn; an anchor without content costs no call. */
            c = long_run(histories[h], 250, pinned, 0, 900);
            CHECK(c.allocs == 0 && c.releases == 0);
            c = long_run(histories[h], 250, pinned, 60, 900);
            CHECK(c.allocs <= c.turns && c.releases <= c.turns + 1 && c.turns > 390);
            CHECK(histories[h] || c.allocs + 1 >= c.turns); /* the copies do happen: the bound is not idle */
        }
}

int main(void)
{
    test_gather();
    test_arena();
    test_history_bytes();
    test_byte_limit();
    test_history_yields();
    test_trim();
    for (int i = 0; i < 4; i++)
        test_failing_allocations(i & 1, i & 2);
    test_no_allocation_in_the_long_run();
    return report("store_memory");
}
