/* cli/base/bytes.c - a growing string of bytes. */
#include "cli/base/bytes.h"

#include "cli/base/args.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int tsri_cli_bytes_append(tsri_cli_bytes *bytes, const void *data, size_t n) {
    if (n > bytes->room - bytes->size) {
        const size_t room = n > SIZE_MAX / 2 - bytes->size ? 0 : 2 * (bytes->size + n);
        char *grown = room ? realloc(bytes->data, room) : NULL;
        if (!grown)
            return tsri_cli_fail(CLI_OTHER, "out of memory");
        bytes->data = grown;
        bytes->room = room;
    }
    if (n)
        memcpy(bytes->data + bytes->size, data, n);
    bytes->size += n;
    return CLI_OK;
}
