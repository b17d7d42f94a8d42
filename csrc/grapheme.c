/* grapheme.c - extended grapheme cluster boundaries by the rules GB3 to GB13 of UAX #29, in the form of Unicode 18.
 *
 * Most rules look at the two code points beside a position; the table and two bit sets answer them. Three look further
 * back, and only when the pair beside the position calls for it:
 *   GB9c      before a consonant, over what a linker reaches across;
 *   GB11      before a pictograph that follows a ZWJ, over the Extend run in front of the ZWJ;
 *   GB12, 13  between two regional indicators, over their run, whose parity decides.
 *
 * Cost. O(1) in ordinary text. At worst linear in the length of the cluster and of the run in front of it: inside such
 * a run no other position looks back, so that one call reads a code point at most a few times. Extend runs are part of
 * the cluster anyway; a run of n regional indicators is the one case where two code points can take n reads.
 *
 * A code point without a row in the table - unassigned, a lone surrogate, above U+10FFFF - is OTHER: a cluster of its
 * own, with what extends it. */
#include "codepoint.h"
#include "grapheme_table.h"
#include "hmem.h"

#define SET(class) (1u << (class))

/* GB4, GB5 */
static const uint32_t breakers = SET(GC_CR) | SET(GC_LF) | SET(GC_CONTROL);
/* GB9, GB9a: these never begin a cluster. */
static const uint32_t followers =
    SET(GC_ZWJ) | SET(GC_LINKER) | SET(GC_EXTEND) | SET(GC_NON_JOINER) | SET(GC_SPACING);
/* GB9c: what a linker reaches across. */
static const uint32_t transparent = SET(GC_ZWJ) | SET(GC_EXTEND);
/* GB9c: InCB=Linker */
static const uint32_t linkers = SET(GC_LINKER) | SET(GC_STACKER);
/* GB11: Extend, without the ZWJ. */
static const uint32_t extenders = SET(GC_LINKER) | SET(GC_EXTEND) | SET(GC_NON_JOINER);

static inline bool in_set(uint32_t set, unsigned class) {
    return (set >> class) & 1u;
}

static unsigned class_at(const void *text, size_t i, unsigned width) {
    uint32_t point = hm_codepoint_at(text, i, width);
    if (point >= GC_LOW_END) {
        point -= GC_HIGH_START; /* wraps around, to a great number, between the ranges */
        if (point >= GC_HIGH_COUNT)
            return GC_OTHER;
        point += GC_LOW_END;
    }
    uint32_t row = gc_rows[point >> GC_BLOCK_SHIFT];
    return gc_classes[(row << GC_BLOCK_SHIFT) | (point & ((1u << GC_BLOCK_SHIFT) - 1u))];
}

/* GB6, GB7, GB8: the parts of a Hangul syllable. */
static bool joins_hangul(unsigned before, unsigned after) {
    switch (before) {
    case GC_L:
        return in_set(SET(GC_L) | SET(GC_V) | SET(GC_LV) | SET(GC_LVT), after);
    case GC_LV:
    case GC_V:
        return in_set(SET(GC_V) | SET(GC_T), after);
    case GC_LVT:
    case GC_T:
        return after == GC_T;
    default:
        return false;
    }
}

/* GB9c: does a linker reach the consonant at `i`? */
static bool joins_consonant(const void *text, unsigned width, size_t i) {
    while (i > 0) {
        unsigned class = class_at(text, --i, width);
        if (!in_set(transparent, class))
            return in_set(linkers, class);
    }
    return false;
}

/* GB11: is the ZWJ at `i` behind a pictograph? */
static bool joins_pictograph(const void *text, unsigned width, size_t i) {
    while (i > 0) {
        unsigned class = class_at(text, --i, width);
        if (!in_set(extenders, class))
            return class == GC_PICTOGRAPH;
    }
    return false;
}

/* GB12, GB13: does the regional indicator at `i` close the pair of the one in front of it? */
static bool joins_regional(const void *text, unsigned width, size_t i) {
    size_t start = i;
    while (start > 0 && class_at(text, start - 1, width) == GC_REGIONAL)
        start--;
    return (i - start) % 2 != 0;
}

/* Is there a boundary in front of the code point at `i`, 0 < i < length? `after` is its class, `before` the one of
 * the code point at i - 1. */
static bool is_boundary(const void *text, unsigned width, size_t i, unsigned before, unsigned after) {
    if (in_set(breakers, before) || in_set(breakers, after))
        return !(before == GC_CR && after == GC_LF); /* GB3 comes first */
    if (in_set(followers, after) || before == GC_PREPEND) /* GB9, GB9a, GB9b */
        return false;
    switch (after) {
    case GC_CONSONANT:
        return !joins_consonant(text, width, i);
    case GC_PICTOGRAPH:
        return before != GC_ZWJ || !joins_pictograph(text, width, i - 1);
    case GC_REGIONAL:
        return before != GC_REGIONAL || !joins_regional(text, width, i);
    default:
        return !joins_hangul(before, after); /* GB999 when they are none */
    }
}

size_t hm_grapheme_floor(const void *text, size_t length, unsigned width, size_t position) {
    if (position >= length)
        return length;
    unsigned after = class_at(text, position, width);
    while (position > 0) {
        unsigned before = class_at(text, position - 1, width);
        if (is_boundary(text, width, position, before, after))
            break;
        after = before;
        position--;
    }
    return position;
}

size_t hm_grapheme_ceil(const void *text, size_t length, unsigned width, size_t position) {
    if (position == 0 || position >= length)
        return position == 0 ? 0 : length;
    unsigned before = class_at(text, position - 1, width);
    while (position < length) {
        unsigned after = class_at(text, position, width);
        if (is_boundary(text, width, position, before, after))
            break;
        before = after;
        position++;
    }
    return position;
}
