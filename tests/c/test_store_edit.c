/* test_store_edit.c - changes to what is already in the message store: pins, rewind, clear. Expected prompts are lists of
 * seqs, written by hand, or what the store showed at the time that a rewind goes back to. */
#include "store_kit.h"

/* ------------------------------------------------------------------------------------------------ pins */
static void test_pins(void)
{
    OPEN(b, 100);
    turn(&b, 1, 30);                  /* 1 2 */
    PUT(b, HM_ASSISTANT, 10, 30, 0);  /* 3 4 5: a group that is pinned by its last record */
    PUT(b, HM_TOOL, 10, 30, HM_JOIN);
    PUT(b, HM_TOOL, 10, 30, HM_JOIN | HM_PINNED);
    for (uint64_t seq = 3; seq <= 5; seq++)
        CHECK(hm_store_find(b.store, seq)->flags & HM_PINNED);
    CHECK(hm_store_find(b.store, 1)->flags == HM_TURN_PINNED && hm_store_find(b.store, 2)->flags == 0);
    PUT(b, HM_TOOL, 10, 30, HM_JOIN); /* 6 joins a pinned group */
    CHECK(hm_store_find(b.store, 6)->flags == (HM_JOIN | HM_PINNED) && totals_of(b.store).pinned_tokens == 50);
    CHECK(totals_of(b.store).messages == 1);
    turn(&b, 3, 30);                  /* 7 8 9 10 */
    PUT(b, HM_USER, 10, 30, HM_PINNED); /* 11 */
    turn(&b, 1, 30);                  /* 12 13 */
    const hm_policy p = marks(90, 0);
    CHECK(hm_store_settle(b.store, &p) == 5); /* 2 and the turn of 7 */
    PROMPT(b, "1 3 4 5 6 11 12 13"); /* each in its place */
    hm_totals t = totals_of(b.store);
    CHECK(t.kept_records == 5 && t.pinned_tokens == 60 && t.messages == 2 && t.turns == 2);
    CHECK(!hm_store_find(b.store, 2) && t.first_seq > 7); /* history was dropped, its pinned records were copied */
    dump *d = new_dump(b.store);
    CHECK(contents_right(d));
    free(d);
    turn(&b, 1, 30); /* 14 15 */
    CHECK(hm_store_settle(b.store, &p) == 2); /* 12 13; the pinned user record 11 goes out of the window and stays */
    PROMPT(b, "1 3 4 5 6 11 14 15");
    CHECK(hm_store_pin(b.store, 11, false) == HM_OK);
    PROMPT(b, "1 3 4 5 6 14 15");
    t = totals_of(b.store);
    CHECK(t.evicted_records == 8 && t.evicted_tokens == 80);
    CHECK(hm_store_pin(b.store, 4, false) == HM_OK); /* the whole group and its user record */
    PROMPT(b, "14 15");
    t = totals_of(b.store);
    CHECK(t.evicted_records == 13 && t.evicted_tokens == 130 && t.pinned_tokens == 0 && t.kept_records == 0);
    CHECK(!hm_store_find(b.store, 1) && !hm_store_find(b.store, 5));
    CHECK(hm_store_pin(b.store, 4, false) == HM_ENOENT);
    CHECK(hm_store_pin(b.store, 15, true) == HM_OK && hm_store_find(b.store, 14)->flags == HM_TURN_PINNED);
    CHECK(hm_store_pin(b.store, 15, true) == HM_OK && totals_of(b.store).pinned_tokens == 20);
    CHECK(hm_store_pin(b.store, 15, false) == HM_OK && hm_store_find(b.store, 14)->flags == 0);
    close_bench(&b);
}

/* A pinned group of which a part was moved out of the ring already is still one group. */
static void test_pinned_group_in_two_places(void)
{
    for (uint64_t seq = 2; seq <= 4; seq++) {
        OPEN(b, 200);
        PUT(b, HM_USER, 1, 0, 0);
        PUT(b, HM_ASSISTANT, 1, 0, HM_PINNED);
        PUT(b, HM_TOOL, 1, 0, HM_JOIN);
        PUT(b, HM_TOOL, 1, 0, HM_JOIN);
        turn(&b, 0, 0);
        const hm_policy p = marks(13, 0);
        (void)hm_store_settle(b.store, &p);
        hm_store_set_limits(b.store, 0, 150);
        (void)hm_store_settle(b.store, &p);
        PROMPT(b, "1 2 3 4 5");
        CHECK(totals_of(b.store).first_seq == 3); /* 1 and 2 are apart, 3 and 4 still in the ring */
        CHECK(hm_store_pin(b.store, seq, false) == HM_OK);
        PROMPT(b, "5");
        CHECK(totals_of(b.store).evicted_records == 4 && totals_of(b.store).evicted_tokens == 4);
        close_bench(&b);
    }
}

