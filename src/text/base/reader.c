/* text/base/reader.c - reads a text file by lines or pieces, and refuses bytes that are not
 * UTF-8. */
#include "text/base/reader.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_AT_ONCE = 1 << 18,
    LOOK_BACK = 1 << 14 /* how far back a line end, and then a space, is looked for */
};

struct tsri_text_reader {
    tsri_file *file;
    uint64_t offset; /* where in the file the next read begins */
    char *data;
    size_t begin, end, capacity; /* data[begin..end) is still to be given */
    uint64_t line, next_line;    /* the line of the text given last; the line of data[begin] */
};

/* Whether the byte at `at` has text on both sides, neither of them a space. */
static bool between_words(const char *text, size_t n, size_t at) {
    int32_t before, after;
    if (at == 0 || at + 1 >= n)
        return false;
    const size_t start = tsri_text_utf8_before(text, at);
    tsri_text_utf8_next(text + start, at - start, &before);
    tsri_text_utf8_next(text + at + 1, n - at - 1, &after);
    return before >= 0 && after >= 0 && !tsri_text_is_space(before) && !tsri_text_is_space(after);
}

/* The end of the last whole character. */
static size_t whole_characters(const char *text, size_t n) {
    size_t at = n < 4 ? 0 : n - 4;
    while (at < n && ((unsigned char)text[at] & 0xC0) == 0x80)
        at++;
    if (at == n) /* four bytes that begin no character: the check of the piece will report them */
        return n;
    while (at < n) {
        if (tsri_text_utf8_cut(text + at, n - at))
            return at;
        int32_t c;
        at += tsri_text_utf8_next(text + at, n - at, &c);
    }
    return n;
}

size_t tsri_text_cut_place(const char *text, size_t n, tsri_text_cutting cutting) {
    const size_t lowest = n > LOOK_BACK ? n - LOOK_BACK : 0;
    for (size_t at = n; at > lowest; at--)
        if (text[at - 1] == '\n' &&
            (cutting == TSRI_TEXT_CUT_LINES || between_words(text, n, at - 1)))
            return at;
    for (size_t at = n; at > lowest; at--)
        if (text[at - 1] == ' ' && between_words(text, n, at - 1))
            return at - 1;
    return whole_characters(text, n);
}

tsr_status tsri_text_reader_open(const char *path, tsri_text_reader **out) {
    tsri_text_reader *r = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *r, &r));
    tsr_status status = tsri_base_file_open(path, &r->file);
    if (status == TSR_OK && r->file->size == 0)
        status = tsri_base_fail(TSR_E_FORMAT, "%s is empty; it must contain text", path);
    r->next_line = 1;
    if (status == TSR_OK && r->file->size >= 3) {
        char mark[3];
        status = tsri_base_file_read(r->file, 0, mark, sizeof mark);
        if (status == TSR_OK && !memcmp(mark, "\xEF\xBB\xBF", sizeof mark))
            r->offset = sizeof mark;
    }
    if (status != TSR_OK)
        tsri_text_reader_close(&r);
    *out = r;
    return status;
}

/* Reads more of the file, after what data holds. */
static tsr_status more(tsri_text_reader *r) {
    const uint64_t left = r->file->size - r->offset;
    const size_t n = left < READ_AT_ONCE ? (size_t)left : READ_AT_ONCE;
    if (r->begin) {
        memmove(r->data, r->data + r->begin, r->end - r->begin);
        r->end -= r->begin;
        r->begin = 0;
    }
    TRY(tsri_base_grow(&r->data, &r->capacity, r->end + n + 1, 1));
    TRY(tsri_base_file_read(r->file, r->offset, r->data + r->end, n));
    r->offset += n;
    r->end += n;
    return TSR_OK;
}

/* Gives data[begin .. begin + n), whose line is already counted. */
static tsr_status check(const tsri_text_reader *r, const char *text, size_t n) {
    if (tsri_text_utf8_valid(text, n))
        return TSR_OK;
    uint64_t line = r->line;
    size_t at = 0, start = 0;
    for (int32_t c = 0; at < n;) {
        const size_t size = tsri_text_utf8_next(text + at, n - at, &c);
        if (c < 0)
            break;
        at += size;
        if (c == '\n') {
            line++;
            start = at;
        }
    }
    const unsigned char *c = (const unsigned char *)text + at;
    const bool marked = line == 1 && at == 0 && n > 1 && c[0] + c[1] == 0xff + 0xfe;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: line %" PRIu64 ": byte %zu of it (0x%02x) is not UTF-8%s; convert "
                          "the file: iconv -f %s -t UTF-8 FILE > NEW",
                          r->file->path, line, at - start + 1, (unsigned)c[0],
                          marked ? ", and begins UTF-16's byte-order mark" : "",
                          marked ? "UTF-16" : "WINDOWS-1252");
}

static void give(tsri_text_reader *r, size_t n, char **text) {
    *text = r->data;
    r->line = r->next_line;
    if (n == 0) /* data may be NULL, to which nothing may be added */
        return;
    *text += r->begin;
    for (const char *at = *text, *end = *text + n; (at = memchr(at, '\n', (size_t)(end - at)));
         at++)
        r->next_line++;
    r->begin += n;
}

tsr_status tsri_text_reader_piece(tsri_text_reader *r, tsri_text_cutting cutting, char **text,
                                  size_t *n) {
    *n = 0;
    while (r->end - r->begin < TSRI_TEXT_PIECE_WANTED && r->offset < r->file->size)
        TRY(more(r));
    size_t size = r->end - r->begin;
    if (size > TSRI_TEXT_PIECE_WANTED)
        size = TSRI_TEXT_PIECE_WANTED;
    if (size < r->end - r->begin || r->offset < r->file->size)
        size = tsri_text_cut_place(r->data + r->begin, size, cutting);
    give(r, size, text);
    TRY(check(r, *text, size));
    *n = size;
    return TSR_OK;
}

tsr_status tsri_text_reader_line(tsri_text_reader *r, char **text, size_t *n) {
    size_t seen = 0;
    const char *found = NULL;
    *text = NULL;
    *n = 0;
    for (;;) {
        const size_t size = r->end - r->begin;
        found = size > seen ? memchr(r->data + r->begin + seen, '\n', size - seen) : NULL;
        if (found || r->offset == r->file->size)
            break;
        if (size > TSRI_TEXT_LINE_LIMIT)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: line %" PRIu64
                                  " has more than %d bytes, the longest line that is read",
                                  r->file->path, r->next_line, TSRI_TEXT_LINE_LIMIT);
        seen = size;
        TRY(more(r));
    }
    size_t size = found ? (size_t)(found - (r->data + r->begin)) + 1 : r->end - r->begin;
    if (!size)
        return TSR_OK;
    give(r, size, text);
    if (found)
        size -= size > 1 && (*text)[size - 2] == '\r' ? 2 : 1;
    *n = size;
    return check(r, *text, size);
}

uint64_t tsri_text_reader_number(const tsri_text_reader *reader) {
    return reader->line;
}

void tsri_text_reader_progress(const tsri_text_reader *r, uint64_t *done, uint64_t *total) {
    *done = r->offset - (r->end - r->begin);
    *total = r->file->size;
}

void tsri_text_reader_close(tsri_text_reader **reader) {
    if (!*reader)
        return;
    tsri_base_file_close(&(*reader)->file);
    free((*reader)->data);
    free(*reader);
    *reader = NULL;
}
