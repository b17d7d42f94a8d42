/* test_grapheme.c - hm_grapheme_floor and hm_grapheme_ceil.
 *
 * The vectors are written by hand from the rules of UAX #29 (Unicode 18), much as its test files have them: code
 * points in hexadecimal, `|` where a boundary is, `x` where none is. Each runs at every width that its code points fit,
 * in a buffer of exactly its size, so that AddressSanitizer sees a read outside it. */
#include "hmem.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

static unsigned passed, failed;

static const char *const vectors[] = {
    "|",             /* the empty text: position 0 is its length */
    "| 61 | 62 |",   /* GB999 */
    "| D x A |",     /* GB3 */
    "| A | D |",     /* GB4, GB5 */
    "| D | D x A | A |",
    "| 61 | D x A | 308 |",
    "| 61 | 1 | 308 |",
    "| 61 | AD | 62 |",          /* a soft hyphen is a Control */
    "| 600 | A |",               /* GB5 before GB9b */
    "| E0001 | 61 | E0FFF | 61 |", /* unassigned in the range of the tags: Control */
    "| E9 | A9 | AE |",
    "| 65 x 301 |", /* GB9 */
    "| 65 x 301 x 308 | 65 |",
    "| 301 x 301 |", /* nothing to extend at the start */
    "| 61 x 200D x 200C | 61 |",
    "| 61 x E0100 | 61 |", /* a variation selector */
    "| E4 x 308 | 4E2D x 308 |",
    "| 61 x 903 | 62 |",   /* GB9a */
    "| E01 | E40 | E01 x E33 |",
    "| 61 | 600 x 62 |",   /* GB9b */
    "| 600 x 600 x 308 | 62 |",
    "| 600 x 1F1E6 x 1F1E6 | 1F1E6 |",
    "| 1100 x 1100 x 1160 x 1160 x 11A8 x 11A8 | 1100 |", /* GB6, GB7, GB8 */
    "| AC00 x 11A8 | AC01 x 11A8 | 1100 |",
    "| AC00 x 1160 x 11A8 | 1160 |",
    "| AC01 | 1160 | AC00 | AC01 |",
    "| 1100 x AC00 x 1160 | 1100 x AC01 | 1160 |",
    "| 11A8 | 1160 x 11A8 | AC00 |",
    "| 1100 x 308 | 1160 |",
    "| D7A3 x 11A8 | D7A4 | 1160 |",       /* D7A4 is no syllable */
    "| 915 | 924 |",                       /* GB9c */
    "| 915 x 94D x 924 |",
    "| 915 x 94D x 94D x 924 |",
    "| 915 x 94D x 200D x 924 |",
    "| 915 x 93C x 200D x 94D x 924 |",
    "| 915 x 93C x 94D x 200D x 924 x 94D x 92F |",
    "| 915 x 94D | 61 |",
    "| 915 x 94D x 200C | 924 |",          /* U+200C ends the reach of the linker */
    "| 915 x 200C x 94D x 924 |",
    "| 915 x 94D x 903 | 924 |",           /* so does a SpacingMark */
    "| 915 x 200D | 924 |",
    "| 61 x 94D x 924 |",                  /* since Unicode 18: no consonant is asked for in front */
    "| 25CC x 94D x 915 |",
    "| 94D x 915 |",
    "| D | 94D x 915 |",
    "| 308 | 915 |",
    "| 61 | 1CF5 x 995 |",                 /* linkers that are no Extend */
    "| 1CF5 x 308 x 995 |",
    "| 1CF5 x 200C | 995 |",
    "| 1CF6 | 61 |",
    "| 11A3A x 11A0B |",
    "| 1780 x 17D2 x 1780 | 1780 |",       /* Khmer */
    "| 1F468 x 200D x 1F469 x 200D x 1F467 x 200D x 1F466 |", /* GB11 */
    "| 1F476 x 1F3FF | 1F476 |",
    "| 1F476 x 1F3FF x 308 x 200D x 1F476 x 1F3FF |",
    "| 1F469 x 200C x 200D x 1F469 |",
    "| 1F469 x 94D x 200D x 1F469 |",
    "| 1F469 x 200D x 200D | 1F469 |",     /* one ZWJ only */
    "| 1F469 x 200D x 308 | 1F469 |",
    "| 1F469 x 903 x 200D | 1F469 |",
    "| 61 x 200D | 1F6D1 |",
    "| 200D | 1F6D1 |",
    "| 1F468 x 200D | 61 |",
    "| 2702 x 200D x 2702 |",
    "| A9 x 200D x AE |",
    "| 1F1E6 x 1F1E7 | 1F1E8 | 61 |",      /* GB12, GB13 */
    "| 61 | 1F1E6 x 1F1E7 | 1F1E8 x 1F1E9 | 62 |",
    "| 1F1E6 x 1F1E7 x 200D | 1F1E8 |",
    "| 1F1E6 x 200D | 1F1E7 x 1F1E8 |",
    "| 1F1E6 x 308 | 1F1E7 x 1F1E8 |",
    "| 61 | 1F468 x 200D x 1F469 | 65 x 301 | 1F1E8 x 1F1F3 | 1F44D x 1F3FD | 4E2D |",
    "| D83D | DE00 |",                     /* surrogates stand alone, even when they would make a pair */
    "| D800 x 308 | DFFF |",
    "| 10FFFF x 308 | 10FFFF |",
    "| 110000 | 110000 x 308 |",           /* beyond Unicode */
    "| FFFFFFFF | 80000000 x 200D | 1F468 |",
    "| E0FFF | E1000 x 308 | DFFFF x 308 | 1FFFF x 308 | 20000 x 308 |", /* the edges of the table */
};

