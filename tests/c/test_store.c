/* test_store.c - the contract of the message store in hmem.h, function by function.
 *
 * Expected prompts are written by hand as lists of seqs. Pins and rewind are in test_store_edit.c; contents, limits and
 * failing allocations in test_store_memory.c. */
#include "store_kit.h"
#include "store_internal.h" /* for one limit that no test can reach by appending */

static bool view_is(const bench *b, hm_policy p, const char *expected, uint64_t tokens, bool fits)
{
    const hm_view view = hm_store_view(b->store, &p);
    return strcmp(seqs_of(b->store, &view), expected) == 0 && view.tokens == tokens && view.fits == fits;
}

/* ------------------------------------------------------------------------------------------------ open, append */
static void test_open(void)
{
    heap h = {0};
    hm_store *s = (hm_store *)&h;
    hm_store_config config = {{NULL, heap_release, &h}, 0, 0, NULL, NULL};
    CHECK(hm_store_open(&config, &s) == HM_EINVAL && s == NULL);
    config.allocator = (hm_allocator){heap_alloc, NULL, &h};
    s = (hm_store *)&h;
    CHECK(hm_store_open(&config, &s) == HM_EINVAL && s == NULL);
    config.allocator.release = heap_release;
    config.limit_bytes = 8;
    CHECK(hm_store_open(&config, &s) == HM_ELIMIT && s == NULL);
    config.limit_bytes = 0;
    h.fail_at = 1;
    s = (hm_store *)&h;
    CHECK(hm_store_open(&config, &s) == HM_ENOMEM && s == NULL && h.in_use == 0);
    hm_store_close(NULL);

    config.allocator = hm_default_allocator; /* and no release hook: handles are only forgotten */
    NEED(hm_store_open(&config, &s) == HM_OK);
    uint64_t seq;
    int handle;
    const hm_message m = {.role = HM_USER, .bytes = "hello", .length = 5, .host = &handle, .time = -5};
    CHECK(hm_store_append(s, &m, &seq) == HM_OK && seq == 1);
    CHECK(hm_store_find(s, 1)->host == &handle && hm_store_find(s, 1)->time == -5);
    CHECK(memcmp(hm_store_bytes(s, hm_store_find(s, 1)), "hello", 5) == 0);
    hm_store_close(s);

    OPEN(b, 0);
    const hm_totals t = totals_of(b.store);
    CHECK(t.bytes == b.heap.in_use && t.last_seq == 0 && t.anchor_seq == 0 && t.newest_seq == 0 && t.start_seq == 0);
    CHECK(t.first_seq == 0 && t.reuse_count == 0);
    PROMPT(b, "");
    CHECK(!hm_store_find(b.store, 0) && !hm_store_find(b.store, 1) && !hm_store_from(b.store, 0));
    const hm_policy p = marks(0, 0);
    CHECK(hm_store_settle(b.store, &p) == 0);
    hm_store_refill(b.store, &p);
    CHECK(hm_store_trim(b.store) == HM_OK && hm_store_rewind(b.store, 0) == HM_OK);
    CHECK(hm_store_pin(b.store, 1, true) == HM_ENOENT && hm_store_set_cost(b.store, 1, 1, 1, 0) == HM_ENOENT);
    hm_store_clear(b.store);
    close_bench(&b);
}

