/* test_store_condense.c - what memories that condense ask of the store: advance, hold, exceeds, slack, and a view's handles and
 * contents in one pass. Expected prompts are lists of seqs, written by hand. */
#include "store_kit.h"

static void test_advance(void)
{
    OPEN(b, 1 << 20);
    turn(&b, 1, 5); /* 1 2 */
    turn(&b, 2, 5); /* 3 4 5 */
    turn(&b, 1, 5); /* 6 7 */
    const hm_policy p = marks(1000, 0);
    (void)hm_store_settle(b.store, &p);
    CHECK(hm_store_advance(b.store, 1) == HM_OK); /* where it is */
    PROMPT(b, "1 2 3 4 5 6 7");
    CHECK(hm_store_advance(b.store, 3) == HM_OK);
    PROMPT(b, "3 4 5 6 7");
    CHECK(totals_of(b.store).evicted_records == 2 && totals_of(b.store).outside_tokens == 20);
    CHECK(hm_store_advance(b.store, 5) == HM_OK); /* inside a turn: its user record stands apart */
    PROMPT(b, "3 5 6 7");
    hm_totals t = totals_of(b.store);
    CHECK(t.turns == 2 && t.messages == 4 && t.kept_records == 1 && t.evicted_records == 3 && t.outside_records == 3);
    CHECK(hm_store_advance(b.store, 2) == HM_ENOENT && hm_store_advance(b.store, 99) == HM_ENOENT);
    CHECK(hm_store_advance(b.store, 6) == HM_OK); /* the rest of that turn goes, and its user record with it */
    PROMPT(b, "6 7");
    t = totals_of(b.store);
    CHECK(t.evicted_records == 5 && t.kept_records == 0 && t.turns == 1);
    CHECK(hm_store_advance(b.store, 7) == HM_OK); /* the newest turn: the anchor stays */
    PROMPT(b, "6 7");
    PUT(b, HM_ASSISTANT, 10, 5, 0);      /* 8 */
    PUT(b, HM_TOOL, 10, 5, HM_JOIN);     /* 9 */
    CHECK(hm_store_advance(b.store, 9) == HM_EINVAL); /* opens no group */
    CHECK(hm_store_advance(b.store, 8) == HM_OK);
    PROMPT(b, "6 8 9");
    CHECK(hm_store_rewind(b.store, 7) == HM_OK);
    PROMPT(b, "6 7");
    close_bench(&b);
}

static void test_advance_keeps_pins(void)
{
    OPEN(b, 0);
    PUT(b, HM_SYSTEM, 5, 5, 0);            /* 1 */
    PUT(b, HM_USER, 10, 5, 0);             /* 2 */
    PUT(b, HM_ASSISTANT, 10, 5, HM_PINNED); /* 3 */
    turn(&b, 1, 5);                        /* 4 5 */
    turn(&b, 1, 5);                        /* 6 7 */
    CHECK(hm_store_advance(b.store, 6) == HM_OK);
    PROMPT(b, "1 2 3 6 7");
    CHECK(hm_store_find(b.store, 4)); /* leaves memory when the store is settled, not before */
    const hm_policy p = marks(1000, 0);
    (void)hm_store_settle(b.store, &p);
    CHECK(!hm_store_find(b.store, 4) && totals_of(b.store).history_records == 0);
    PROMPT(b, "1 2 3 6 7");
    close_bench(&b);
}

static void test_hold(void)
{
    OPEN(b, 0);
    const hm_policy p = marks(20, 0);
    hm_store_hold(b.store, 3);
    for (int i = 0; i < 10; i++) {
        turn(&b, 1, 5);
        (void)hm_store_settle(b.store, &p);
    }
    CHECK(totals_of(b.store).first_seq == 3 && !hm_store_find(b.store, 2)); /* 1 2 were dropped, the rest is held */
    hm_store_hold(b.store, 9);
    (void)hm_store_settle(b.store, &p);
    CHECK(totals_of(b.store).first_seq == 9);
    hm_store_set_limits(b.store, (size_t)totals_of(b.store).bytes, 0); /* at the byte limit nothing is held */
    for (int i = 0; i < 300; i++) {
        PUT(b, HM_USER, 10, 5, 0);
        (void)hm_store_settle(b.store, &p);
    }
    CHECK(totals_of(b.store).first_seq > 9);
    hm_store_hold(b.store, 0);
    (void)hm_store_settle(b.store, &p);
    CHECK(totals_of(b.store).history_records == 0);
    close_bench(&b);
}