static void check(bool good, const char *vector, unsigned width, size_t position, const char *what) {
    if (good) {
        passed++;
        return;
    }
    failed++;
    printf("failed: %s width %u position %zu: %s\n", vector, width, position, what);
}

/* A copy of `points` in units of `width`, allocated with exactly that size; the caller frees it. */
static void *narrow(const uint32_t *points, size_t length, unsigned width) {
    void *text = malloc(length ? length * width : 1);
    if (!text)
        exit(2);
    for (size_t i = 0; i < length; i++) {
        if (width == 1)
            ((uint8_t *)text)[i] = (uint8_t)points[i];
        else if (width == 2)
            ((uint16_t *)text)[i] = (uint16_t)points[i];
        else
            ((uint32_t *)text)[i] = points[i];
    }
    return text;
}

static void run(const char *vector) {
    uint32_t points[MOST], all = 0;
    bool boundary[MOST + 1] = {false};
    size_t length = 0;
    for (const char *c = vector; *c;) {
        if (*c == '|' || *c == 'x') {
            boundary[length] = *c == '|';
            c++;
        } else if (*c == ' ') {
            c++;
        } else {
            char *end;
            points[length] = (uint32_t)strtoul(c, &end, 16);
            if (end == c || length + 1 == MOST)
                exit(2);
            all |= points[length++];
            c = end;
        }
    }
    for (unsigned width = 1; width <= 4; width *= 2) {
        if (width < 4 && all >> (8 * width))
            continue;
        void *text = narrow(points, length, width);
        for (size_t position = 0; position <= length; position++) {
            size_t below = position, above = position;
            while (!boundary[below])
                below--;
            while (!boundary[above])
                above++;
            check(hm_grapheme_floor(text, length, width, position) == below, vector, width, position, "floor");
            check(hm_grapheme_ceil(text, length, width, position) == above, vector, width, position, "ceil");
        }
        free(text);
    }
}

/* Any code points at all: floor and ceil agree on one set of boundaries, which holds 0 and the length. */
static void run_random(void) {
    static const uint32_t lively[] = {0xA,   0xD,    0x1,    0x61,   0x308,  0x200C, 0x200D,  0x600,
                                      0x903, 0x94D,  0x915,  0x1100, 0x1160, 0x11A8, 0xAC00,  0xAC01,
                                      0xD800, 0xDC00, 0x1CF5, 0x1F1E6, 0x1F468, 0xE007F};
    uint64_t state = 20260101;
    for (int round = 0; round < 20000; round++) {
        uint32_t points[MOST];
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t length = (size_t)(state >> 33) % 24;
        for (size_t i = 0; i < length; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint32_t draw = (uint32_t)(state >> 32);
            points[i] = draw % 4 ? lively[(draw >> 8) % (sizeof lively / sizeof *lively)] : draw >> (draw >> 2) % 32;
        }
        void *text = narrow(points, length, 4);
        size_t last = 0;
        for (size_t position = 0; position <= length; position++) {
            size_t below = hm_grapheme_floor(text, length, 4, position);
            size_t above = hm_grapheme_ceil(text, length, 4, position);
            if (below == position)
                last = position;
            check(below == last && above >= position && above <= length, "random", 4, position, "floor");
            check((below == position) == (above == position), "random", 4, position, "floor and ceil disagree");
            check(hm_grapheme_floor(text, length, 4, above) == above, "random", 4, position, "ceil is no boundary");
            check(above == position || hm_grapheme_ceil(text, length, 4, position + 1) == above, "random", 4, position,
                  "a boundary below ceil");
        }
        check(last == length, "random", 4, length, "the end is a boundary");
        free(text);
    }
}

/* Long runs, and positions past the end, which count as the end. */
static void run_long(void) {
    enum { LONG = 100001 };
    uint32_t *points = malloc(LONG * sizeof *points);
    if (!points)
        exit(2);
    for (size_t i = 0; i < LONG; i++)
        points[i] = 0x1F1E6;
    check(hm_grapheme_floor(points, LONG, 4, LONG - 1) == LONG - 1, "flags", 4, LONG - 1, "floor");
    check(hm_grapheme_floor(points, LONG, 4, LONG - 2) == LONG - 3, "flags", 4, LONG - 2, "floor");
    check(hm_grapheme_ceil(points, LONG, 4, LONG - 2) == LONG - 1, "flags", 4, LONG - 2, "ceil");
    for (size_t i = 0; i < LONG; i++)
        points[i] = i % 2 ? 0x94D : 0x915;
    check(hm_grapheme_floor(points, LONG, 4, LONG - 1) == 0, "conjunct", 4, LONG - 1, "floor");
    check(hm_grapheme_ceil(points, LONG, 4, 1) == LONG, "conjunct", 4, 1, "ceil");
    check(hm_grapheme_floor(points, LONG, 4, LONG + 7) == LONG, "past the end", 4, LONG, "floor");
    check(hm_grapheme_ceil(points, LONG, 4, LONG + 7) == LONG, "past the end", 4, LONG, "ceil");
    check(hm_grapheme_floor(NULL, 0, 1, 0) == 0 && hm_grapheme_ceil(NULL, 0, 1, 0) == 0, "no text", 1, 0, "NULL");
    free(points);
}

int main(void) {
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        run(vectors[i]);
    run_random();
    run_long();
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
