/* base/memory.h - allocation, and size arithmetic that never overflows unnoticed. */
#ifndef TSRI_BASE_MEMORY_H
#define TSRI_BASE_MEMORY_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TSRI_BASE_ALIGNMENT = 64 };

/* Each writes the result and returns true; where the sum or product overflows, it writes nothing
 * and returns false. */
bool tsri_base_add(size_t a, size_t b, size_t *sum);
bool tsri_base_mul(size_t a, size_t b, size_t *product);
bool tsri_base_mul_i64(int64_t a, int64_t b, int64_t *product);

/* Gives zeroed memory for `count` items of `size` bytes (even for 0, a pointer that may be freed)
 * in *out; `out` points to a pointer. The sentence of TSR_E_HOST_MEMORY says how much was asked
 * for. */
tsr_status tsri_base_new(size_t count, size_t size, void *out);

/* As tsri_base_new, for a table that is read at random places: where it is large, in huge pages, if the
 * system allows them. */
tsr_status tsri_base_new_table(size_t count, size_t size, void *out);

/* *items (an array of *capacity) grows to hold at least `needed` items; new items are zeroed. */
tsr_status tsri_base_grow(void *items, size_t *capacity, size_t needed, size_t size);

/* As tsri_base_new, but aligned to TSRI_BASE_ALIGNMENT bytes and not zeroed; to be freed with
 * tsri_system_free_aligned. */
tsr_status tsri_base_new_aligned(size_t bytes, void *out);

/* A copy of n bytes with a 0 byte after them; NULL, with the error reported, where there is too
 * little memory. */
char *tsri_base_copy_text(const char *text, size_t n);

#endif
