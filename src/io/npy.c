/* io/npy.c - reads and writes NumPy's .npy files of f32 [N, C]: magic bytes, a version, a Python
 * dictionary as text, then the rows.
 *
 * source  numpy/lib/format, "The NPY file format", versions 1.0 to 3.0
 */
#include "tessera/vectors.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/structs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WIDTH = 1 << 20, MOST_HEADER = 1 << 16, WRITTEN_HEADER = 128 };
static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

struct tsr_vectors {
    tsri_file *file;
    uint64_t rows, begin; /* begin: the offset of the first row, in bytes */
    uint32_t width;
};

/* ---- reading ---- */

typedef struct header {
    const char *at;
    char numbers[32]; /* "<f4" */
    bool has_numbers, has_order, has_shape, columns_first;
    uint64_t shape[3];
    int rank;
} header;

static bool skip_to(header *h, char c) {
    while (*h->at == ' ' || *h->at == '\n')
        h->at++;
    if (*h->at != c)
        return false;
    h->at++;
    return true;
}

static bool read_text(header *h, char *out, size_t size) {
    size_t n = 0;
    const char quote = skip_to(h, '\'') ? '\'' : skip_to(h, '"') ? '"' : 0;
    if (!quote)
        return false;
    for (; *h->at && *h->at != quote; h->at++)
        if (n + 1 < size)
            out[n++] = *h->at;
    out[n] = 0;
    return skip_to(h, quote);
}

/* Reads "(3, 4)", "(3,)" or "()"; of more than three numbers only the rank is kept. */
static bool read_shape(header *h) {
    if (!skip_to(h, '('))
        return false;
    while (!skip_to(h, ')')) {
        uint64_t value = 0;
        const char *digits = h->at;
        for (; *h->at >= '0' && *h->at <= '9'; h->at++)
            if (__builtin_mul_overflow(value, 10u, &value) ||
                __builtin_add_overflow(value, (unsigned)(*h->at - '0'), &value))
                return false;
        if (h->at == digits)
            return false;
        if (h->rank < 3)
            h->shape[h->rank] = value;
        h->rank++;
        if (!skip_to(h, ',') && *h->at != ')')
            return false;
        while (*h->at == ' ')
            h->at++;
    }
    return true;
}

static bool read_order(header *h) {
    static const char *const words[] = {"False", "True"};
    while (*h->at == ' ')
        h->at++;
    for (int i = 0; i < 2; i++)
        if (!strncmp(h->at, words[i], strlen(words[i]))) {
            h->at += strlen(words[i]);
            h->columns_first = i == 1;
            return true;
        }
    return false;
}

/* Reads one key and its value. A structured descr is a list, not a text; `numbers` then says so. */
static bool read_entry(header *h) {
    char key[32];
    if (!read_text(h, key, sizeof key) || !skip_to(h, ':'))
        return false;
    if (!strcmp(key, "descr") && !h->has_numbers) {
        h->has_numbers = true;
        return read_text(h, h->numbers, sizeof h->numbers);
    }
    if (!strcmp(key, "fortran_order") && !h->has_order)
        return h->has_order = true, read_order(h);
    if (!strcmp(key, "shape") && !h->has_shape)
        return h->has_shape = true, read_shape(h);
    return false;
}

static tsr_status parse_header(const char *text, const char *path, header *h) {
    h->at = text;
    bool fine = skip_to(h, '{');
    while (fine && !skip_to(h, '}')) {
        fine = read_entry(h);
        if (fine && !skip_to(h, ',') && *h->at != '}' && *h->at != ' ')
            fine = false;
    }
    if (!fine || !h->has_numbers || !h->has_order || !h->has_shape)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: its .npy header does not describe plain numbers: \"%.80s\"",
                              path, text);
    return TSR_OK;
}

static tsr_status check_header(const header *h, const char *path) {
    if (strcmp(h->numbers, "<f4") != 0)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s has numbers of type \"%s\"; little-endian f32 (\"<f4\") is read: "
                              "convert it with numpy's astype(\"<f4\")",
                              path, h->numbers);
    if (h->rank != 2)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s is an array of %d dimensions; arrays of 2, rows of numbers, are read", path,
            h->rank);
    if (h->columns_first && h->shape[0] > 1 && h->shape[1] > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is stored column by column (fortran_order); row by row is read: "
                              "save numpy's ascontiguousarray",
                              path);
    if (h->shape[1] < 1 || h->shape[1] > MOST_WIDTH)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s has rows of %" PRIu64 " numbers; 1 to %d are read", path,
                              h->shape[1], MOST_WIDTH);
    return TSR_OK;
}

/* Finds where the text of the header begins, and how many bytes it has. */
static tsr_status measure_header(const tsri_file *file, uint64_t *begin, uint32_t *size) {
    unsigned char head[12] = {0};
    const size_t n = file->size < sizeof head ? (size_t)file->size : sizeof head;
    TRY(tsri_base_file_read(file, 0, head, n));
    if (n < 10 || memcmp(head, magic, sizeof magic) != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s is not an .npy file: it does not begin with \\x93NUMPY; tessera "
                              "embed -o FILE.npy writes one",
                              file->path);
    if (head[6] < 1 || head[6] > 3)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is an .npy file of version %d; versions 1, 2 and 3 are read",
                              file->path, head[6]);
    *begin = head[6] == 1 ? 10 : 12;
    *size = head[8] | (uint32_t)head[9] << 8;
    if (head[6] > 1)
        *size |= (uint32_t)head[10] << 16 | (uint32_t)head[11] << 24;
    if (*size > MOST_HEADER || *begin + *size > file->size)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: its header of %" PRIu32 " bytes ends after the end of the file",
                              file->path, *size);
    return TSR_OK;
}