static void test_pin_of_what_is_torn(void)
{
    OPEN(b, 140);
    PUT(b, HM_USER, 1, 0, 0);
    PUT(b, HM_ASSISTANT, 1, 0, 0);
    PUT(b, HM_TOOL, 1, 0, HM_JOIN);
    PUT(b, HM_ASSISTANT, 1, 0, 0);
    turn(&b, 0, 0);
    const hm_policy p = marks(10, 0);
    CHECK(hm_store_settle(b.store, &p) == 4 && totals_of(b.store).first_seq == 3);
    CHECK(hm_store_pin(b.store, 3, true) == HM_ENOENT); /* its call has left memory */
    CHECK(hm_store_pin(b.store, 4, true) == HM_ENOENT); /* the user record of its turn has */
    PROMPT(b, "5");
    close_bench(&b);
}

/* The rest of a torn group is not taken for a part of the record that stands apart before it. */
static void test_pin_before_what_is_torn(void)
{
    OPEN(b, 100);
    PUT(b, HM_USER, 1, 0, 0);
    PUT(b, HM_ASSISTANT, 1, 0, 0);
    PUT(b, HM_TOOL, 1, 0, HM_JOIN);
    PUT(b, HM_ASSISTANT, 1, 0, 0);
    const hm_policy p = marks(2, 0);
    CHECK(hm_store_settle(b.store, &p) == 2 && totals_of(b.store).first_seq == 3);
    PROMPT(b, "1 4");
    CHECK(hm_store_pin(b.store, 1, true) == HM_OK);
    PROMPT(b, "1 4");
    CHECK(hm_store_find(b.store, 3)->flags == HM_JOIN && totals_of(b.store).pinned_tokens == 1);
    close_bench(&b);
}

/* The user record that stood before the window left memory while all of its turn was hidden: without it nothing of the
 * turn can be shown again. */
static void test_shown_again_too_late(void)
{
    OPEN(b, 0);
    turn(&b, 2, 3); /* 1 2 3 */
    const hm_policy p = marks(25, 0), tight = marks(15, 0);
    CHECK(hm_store_settle(b.store, &p) == 1);
    PUT(b, HM_USER, 2, 3, 0);
    PROMPT(b, "1 3 4");
    CHECK(hm_store_set_cost(b.store, 3, 10, 1, HM_HIDDEN) == HM_OK);
    PROMPT(b, "4");
    CHECK(!hm_store_find(b.store, 1) && totals_of(b.store).turns == 1);
    dump *before = new_dump(b.store);
    if (CHECK(hm_store_set_cost(b.store, 3, 10, 2, 0) == HM_ENOENT)) {
        dump *after = new_dump(b.store);
        CHECK(same_dump(before, after));
        free(after);
        CHECK(hm_store_settle(b.store, &tight) == 0);
        PROMPT(b, "4");
    }
    free(before);
    close_bench(&b);
}

/* A group that costs nothing is counted like any other. */
static void test_unpin_of_no_cost(void)
{
    OPEN(b, 0);
    PUT(b, HM_USER, 0, 3, HM_PINNED);
    turn(&b, 1, 3);
    turn(&b, 1, 3);
    const hm_policy p = marks(20, 0);
    CHECK(hm_store_settle(b.store, &p) == 2);
    PROMPT(b, "1 4 5");
    CHECK(hm_store_pin(b.store, 1, false) == HM_OK && totals_of(b.store).evicted_records == 3);
    PROMPT(b, "4 5");
    close_bench(&b);
}

