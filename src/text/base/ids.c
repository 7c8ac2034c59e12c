/* text/base/ids.c - a list of token ids that grows. */
#include "text/base/ids.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

tsr_status tsri_text_ids_append(tsri_text_ids *ids, const int32_t *data, size_t n) {
    if (n == 0)
        return TSR_OK;
    TRY(tsri_base_grow(&ids->data, &ids->capacity, ids->count + n, sizeof *ids->data));
    memcpy(ids->data + ids->count, data, n * sizeof *data);
    ids->count += n;
    return TSR_OK;
}

void tsri_text_ids_clear(tsri_text_ids *ids) {
    free(ids->data);
    *ids = (tsri_text_ids){0};
}

size_t tsri_text_ids_common(const tsri_text_ids *a, const tsri_text_ids *b) {
    const size_t most = a->count < b->count ? a->count : b->count;
    size_t n = 0;
    while (n < most && a->data[n] == b->data[n])
        n++;
    return n;
}
