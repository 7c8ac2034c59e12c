/* io/cursor.h - a position in a file that advances as fields are read; a small field does not cost
 * a system call. */
#ifndef TSRI_IO_CURSOR_H
#define TSRI_IO_CURSOR_H

#include "base/files.h"

typedef struct tsri_io_cursor {
    const tsri_file *file; /* borrowed */
    uint64_t at;           /* offset of the next byte in the file */
    uint64_t origin;       /* offset of window[0] in the file */
    size_t held;           /* bytes in the window */
    char *window;
} tsri_io_cursor;

/* Begins at the file's first byte. tsri_io_cursor_end frees the window; it takes a zeroed cursor
 * too. */
tsr_status tsri_io_cursor_begin(tsri_io_cursor *cursor, const tsri_file *file);
void tsri_io_cursor_end(tsri_io_cursor *cursor);

/* How many bytes of the file are left. */
uint64_t tsri_io_left(const tsri_io_cursor *cursor);
/* Reads the next n bytes. Where the file ends before, it is TSR_E_FORMAT, and `what` names the
 * bytes in the sentence. */
tsr_status tsri_io_take(tsri_io_cursor *cursor, void *out, size_t n, const char *what);
/* Skips n bytes without reading them; the same error. */
tsr_status tsri_io_pass(tsri_io_cursor *cursor, uint64_t n, const char *what);

#endif