static void test_refused_appends(void)
{
    OPEN(b, 0);
    CHECK(put(&b, HM_TOOL, 1, 1, HM_JOIN) == HM_EINVAL); /* no group yet */
    PUT(b, HM_SYSTEM, 1, 1, 0);
    CHECK(put(&b, HM_TOOL, 1, 1, HM_JOIN) == HM_EINVAL); /* the head is none */
    PUT(b, HM_USER, 1, 1, HM_HIDDEN);
    CHECK(put(&b, HM_TOOL, 1, 1, HM_JOIN) == HM_EINVAL); /* nor is what is hidden */
    turn(&b, 1, 3);
    dump *before = new_dump(b.store);
    CHECK(put(&b, (hm_role)4, 1, 1, 0) == HM_EINVAL);
    CHECK(put(&b, (hm_role)-1, 1, 1, 0) == HM_EINVAL);
    CHECK(put(&b, HM_USER, 1, 1, HM_JOIN) == HM_EINVAL);
    CHECK(put(&b, HM_TOOL, 1, 1, HM_JOIN | HM_HIDDEN) == HM_EINVAL);
    for (unsigned flag = HM_DEAD; flag; flag <<= 1)
        CHECK(put(&b, HM_ASSISTANT, 1, 1, flag) == HM_EINVAL);
    uint64_t seq = 77;
    const uint8_t byte = 0;
    hm_message m = {.role = HM_ASSISTANT, .length = 1};
    CHECK(hm_store_append(b.store, &m, &seq) == HM_EINVAL && seq == 77);
#if SIZE_MAX > UINT32_MAX
    m.bytes = &byte; /* never read: the size alone is refused */
    m.length = (size_t)UINT32_MAX + 1;
    CHECK(hm_store_append(b.store, &m, &seq) == HM_ELIMIT && seq == 77);
#endif
    /* A turn is numbered from its user record in 32 bits. */
    const uint64_t last = b.store->last_seq;
    b.store->last_seq = totals_of(b.store).anchor_seq + UINT32_MAX;
    m.bytes = &byte;
    m.length = 1;
    CHECK(hm_store_append(b.store, &m, &seq) == HM_ELIMIT && seq == 77);
    b.store->last_seq = last;
    dump *after = new_dump(b.store);
    CHECK(same_dump(before, after));
    b.store->last_seq = totals_of(b.store).anchor_seq + UINT32_MAX - 1;
    CHECK(hm_store_append(b.store, &m, &seq) == HM_OK && hm_store_find(b.store, seq)->turn == UINT32_MAX);
    free(before);
    free(after);
    close_bench(&b);
}

static void test_head(void)
{
    OPEN(b, 0);
    PUT(b, HM_SYSTEM, 7, 20, 0);
    PUT(b, HM_SYSTEM, 8, 0, 0);
    PUT(b, HM_ASSISTANT, 5, 9, 0);
    PUT(b, HM_SYSTEM, 6, 4, 0); /* behind another record: an ordinary one */
    hm_totals t = totals_of(b.store);
    CHECK(t.head_tokens == 15 && t.head_records == 2 && t.window_tokens == 11 && t.window_records == 2);
    CHECK(t.messages == 2 && t.turns == 0 && t.pinned_tokens == 0 && t.first_seq == 3);
    CHECK(hm_store_find(b.store, 1)->flags == (HM_HEAD | HM_PINNED) && hm_store_find(b.store, 4)->flags == 0);
    PROMPT(b, "1 2 3 4");
    PUT(b, HM_USER, 5, 3, 0); /* the first user record: a prompt starts with it */
    PROMPT(b, "1 2 5");
    t = totals_of(b.store);
    CHECK(t.evicted_records == 2 && t.evicted_tokens == 11 && t.messages == 1 && t.turns == 1 && t.anchor_seq == 5);
    const hm_policy p = marks(0, 0); /* not even this takes the head, the anchor or the newest group */
    CHECK(hm_store_settle(b.store, &p) == 0);
    PROMPT(b, "1 2 5");
    CHECK(view_is(&b, p, "1 2 5", 20, false));
    CHECK(hm_store_pin(b.store, 1, true) == HM_EINVAL && hm_store_pin(b.store, 2, false) == HM_EINVAL);
    CHECK(hm_store_set_cost(b.store, 2, 10, 4, 0) == HM_OK && totals_of(b.store).head_tokens == 17);
    CHECK(content_ok(hm_store_bytes(b.store, hm_store_find(b.store, 1)), 1, 20));
    CHECK(!hm_store_bytes(b.store, hm_store_find(b.store, 2)));
    CHECK(hm_store_from(b.store, 1)->seq == 5); /* from() is about the ring; history was dropped */
    CHECK(hm_store_rewind(b.store, 4) == HM_ENOENT && hm_store_rewind(b.store, 3) == HM_ENOENT);
    PROMPT(b, "1 2 5");
    CHECK(hm_store_rewind(b.store, 1) == HM_OK); /* all that was dropped is behind it */
    PROMPT(b, "1");
    PUT(b, HM_SYSTEM, 5, 3, 0); /* the head again */
    CHECK(totals_of(b.store).head_records == 2 && hm_store_find(b.store, 6)->flags & HM_HEAD);
    close_bench(&b);
}

