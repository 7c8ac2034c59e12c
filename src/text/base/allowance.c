/* text/base/allowance.c - says how many bytes and steps one text may cost. */
#include "text/base/allowance.h"

/* Unicode's longest decomposition makes 11 bytes of each byte, and writing bytes as characters
 * doubles that. The usual regular expressions take 3 to 10 steps a byte. */
enum { BYTES = 32, BYTES_AT_LEAST = 64 * 1024, STEPS = 256, STEPS_AT_LEAST = 50 * 1000 * 1000 };

tsri_text_allowance tsri_text_allowance_of(size_t n) {
    tsri_text_allowance allowance = {BYTES_AT_LEAST, BYTES_AT_LEAST, STEPS_AT_LEAST};
    tsri_text_allowance_grow(&allowance, n);
    return allowance;
}

void tsri_text_allowance_grow(tsri_text_allowance *allowance, size_t n) {
    n = n < SIZE_MAX / 2 / BYTES ? n : SIZE_MAX / 2 / BYTES;
    allowance->most = allowance->most < SIZE_MAX / 2 ? allowance->most + n * BYTES : SIZE_MAX / 2;
    allowance->normal =
        allowance->normal < SIZE_MAX / 2 ? allowance->normal + n * BYTES : SIZE_MAX / 2;
    allowance->steps =
        allowance->steps < UINT64_MAX / 2 ? allowance->steps + (uint64_t)n * STEPS : UINT64_MAX / 2;
}
