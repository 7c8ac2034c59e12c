/* base/bytes.c - a growing string of bytes: appending to it, printing into it, freeing it. */
#include "base/bytes.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tsr_status reserve(tsri_bytes *bytes, size_t more) {
    size_t needed;
    if (!tsri_base_add(bytes->size, more, &needed) || !tsri_base_add(needed, 1, &needed))
        return tsri_base_fail(TSR_E_HOST_MEMORY,
                              "out of host memory: a text of %zu bytes can't grow by %zu",
                              bytes->size, more);
    if (bytes->limit && needed - 1 > bytes->limit)
        return tsri_base_fail(
            TSR_E_FORMAT, "a text of %zu bytes would grow by %zu; at most %zu bytes are allowed",
            bytes->size, more, bytes->limit);
    return tsri_base_grow(&bytes->data, &bytes->capacity, needed, 1);
}

tsr_status tsri_base_bytes_append(tsri_bytes *bytes, const void *data, size_t n) {
    TRY(reserve(bytes, n));
    if (n)
        memcpy(bytes->data + bytes->size, data, n);
    bytes->size += n;
    bytes->data[bytes->size] = 0;
    return TSR_OK;
}

tsr_status tsri_base_bytes_printf(tsri_bytes *bytes, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int n = tsri_system_print(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return tsri_base_fail(TSR_E_INTERNAL, "a text could not be formatted");
    TRY(reserve(bytes, (size_t)n));
    va_start(args, format);
    tsri_system_print(bytes->data + bytes->size, (size_t)n + 1, format, args);
    va_end(args);
    bytes->size += (size_t)n;
    return TSR_OK;
}

void tsri_base_bytes_clear(tsri_bytes *bytes) {
    free(bytes->data);
    *bytes = (tsri_bytes){0};
}
