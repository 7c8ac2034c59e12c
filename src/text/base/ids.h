/* text/base/ids.h - a list of token ids. */
#ifndef TSRI_TEXT_BASE_IDS_H
#define TSRI_TEXT_BASE_IDS_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

/* A growing list of ids. All zero is an empty list. */
typedef struct tsri_text_ids {
    int32_t *data;
    size_t count, capacity;
} tsri_text_ids;

tsr_status tsri_text_ids_append(tsri_text_ids *ids, const int32_t *data, size_t n);
void tsri_text_ids_clear(tsri_text_ids *ids);
/* How many ids two lists have in common, from the first on. */
size_t tsri_text_ids_common(const tsri_text_ids *a, const tsri_text_ids *b);

#endif
