/* alloc.c - the default allocator. */
#include "hmem.h"

#include <stdlib.h>

static void *default_alloc(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void default_release(void *context, void *block, size_t size)
{
    (void)context;
    (void)size;
    free(block);
}

const hm_allocator hm_default_allocator = {default_alloc, default_release, NULL};
