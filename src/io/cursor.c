/* io/cursor.c - reads the bytes of a file in order, and fails where the file ends too early. */
#include "io/cursor.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1 << 16 };

tsr_status tsri_io_cursor_begin(tsri_io_cursor *cursor, const tsri_file *file) {
    *cursor = (tsri_io_cursor){.file = file};
    return tsri_base_new(WINDOW, 1, &cursor->window);
}

void tsri_io_cursor_end(tsri_io_cursor *cursor) {
    free(cursor->window);
    *cursor = (tsri_io_cursor){0};
}

uint64_t tsri_io_left(const tsri_io_cursor *cursor) {
    return cursor->file->size - cursor->at;
}

static tsr_status check_left(const tsri_io_cursor *cursor, uint64_t n, const char *what) {
    if (n <= tsri_io_left(cursor))
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s ends inside %s: %" PRIu64 " bytes are needed at byte %" PRIu64
                          ", and %" PRIu64 " are left; the file is cut off or damaged",
                          cursor->file->path, what, n, cursor->at, tsri_io_left(cursor));
}

tsr_status tsri_io_take(tsri_io_cursor *cursor, void *out, size_t n, const char *what) {
    tsri_io_cursor *c = cursor;
    TRY(check_left(c, n, what));
    if (n > WINDOW) {
        TRY(tsri_base_file_read(c->file, c->at, out, n));
    } else {
        if (c->at < c->origin || c->at + n > c->origin + c->held) {
            c->origin = c->at;
            c->held = tsri_io_left(c) < WINDOW ? (size_t)tsri_io_left(c) : WINDOW;
            TRY(tsri_base_file_read(c->file, c->at, c->window, c->held));
        }
        memcpy(out, c->window + (c->at - c->origin), n);
    }
    c->at += n;
    return TSR_OK;
}

tsr_status tsri_io_pass(tsri_io_cursor *cursor, uint64_t n, const char *what) {
    TRY(check_left(cursor, n, what));
    cursor->at += n;
    return TSR_OK;
}