static tsr_status read_header(tsr_vectors *v, const char *path) {
    uint64_t begin = 0, wanted;
    uint32_t size = 0;
    char *text = NULL;
    header h = {0};
    TRY(measure_header(v->file, &begin, &size));
    TRY(tsri_base_new(size + (size_t)1, 1, &text));
    tsr_status status = tsri_base_file_read(v->file, begin, text, size);
    if (status == TSR_OK)
        status = parse_header(text, path, &h);
    if (status == TSR_OK)
        status = check_header(&h, path);
    free(text);
    TRY(status);
    v->rows = h.shape[0];
    v->width = (uint32_t)h.shape[1];
    v->begin = begin + size;
    if (__builtin_mul_overflow(v->rows, v->width * (uint64_t)sizeof(float), &wanted) ||
        wanted != v->file->size - v->begin)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s has %" PRIu64
                              " bytes after its header, which does not agree with %" PRIu64
                              " rows of %" PRIu32 " f32 numbers: it is cut off or damaged",
                              path, v->file->size - v->begin, v->rows, v->width);
    return TSR_OK;
}

tsr_status tsr_vectors_open(const char *path, tsr_vectors **out) {
    TRY(NEED(path));
    TRY(NEED(out));
    tsr_vectors *v = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *v, &v));
    tsr_status status = tsri_base_file_open(path, &v->file);
    if (status == TSR_OK)
        status = read_header(v, path);
    if (status != TSR_OK)
        tsr_vectors_close(&v);
    *out = v;
    return status;
}

void tsr_vectors_close(tsr_vectors **vectors) {
    if (!*vectors)
        return;
    tsri_base_file_close(&(*vectors)->file);
    free(*vectors);
    *vectors = NULL;
}

uint64_t tsr_vectors_rows(const tsr_vectors *vectors) {
    return vectors->rows;
}

uint32_t tsr_vectors_width(const tsr_vectors *vectors) {
    return vectors->width;
}

tsr_status tsr_vectors_read(const tsr_vectors *v, uint64_t first, size_t n, float *out) {
    TRY(NEED(v));
    TRY(NEED_ARRAY(out, n));
    if (first > v->rows || n > v->rows - first)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%zu rows from %" PRIu64 " were asked for; %s has %" PRIu64, n, first,
                              v->file->path, v->rows);
    const uint64_t row = v->width * sizeof(float);
    return tsri_base_file_read(v->file, v->begin + first * row, out, (size_t)(n * row));
}

/* ---- writing ---- */

struct tsr_vectors_writer {
    tsri_file_writer *file;
    uint64_t rows;
    uint32_t width;
};

/* The header always has WRITTEN_HEADER bytes, so that the number of rows can be filled in at the
 * end. */
static void format_header(const tsr_vectors_writer *w, unsigned char out[WRITTEN_HEADER]) {
    char text[WRITTEN_HEADER];
    const int n =
        snprintf(text, sizeof text,
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRIu64 ", %" PRIu32 "), }",
                 w->rows, w->width);
    memset(out, ' ', WRITTEN_HEADER);
    memcpy(out, magic, sizeof magic);
    out[6] = 1;
    out[7] = 0;
    out[8] = WRITTEN_HEADER - 10;
    out[9] = 0;
    memcpy(out + 10, text, (size_t)n);
    out[WRITTEN_HEADER - 1] = '\n';
}

tsr_status tsr_vectors_create(const char *path, uint32_t width, tsr_vectors_writer **out) {
    TRY(NEED(path));
    TRY(NEED(out));
    unsigned char head[WRITTEN_HEADER];
    tsr_vectors_writer *w = NULL;
    *out = NULL;
    if (width < 1 || width > MOST_WIDTH)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "rows of %" PRIu32 " numbers were asked for; 1 to %d are written",
                              width, MOST_WIDTH);
    TRY(tsri_base_new(1, sizeof *w, &w));
    w->width = width;
    format_header(w, head);
    tsr_status status = tsri_base_writer_begin(path, &w->file);
    if (status == TSR_OK)
        status = tsri_base_writer_write(w->file, head, sizeof head);
    if (status != TSR_OK)
        tsr_vectors_abandon(&w);
    *out = w;
    return status;
}

tsr_status tsr_vectors_append(tsr_vectors_writer *writer, const float *rows, size_t n) {
    TRY(NEED(writer));
    TRY(NEED_ARRAY(rows, n));
    size_t numbers, bytes;
    if (!tsri_base_mul(n, writer->width, &numbers) || !tsri_base_mul(numbers, sizeof *rows, &bytes))
        return tsri_base_fail(TSR_E_ARGUMENT, "%zu rows of %" PRIu32 " numbers are too many", n,
                              writer->width);
    TRY(tsri_base_writer_write(writer->file, rows, bytes));
    writer->rows += n;
    return TSR_OK;
}

tsr_status tsr_vectors_commit(tsr_vectors_writer **writer) {
    TRY(NEED(writer));
    unsigned char head[WRITTEN_HEADER];
    tsr_vectors_writer *w = *writer;
    format_header(w, head);
    tsr_status status = tsri_base_writer_patch(w->file, 0, head, sizeof head);
    if (status == TSR_OK)
        status = tsri_base_writer_commit(&w->file);
    tsr_vectors_abandon(writer);
    return status;
}

void tsr_vectors_abandon(tsr_vectors_writer **writer) {
    if (!*writer)
        return;
    tsri_base_writer_abandon(&(*writer)->file);
    free(*writer);
    *writer = NULL;
}
