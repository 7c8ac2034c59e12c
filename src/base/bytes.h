/* base/bytes.h - a growing string of bytes: file contents, or a text that is being built. */
#ifndef TSRI_BASE_BYTES_H
#define TSRI_BASE_BYTES_H

#include "tessera/status.h"

#include <stddef.h>

/* All zeros is an empty one. Where data is not NULL, a 0 byte follows its `size` bytes. */
typedef struct tsri_bytes {
    char *data;
    size_t size, capacity;
    /* The largest size, 0: none; growing past it is TSR_E_FORMAT: a file asks for too much */
    size_t limit;
} tsri_bytes;

tsr_status tsri_base_bytes_append(tsri_bytes *bytes, const void *data, size_t n);
/* Numbers have a decimal point, whatever locale the program has set. */
__attribute__((format(PRINTF, 2, 3))) tsr_status tsri_base_bytes_printf(tsri_bytes *bytes,
                                                                        const char *format, ...);
void tsri_base_bytes_clear(tsri_bytes *bytes); /* frees the bytes and leaves an empty string */

#endif
