/* base/memory.c - allocation with checked sizes, growing arrays, and how much memory the process
 * holds. */
#include "base/memory.h"

#include "base/error.h"
#include "base/system/system.h"

#include <stdlib.h>
#include <string.h>

bool tsri_base_add(size_t a, size_t b, size_t *sum) {
    return !__builtin_add_overflow(a, b, sum);
}

bool tsri_base_mul(size_t a, size_t b, size_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

bool tsri_base_mul_i64(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

static tsr_status none_left(size_t count, size_t size) {
    return tsri_base_fail(TSR_E_HOST_MEMORY,
                          "out of host memory: %zu items of %zu bytes were wanted", count, size);
}

tsr_status tsri_base_new(size_t count, size_t size, void *out) {
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        return none_left(count, size);
    memcpy(out, &p, sizeof p);
    return TSR_OK;
}

tsr_status tsri_base_new_table(size_t count, size_t size, void *out) {
    enum { LARGE = 4 << 20 };
    size_t bytes;
    void *p = NULL;
    if (tsri_base_mul(count, size, &bytes) && bytes >= LARGE &&
        (p = tsri_system_new_large_pages(bytes)) != NULL) {
        memset(p, 0, bytes);
        memcpy(out, &p, sizeof p);
        return TSR_OK;
    }
    return tsri_base_new(count, size, out);
}

tsr_status tsri_base_grow(void *items, size_t *capacity, size_t needed, size_t size) {
    if (needed <= *capacity)
        return TSR_OK;
    size_t wanted = *capacity ? *capacity : 8, bytes;
    while (wanted < needed)
        if (!tsri_base_mul(wanted, 2, &wanted))
            return none_left(needed, size);
    void *old, *p;
    memcpy(&old, items, sizeof old);
    if (!tsri_base_mul(wanted, size, &bytes) || !(p = realloc(old, bytes)))
        return none_left(needed, size);
    memset((char *)p + *capacity * size, 0, (wanted - *capacity) * size);
    memcpy(items, &p, sizeof p);
    *capacity = wanted;
    return TSR_OK;
}

tsr_status tsri_base_new_aligned(size_t bytes, void *out) {
    size_t whole;
    if (!tsri_base_add(bytes ? bytes : 1, TSRI_BASE_ALIGNMENT - 1, &whole))
        return none_left(1, bytes);
    void *p = tsri_system_new_aligned(TSRI_BASE_ALIGNMENT,
                                      whole / TSRI_BASE_ALIGNMENT * TSRI_BASE_ALIGNMENT);
    if (!p)
        return none_left(1, bytes);
    memcpy(out, &p, sizeof p);
    return TSR_OK;
}

char *tsri_base_copy_text(const char *text, size_t n) {
    char *copy = NULL;
    if (n == SIZE_MAX || tsri_base_new(n + 1, 1, &copy) != TSR_OK)
        return NULL;
    if (n)
        memcpy(copy, text, n);
    return copy;
}