static void test_exceeds(void)
{
    OPEN(b, 0);
    PUT(b, HM_SYSTEM, 100, 5, 0);
    PUT(b, HM_USER, 10, 5, HM_PINNED);
    turn(&b, 1, 5); /* 20 tokens, 2 messages that are not pinned */
    const hm_notice at = {20, 2, 1}, tokens = {19, UINT64_MAX, UINT64_MAX}, records = {UINT64_MAX, 1, UINT64_MAX};
    const hm_notice never = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    CHECK(!hm_store_exceeds(b.store, &at) && hm_store_exceeds(b.store, &tokens) && hm_store_exceeds(b.store, &records));
    turn(&b, 1, 5);
    const hm_policy p = marks(130, 0);
    (void)hm_store_settle(b.store, &p);
    const hm_notice evicted = {UINT64_MAX, UINT64_MAX, 2}, more = {UINT64_MAX, UINT64_MAX, 3};
    CHECK(hm_store_exceeds(b.store, &evicted) && !hm_store_exceeds(b.store, &more) && !hm_store_exceeds(b.store, &never));
    close_bench(&b);
}

/* Older turns go above the high mark; rounds of the newest turn only above high + slack. */
static void test_slack(void)
{
    OPEN(b, 1 << 20);
    turn(&b, 1, 5); /* 1 2 */
    turn(&b, 5, 5); /* 3 .. 8 */
    hm_policy p = marks(30, 0);
    p.slack = 30;
    CHECK(hm_store_settle(b.store, &p) == 2); /* 80 > 30: the older turn */
    PROMPT(b, "3 4 5 6 7 8");                 /* 60 <= 30 + 30 */
    CHECK(hm_store_view(b.store, &p).fits);
    PUT(b, HM_ASSISTANT, 10, 5, 0);           /* 9: 70 > 60 */
    CHECK(hm_store_settle(b.store, &p) == 1);
    PROMPT(b, "3 5 6 7 8 9");
    close_bench(&b);
}

static void test_one_pass(void)
{
    OPEN(b, 1 << 20);
    PUT(b, HM_SYSTEM, 5, 9, 0);
    for (int i = 0; i < 6; i++)
        turn(&b, 1, 40);
    const hm_policy p = marks(60, 0);
    (void)hm_store_settle(b.store, &p);
    hm_view view = hm_store_view(b.store, &p);
    void *hosts[64];
    CHECK(view.most <= 64);
    const size_t n = hm_store_hosts(b.store, &view, hosts);
    uint64_t cursor = 0;
    size_t i = 0, bytes = 0;
    for (const hm_record *r; (r = hm_store_next(b.store, &view, &cursor)) != NULL; i++) {
        CHECK(i < n && hosts[i] == r->host);
        bytes += r->length;
    }
    CHECK(i == n && n > 1 && hm_store_gather_size(b.store, &view) == bytes);
    size_t packed = 0;
    CHECK(hm_store_packed(b.store, &view, &packed) == SIZE_MAX); /* these have handles */
    CHECK(hm_store_set_cost(b.store, totals_of(b.store).newest_seq, 10, 1, HM_DEAD) == HM_OK);
    view = hm_store_view(b.store, &p);
    CHECK(hm_store_hosts(b.store, &view, hosts) == SIZE_MAX); /* a dead call is shown in another form */
    close_bench(&b);
}

int main(void)
{
    test_advance();
    test_advance_keeps_pins();
    test_hold();
    test_exceeds();
    test_slack();
    test_one_pass();
    return report("store_condense");
}