/* A system record is in the head only where nothing came before it, not even something hidden that was dropped. */
static void test_head_behind_what_was_dropped(void)
{
    OPEN(b, 0);
    PUT(b, HM_SYSTEM, 7, 5, 0);
    PUT(b, HM_TOOL, 0, 5, HM_HIDDEN);
    const hm_policy p = marks(6, 0);
    (void)hm_store_settle(b.store, &p);
    CHECK(!hm_store_find(b.store, 2)); /* the head alone is above the mark: all else has left */
    PUT(b, HM_SYSTEM, 7, 5, 0);
    CHECK(totals_of(b.store).head_records == 1 && !(hm_store_find(b.store, 3)->flags & HM_HEAD));
    CHECK(hm_store_rewind(b.store, 1) == HM_OK);
    PUT(b, HM_SYSTEM, 7, 5, 0);
    CHECK(totals_of(b.store).head_records == 2);
    close_bench(&b);
}

static void test_before_the_first_user(void)
{
    OPEN(b, 1 << 20);
    PUT(b, HM_ASSISTANT, 4, 5, HM_PINNED);
    PUT(b, HM_SYSTEM, 3, 5, HM_PINNED);
    PUT(b, HM_ASSISTANT, 2, 5, 0);
    PROMPT(b, "1 2 3");
    CHECK(totals_of(b.store).pinned_tokens == 7 && totals_of(b.store).messages == 1);
    const hm_policy tight = marks(0, 0);
    PUT(b, HM_ASSISTANT, 2, 5, 0);
    CHECK(hm_store_settle(b.store, &tight) == 1);
    PROMPT(b, "1 2 4"); /* pinned ones stand apart, the newest group stays */
    PUT(b, HM_USER, 1, 1, 0);
    PROMPT(b, "2 5"); /* a pinned system record may stand before a user record, others may not */
    hm_totals t = totals_of(b.store);
    CHECK(t.evicted_records == 3 && t.evicted_tokens == 8 && t.kept_tokens == 3 && t.pinned_tokens == 3);
    CHECK(hm_store_rewind(b.store, 4) == HM_OK); /* there is no user record again */
    PROMPT(b, "1 2 4");
    PUT(b, HM_ASSISTANT, 1, 1, 0);
    CHECK(b.seq == 6); /* seqs are not reused */
    PROMPT(b, "1 2 4 6");
    close_bench(&b);
}

