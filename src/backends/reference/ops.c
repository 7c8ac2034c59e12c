#include "backends/reference/reference.h"

#include <stddef.h>

static const tsri_reference_row rows[] = {
#define X(id, name, attributes)                 \
    {TSR_OP_##id, #name, tsri_reference_##name, \
     TSR_OP_##id == TSR_OP_ATTENTION ? tsri_reference_attention_scratch : NULL},
    TSR_OP_LIST(X)
#undef X
};

const tsri_reference_row *tsri_reference_find(uint32_t id) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((uint32_t)rows[i].id == id)
            return &rows[i];
    return NULL;
}
