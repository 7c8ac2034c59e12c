/* cli/serve/buffer.c - texts that grow. */
#include "cli/serve/server.h"

#include <stdlib.h>
#include <string.h>

void tsri_serve_put(tsri_serve_buffer *b, const char *data, size_t n) {
    if (b->lost)
        return;
    if (b->size + n + 1 > b->room) {
        const size_t room = b->size + n + 1 + b->room;
        char *grown = realloc(b->data, room);
        b->lost = !grown;
        if (!grown)
            return;
        b->data = grown;
        b->room = room;
    }
    if (n)
        memcpy(b->data + b->size, data, n);
    b->size += n;
    b->data[b->size] = 0;
}

void tsri_serve_clear(tsri_serve_buffer *b) {
    free(b->data);
    *b = (tsri_serve_buffer){0};
}