/* ------------------------------------------------------------------------------------------------ rewind, clear */
static void test_rewind(void)
{
    enum { RECORDS = 120 };
    static char prompts[RECORDS + 1][1024];
    OPEN(b, 1 << 20);
    const hm_policy p = marks(200, 60);
    PUT(b, HM_SYSTEM, 10, 4, 0);
    for (uint64_t seq = 2; seq <= RECORDS; seq++) {
        const bool user = seq % 7 == 2 && (seq < 40 || seq > 90); /* in between: one long turn */
        PUT(b, user ? HM_USER : seq % 3 ? HM_ASSISTANT : HM_TOOL, 9, seq % 50, !user && seq % 3 == 0 ? HM_JOIN : 0);
        (void)hm_store_settle(b.store, &p);
        const hm_view view = hm_store_view(b.store, &NO_MARKS);
        strcpy(prompts[seq], seqs_of(b.store, &view));
    }
    for (uint64_t seq = RECORDS; seq > 1; seq -= seq % 4 + 1) { /* exactly the window of that time, by one rewind each */
        CHECK(hm_store_rewind(b.store, seq) == HM_OK);
        PROMPT(b, prompts[seq]);
        CHECK(totals_of(b.store).last_seq == RECORDS && hm_store_settle(b.store, &p) == 0);
        PROMPT(b, prompts[seq]);
        if (seq < 6)
            break;
    }
    PUT(b, HM_USER, 1, 1, 0);
    CHECK(b.seq == RECORDS + 1 && handle_released(&handle_state[RECORDS - 1]) && !handle_released(&handle_state[0]));
    CHECK(hm_store_rewind(b.store, UINT64_MAX) == HM_OK && hm_store_rewind(b.store, 0) == HM_OK);
    PROMPT(b, "");
    CHECK(totals_of(b.store).dropped_records == RECORDS + 1 && totals_of(b.store).anchor_seq == 0);
    CHECK(handles_left() == 0);
    close_bench(&b);
}

static void test_rewind_into_what_was_dropped(void)
{
    OPEN(b, 0);
    for (int i = 0; i < 3; i++)
        turn(&b, 3, 5); /* 1-4, 5-8, 9-12 */
    const hm_policy p = marks(30, 0);
    CHECK(hm_store_settle(b.store, &p) == 9); /* 9 stands apart, 11 and 12 follow it */
    PROMPT(b, "9 11 12");
    dump *before = new_dump(b.store);
    CHECK(hm_store_rewind(b.store, 10) == HM_ENOENT && hm_store_rewind(b.store, 4) == HM_ENOENT);
    dump *after = new_dump(b.store);
    CHECK(same_dump(before, after));
    CHECK(hm_store_rewind(b.store, 11) == HM_OK);
    PROMPT(b, "9 11");
    CHECK(hm_store_rewind(b.store, 0) == HM_OK); /* nothing is needed for that */
    PROMPT(b, "");
    PUT(b, HM_TOOL, 1, 4, HM_HIDDEN);
    CHECK(hm_store_rewind(b.store, 13) == HM_OK && totals_of(b.store).first_seq == 13);
    free(before);
    free(after);
    close_bench(&b);
}

static void test_clear(void)
{
    OPEN(b, 0);
    for (int round = 0; round < 3; round++) {
        PUT(b, HM_SYSTEM, 5, 6, 0);
        PUT(b, HM_USER, 5, 6, HM_PINNED);
        turn(&b, 2, 6);
        const hm_policy p = marks(1, 0);
        CHECK(hm_store_settle(b.store, &p) == 1);
        CHECK(totals_of(b.store).kept_records == 2); /* the pinned record and the anchor, both copied */
        hm_store_clear(b.store);
        hm_totals t = totals_of(b.store);
        CHECK(handles_left() == 0 && t.last_seq == 5 * (uint64_t)(round + 1));
        CHECK(t.dropped_records == t.last_seq); /* all of them left memory, the head too */
        CHECK(t.head_tokens + t.kept_tokens + t.window_tokens + t.turns + t.messages + t.history_bytes + t.pinned_tokens == 0);
        CHECK(!hm_store_find(b.store, t.last_seq) && !hm_store_from(b.store, 0) && t.newest_seq == 0);
        PROMPT(b, "");
    }
    close_bench(&b);
}

int main(void)
{
    test_pins();
    test_pinned_group_in_two_places();
    test_pin_of_what_is_torn();
    test_pin_before_what_is_torn();
    test_shown_again_too_late();
    test_unpin_of_no_cost();
    test_rewind();
    test_rewind_into_what_was_dropped();
    test_clear();
    return report("store_edit");
}