/* ------------------------------------------------------------------------------------------------ eviction */
static void test_settle(void)
{
    OPEN(b, 1 << 20);
    turn(&b, 2, 5); /* 1 2 3 */
    turn(&b, 1, 5); /* 4 5 */
    turn(&b, 1, 5); /* 6 7 */
    hm_policy p = marks(70, 0);
    CHECK(hm_store_settle(b.store, &p) == 0); /* at the high mark, not above it */
    PROMPT(b, "1 2 3 4 5 6 7");
    CHECK(view_is(&b, marks(69, 0), "4 5 6 7", 40, true)); /* a turn goes whole */
    CHECK(view_is(&b, marks(69, 30), "4 5 6 7", 40, true)); /* the low mark is 39, but 4 5 is the turn before the newest */
    CHECK(view_is(&b, marks(39, 0), "6 7", 20, true));      /* it goes when it must */
    CHECK(view_is(&b, marks(69, 29), "4 5 6 7", 40, true));
    CHECK(view_is(&b, marks(19, 0), "6 7", 20, false)); /* anchor and newest group stay */
    p = marks(69, 0);
    p.fixed = 30;
    CHECK(view_is(&b, p, "6 7", 50, true));
    p.fixed = 29;
    CHECK(view_is(&b, p, "4 5 6 7", 69, true));
    PROMPT(b, "1 2 3 4 5 6 7"); /* views changed nothing */
    p = marks(69, 0);
    CHECK(hm_store_settle(b.store, &p) == 3);
    PROMPT(b, "4 5 6 7");
    hm_totals t = totals_of(b.store);
    CHECK(t.evicted_records == 3 && t.evicted_tokens == 30 && t.history_records == 3 && t.start_seq == 4 && t.first_seq == 1);
    CHECK(t.history_bytes == 3 * 64 + 15 + 1 + 2 + 3 && t.dropped_records == 0 && t.turns == 2 && t.messages == 4);
    CHECK(hm_store_settle(b.store, &p) == 0);
    close_bench(&b);
}

static void test_counts_as_marks(void)
{
    OPEN(b, 0);
    PUT(b, HM_SYSTEM, 9, 5, 0);
    for (int i = 0; i < 4; i++)
        turn(&b, 1, 5); /* 2 3, 4 5, 6 7, 8 9 */
    hm_policy p = marks(1000, 0);
    p.max_turns = 2;
    CHECK(view_is(&b, p, "1 6 7 8 9", 49, true)); /* the turn in progress is one; the head none */
    p.max_turns = 0;
    CHECK(view_is(&b, p, "1 8 9", 29, true));
    p.max_turns = UINT64_MAX;
    p.max_messages = 5;
    CHECK(view_is(&b, p, "1 6 7 8 9", 49, true));
    p.max_messages = 1; /* the newest turn loses rounds; here it has none to give */
    CHECK(view_is(&b, p, "1 8 9", 29, true));
    p.max_messages = 3;
    p.overlap = 990; /* the low mark acts on tokens: half of 991 of room is given up at most, 505 stay */
    CHECK(view_is(&b, p, "1 8 9", 29, true));
    CHECK(hm_store_pin(b.store, 3, true) == HM_OK); /* 2 and 3 no longer count */
    p.overlap = 0;
    p.max_messages = 4;
    CHECK(view_is(&b, p, "1 2 3 6 7 8 9", 69, true));
    close_bench(&b);
}

static void test_low_mark(void)
{
    OPEN(b, 0);
    PUT(b, HM_SYSTEM, 20, 0, 0);
    for (int i = 0; i < 10; i++)
        turn(&b, 0, 0); /* 2 .. 11, 10 tokens each */
    /* 119 of 120 tokens: room is 99, so at most 49 are given up, whatever the overlap: down to 70. */
    CHECK(view_is(&b, marks(119, 1000), "1 7 8 9 10 11", 70, true));
    CHECK(view_is(&b, marks(119, 49), "1 7 8 9 10 11", 70, true));
    CHECK(view_is(&b, marks(119, 39), "1 6 7 8 9 10 11", 80, true));
    /* What is pinned is no room either: 79 of it, 39 are given up, down to 80. */
    CHECK(hm_store_pin(b.store, 2, true) == HM_OK && hm_store_pin(b.store, 3, true) == HM_OK);
    CHECK(view_is(&b, marks(119, 1000), "1 2 3 8 9 10 11", 80, true));
    hm_policy p = marks(119, 1000);
    p.fixed = 10; /* 69 of room, down to 85 of 130 */
    CHECK(view_is(&b, p, "1 2 3 9 10 11", 80, true));
    CHECK(view_is(&b, marks(30, 1000), "1 2 3 11", 50, false)); /* no room at all */
    close_bench(&b);
}

