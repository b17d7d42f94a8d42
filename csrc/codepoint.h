/* codepoint.h - private: one code point out of a text whose units are 1, 2 or 4 bytes wide. */
#ifndef HM_CODEPOINT_H
#define HM_CODEPOINT_H

#include <stddef.h>
#include <stdint.h>

/* The code point at index `i` of `text`, whose units are `width` (1, 2 or 4) bytes in native order and aligned as such.
 * The caller keeps `i` below the length. */
static inline uint32_t hm_codepoint_at(const void *text, size_t i, unsigned width) {
    if (width == 1)
        return ((const uint8_t *)text)[i];
    if (width == 2)
        return ((const uint16_t *)text)[i];
    return ((const uint32_t *)text)[i];
}

#endif
