/* cli/base/bytes.h - a growing string of bytes. */
#ifndef TESSERA_CLI_BASE_BYTES_H
#define TESSERA_CLI_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* All zeros is an empty one; its memory is freed with free(data). */
typedef struct tsri_cli_bytes {
    char *data;
    size_t size, room;
} tsri_cli_bytes;

/* Returns CLI_OK; or CLI_OTHER, after printing that there is no memory. */
int tsri_cli_bytes_append(tsri_cli_bytes *bytes, const void *data, size_t n);

#endif