static void test_long_turn(void)
{
    OPEN(b, 1 << 20);
    turn(&b, 1, 5);             /* 1 2 */
    PUT(b, HM_USER, 10, 5, 0);  /* 3: the anchor */
    for (int i = 0; i < 4; i++) { /* 4 5 6, 7 8 9, ...: a call and two results */
        PUT(b, HM_ASSISTANT, 10, 5, 0);
        PUT(b, HM_TOOL, 10, 5, HM_JOIN);
        PUT(b, HM_TOOL, 10, 5, HM_JOIN);
    }
    PROMPT(b, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
    CHECK(view_is(&b, marks(149, 0), "3 4 5 6 7 8 9 10 11 12 13 14 15", 130, true));
    /* The margin takes older turns, but no round of the newest turn: that fits once they are gone. */
    CHECK(view_is(&b, marks(149, 70), "3 4 5 6 7 8 9 10 11 12 13 14 15", 130, true));
    /* Rounds must go: they go down to the low mark, whole, and the anchor stays. */
    CHECK(view_is(&b, marks(129, 0), "3 7 8 9 10 11 12 13 14 15", 100, true));
    CHECK(view_is(&b, marks(129, 30), "3 10 11 12 13 14 15", 70, true));
    CHECK(view_is(&b, marks(5, 0), "3 13 14 15", 40, false));
    hm_policy p = marks(129, 0);
    CHECK(hm_store_settle(b.store, &p) == 5);
    hm_totals t = totals_of(b.store);
    CHECK(t.kept_tokens == 10 && t.kept_records == 1 && t.turns == 1 && t.messages == 10 && t.anchor_seq == 3);
    PUT(b, HM_USER, 10, 5, 0); /* 16: the window begins inside an older turn, whose user record stays before it */
    PROMPT(b, "3 7 8 9 10 11 12 13 14 15 16");
    CHECK(totals_of(b.store).turns == 2 && totals_of(b.store).anchor_seq == 16);
    CHECK(view_is(&b, marks(109, 0), "16", 10, true)); /* and leaves with it */
    p = marks(109, 0);
    CHECK(hm_store_settle(b.store, &p) == 10 && totals_of(b.store).turns == 1);
    PROMPT(b, "16");
    p = marks(119, 9); /* refill: whole turns within the low mark, here none */
    hm_store_refill(b.store, &p);
    PROMPT(b, "16");
    p = marks(149, 9);
    hm_store_refill(b.store, &p);
    PROMPT(b, "3 4 5 6 7 8 9 10 11 12 13 14 15 16");
    p = marks(149, 0);
    p.max_messages = 15;
    hm_store_refill(b.store, &p);
    PROMPT(b, "3 4 5 6 7 8 9 10 11 12 13 14 15 16");
    p = marks(1000, 0);
    hm_store_refill(b.store, &p);
    PROMPT(b, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16");
    p = marks(30, 0); /* a refill may also have to evict */
    hm_store_refill(b.store, &p);
    PROMPT(b, "16");
    close_bench(&b);
}

/* Hidden records are numbered and kept, cost nothing and are never shown; a turn of them alone takes its user along. */
static void test_hidden(void)
{
    OPEN(b, 1 << 20);
    PUT(b, HM_USER, 10, 5, 0);
    PUT(b, HM_TOOL, 10, 5, HM_HIDDEN | HM_PINNED);
    PUT(b, HM_ASSISTANT, 10, 5, 0);
    CHECK(hm_store_find(b.store, 2)->tokens == 0 && hm_store_find(b.store, 2)->flags == HM_HIDDEN);
    CHECK(hm_store_pin(b.store, 2, true) == HM_ENOENT);
    PROMPT(b, "1 3");
    PUT(b, HM_ASSISTANT, 10, 5, 0);
    CHECK(hm_store_from(b.store, 2)->seq == 2);
    CHECK(hm_store_set_cost(b.store, 3, 4, 9, HM_HIDDEN | HM_DEAD | HM_PINNED) == HM_OK);
    CHECK(hm_store_find(b.store, 3)->flags == (HM_HIDDEN | HM_DEAD) && hm_store_find(b.store, 3)->fingerprint == 9);
    PROMPT(b, "1 4");
    CHECK(totals_of(b.store).window_tokens == 20 && totals_of(b.store).messages == 2);
    CHECK(hm_store_set_cost(b.store, 3, 5, 9, HM_HIDDEN) == HM_OK && totals_of(b.store).window_tokens == 20);
    CHECK(hm_store_set_cost(b.store, 3, 6, 9, 0) == HM_OK && totals_of(b.store).window_tokens == 26);
    PROMPT(b, "1 3 4");
    const hm_policy p = marks(20, 0);
    CHECK(hm_store_settle(b.store, &p) == 1); /* the hidden result and the answer behind it */
    PROMPT(b, "1 4");
    CHECK(hm_store_set_cost(b.store, 3, 8, 9, 0) == HM_OK); /* history: the prompt costs what it did */
    CHECK(hm_store_set_cost(b.store, 1, 8, 9, 0) == HM_OK && totals_of(b.store).kept_tokens == 8);
    CHECK(hm_store_set_cost(b.store, 4, 0, 9, HM_HIDDEN) == HM_OK);
    PROMPT(b, "1");
    PUT(b, HM_USER, 3, 5, 0); /* nothing of the old turn is shown any more but its user record, which leaves */
    PROMPT(b, "5");
    CHECK(totals_of(b.store).turns == 1 && totals_of(b.store).evicted_records == 2 && totals_of(b.store).evicted_tokens == 14);
    close_bench(&b);
}



/* ------------------------------------------------------------------------------------------------ reuse */

/* The share of a prompt that the one before begins with, by hand. */
static void test_reuse(void)
{
    OPEN(b, 0);
    hm_policy p = marks(50, 20);
    CHECK(totals_of(b.store).reuse_share == 1.0);
    for (int i = 0; i < 5; i++) { /* 10 | 10 of 20, 20 of 30, 30 of 40, 40 of 50 */
        PUT(b, HM_USER, 10, 0, 0);
        (void)hm_store_settle(b.store, &p);
        (void)hm_store_settle(b.store, &p); /* once for an append */
    }
    hm_totals t = totals_of(b.store);
    CHECK(t.reuse_count == 4 && t.reuse_share > 0.6791 && t.reuse_share < 0.6792); /* (1/2 + 2/3 + 3/4 + 4/5) / 4 */
    PUT(b, HM_USER, 10, 0, 0); /* 60 > 50: down to 30, nothing of the start is left */
    (void)hm_store_settle(b.store, &p);
    t = totals_of(b.store);
    CHECK(t.reuse_count == 5 && t.reuse_share > 0.5433 && t.reuse_share < 0.5434);
    for (uint64_t high = 0; high < 40; high += 5) { /* budgets of nothing, and smaller than what is in every prompt */
        p = marks(high, 0);
        p.fixed = 20;
        PUT(b, HM_USER, 10, 0, 0);
        (void)hm_store_settle(b.store, &p);
        CHECK(totals_of(b.store).reuse_share >= 0.0 && totals_of(b.store).reuse_share <= 1.0);
    }
    close_bench(&b);
}

int main(void)
{
    test_open();
    test_refused_appends();
    test_head();
    test_head_behind_what_was_dropped();
    test_before_the_first_user();
    test_settle();
    test_counts_as_marks();
    test_low_mark();
    test_long_turn();
    test_hidden();
    test_reuse();
    return report("store");
}
