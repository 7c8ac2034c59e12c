/* io/cursor.h - a place in a file that moves on as fields are taken; small fields cost no system
 * call each. */
#ifndef TSRI_IO_CURSOR_H
#define TSRI_IO_CURSOR_H

#include "base/files.h"

typedef struct tsri_io_cursor {
    const tsri_file *file; /* borrowed */
    uint64_t at;           /* of the next byte, in the file */
    uint64_t origin;       /* of window[0] */
    size_t held;           /* bytes in the window */
    char *window;
} tsri_io_cursor;

/* At the file's first byte. tsri_io_cursor_end frees; it takes a zeroed cursor too. */
tsr_status tsri_io_cursor_begin(tsri_io_cursor *cursor, const tsri_file *file);
void tsri_io_cursor_end(tsri_io_cursor *cursor);

/* Bytes that are left of the file. */
uint64_t tsri_io_left(const tsri_io_cursor *cursor);
/* The next n bytes; `what` names them in the sentence where the file ends before (TSR_E_FORMAT). */
tsr_status tsri_io_take(tsri_io_cursor *cursor, void *out, size_t n, const char *what);
/* Goes past n bytes without reading them; the same error. */
tsr_status tsri_io_pass(tsri_io_cursor *cursor, uint64_t n, const char *what);

#endif
