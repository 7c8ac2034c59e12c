/* base/bytes.h - a growing run of bytes: file contents, text being built. */
#ifndef TSRI_BASE_BYTES_H
#define TSRI_BASE_BYTES_H

#include "tessera/status.h"

#include <stddef.h>

/* All zero is an empty one. data, where not NULL, has a 0 byte after `size` bytes. */
typedef struct tsri_bytes {
    char *data;
    size_t size, capacity;
    size_t limit; /* of size, 0: none; TSR_E_FORMAT beyond it: a file asks for too much */
} tsri_bytes;

tsr_status tsri_base_bytes_append(tsri_bytes *bytes, const void *data, size_t n);
__attribute__((format(printf, 2, 3))) tsr_status tsri_base_bytes_printf(tsri_bytes *bytes,
                                                                        const char *format, ...);
void tsri_base_bytes_clear(tsri_bytes *bytes); /* frees, leaves an empty one */

#endif
