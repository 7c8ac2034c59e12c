/* Rows of f32 in .npy files: what is written can be read back, and files that numpy would not read
 * so are refused. */
#include "tessera/vectors.h"

#include "base/files.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

static char path[64];

static void make_path(void) {
    strcpy(path, "/tmp/tessera-npy-XXXXXX");
    const int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
}

static void remove_path(void) {
    unlink(path);
}

TestSuite(npy, .init = make_path, .fini = remove_path);

static void save(const void *data, size_t n) {
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(data, 1, n, file) == n && fclose(file) == 0);
}

Test(npy, written_and_read) {
    const float rows[] = {1, 2, 3, 4, 5, 6};
    float back[6] = {0};
    tsr_vectors_writer *w = NULL;
    tsr_vectors *v = NULL;
    OK(tsr_vectors_create(path, 2, &w));
    OK(tsr_vectors_append(w, rows, 1));
    OK(tsr_vectors_append(w, rows + 2, 0));
    OK(tsr_vectors_append(w, rows + 2, 2));
    OK(tsr_vectors_commit(&w));
    cr_assert(w == NULL);
    OK(tsr_vectors_open(path, &v));
    cr_assert(tsr_vectors_rows(v) == 3 && tsr_vectors_width(v) == 2);
    OK(tsr_vectors_read(v, 0, 3, back));
    cr_assert(memcmp(rows, back, sizeof rows) == 0);
    OK(tsr_vectors_read(v, 2, 1, back));
    cr_assert(back[0] == 5);
    OK(tsr_vectors_read(v, 3, 0, back));
    cr_assert(tsr_vectors_read(v, 2, 2, back) == TSR_E_ARGUMENT);
    cr_assert(tsr_vectors_read(v, UINT64_MAX, 2, back) == TSR_E_ARGUMENT);
    tsr_vectors_close(&v);
}

Test(npy, none_is_a_file_too) {
    tsr_vectors_writer *w = NULL;
    tsr_vectors *v = NULL;
    OK(tsr_vectors_create(path, 384, &w));
    OK(tsr_vectors_commit(&w));
    OK(tsr_vectors_open(path, &v));
    cr_assert(tsr_vectors_rows(v) == 0 && tsr_vectors_width(v) == 384);
    tsr_vectors_close(&v);
}

Test(npy, abandoned_leaves_what_was) {
    const float row[4] = {0};
    tsr_vectors_writer *w = NULL;
    tsri_bytes now = {0};
    save("before", 6);
    OK(tsr_vectors_create(path, 4, &w));
    OK(tsr_vectors_append(w, row, 1));
    tsr_vectors_abandon(&w);
    tsr_vectors_abandon(&w);
    OK(tsri_base_read_whole(path, 100, &now));
    cr_assert_str_eq(now.data, "before");
    tsri_base_bytes_clear(&now);
    cr_assert(tsr_vectors_create(path, 0, &w) == TSR_E_ARGUMENT);
    cr_assert(tsr_vectors_create("/nowhere/x.npy", 4, &w) == TSR_E_IO);
}

typedef struct sample {
    int version;
    const char *header;
    size_t data; /* bytes after it */
    tsr_status status;
    const char *said; /* NULL: rows and width instead */
    uint64_t rows;
    uint32_t width;
} sample;

static size_t forge(const sample *s, unsigned char out[1024]) {
    const size_t n = strlen(s->header), begin = s->version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)s->version;
    out[7] = 0;
    out[8] = (unsigned char)(n & 255);
    out[9] = (unsigned char)(n >> 8);
    out[10] = out[11] = 0;
    memcpy(out + begin, s->header, n);
    memset(out + begin + n, 0, s->data);
    return begin + n + s->data;
}

static const sample samples[] = {
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24, TSR_OK, NULL, 2, 3},
    {2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", 24, TSR_OK, NULL, 2, 3},
    {3, "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}", 24, TSR_OK, NULL, 2, 3},
    {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3), }\n", 12, TSR_OK, NULL, 1, 3},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }\n", 0, TSR_OK, NULL, 0, 3},
    {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", 24, TSR_E_UNSUPPORTED,
     "column by column", 0, 0},
    {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", 48, TSR_E_UNSUPPORTED,
     "\"<f8\"", 0, 0},
    {1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24, TSR_E_UNSUPPORTED,
     "\">f4\"", 0, 0},
    {1, "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }\n", 24, TSR_E_UNSUPPORTED,
     "\"|O\"", 0, 0},
    {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }\n", 24, TSR_E_FORMAT,
     "plain numbers", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 12, TSR_E_UNSUPPORTED,
     "1 dimensions", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n", 4, TSR_E_UNSUPPORTED,
     "0 dimensions", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1), }\n", 4, TSR_E_UNSUPPORTED,
     "4 dimensions", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }\n", 0, TSR_E_UNSUPPORTED,
     "rows of 0", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 23, TSR_E_FORMAT, "cut", 0,
     0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 25, TSR_E_FORMAT, "cut", 0,
     0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3), }\n", 24,
     TSR_E_FORMAT, "does not agree with", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3), }\n", 24,
     TSR_E_FORMAT, "plain numbers", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }\n", 24, TSR_E_FORMAT,
     "plain numbers", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': False, }\n", 24, TSR_E_FORMAT, "plain numbers", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3), }\n", 24, TSR_E_FORMAT,
     "plain numbers", 0, 0},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", 24, TSR_E_FORMAT,
     "plain numbers", 0, 0},
    {1, "", 24, TSR_E_FORMAT, "plain numbers", 0, 0},
    {4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24, TSR_E_UNSUPPORTED,
     "version 4", 0, 0},
};

Test(npy, headers) {
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const sample *s = &samples[i];
        unsigned char bytes[1024];
        tsr_vectors *v = NULL;
        save(bytes, forge(s, bytes));
        const tsr_status status = tsr_vectors_open(path, &v);
        cr_assert(status == s->status, "%s: %d: %s", s->header, status, tsr_error_last());
        if (s->said)
            cr_assert(strstr(tsr_error_last(), s->said), "%s: %s", s->header, tsr_error_last());
        else
            cr_assert(tsr_vectors_rows(v) == s->rows && tsr_vectors_width(v) == s->width);
        tsr_vectors_close(&v);
    }
}

Test(npy, cut_anywhere) {
    unsigned char bytes[1024];
    const size_t n = forge(&samples[0], bytes);
    for (size_t keep = 0; keep < n; keep++) {
        tsr_vectors *v = NULL;
        save(bytes, keep);
        const tsr_status status = tsr_vectors_open(path, &v);
        cr_assert(status == TSR_E_FORMAT, "%zu: %d", keep, status);
        cr_assert(!strchr(tsr_error_last(), '\n') || strstr(tsr_error_last(), "header"));
    }
}

Test(npy, no_file) {
    tsr_vectors *v = NULL;
    cr_assert(tsr_vectors_open("/nowhere/x.npy", &v) == TSR_E_IO && !v);
    cr_assert(tsr_vectors_open("/tmp", &v) == TSR_E_FORMAT && !v);
}
