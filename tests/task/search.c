/* The nearest rows of a file, compared with a sort of all rows. */
#include "tessera/search.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

enum { N = 3001, C = 131 }; /* more than one block */
static float rows[N * C];
static double cosines[N];

static tsr_vectors *index_of(const float *data, size_t n, uint32_t width) {
    char path[] = "/tmp/tessera-search-XXXXXX";
    const int fd = mkstemp(path);
    tsr_vectors_writer *w = NULL;
    tsr_vectors *v = NULL;
    cr_assert(fd >= 0);
    close(fd);
    OK(tsr_vectors_create(path, width, &w));
    OK(tsr_vectors_append(w, data, n));
    OK(tsr_vectors_commit(&w));
    OK(tsr_vectors_open(path, &v));
    unlink(path);
    return v;
}

static double cosine(const float *a, const float *b) {
    double ab = 0, aa = 0, bb = 0;
    for (int c = 0; c < C; c++) {
        ab += (double)a[c] * b[c];
        aa += (double)a[c] * a[c];
        bb += (double)b[c] * b[c];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

static int by_cosine(const void *a, const void *b) {
    const double x = cosines[*(const int *)a], y = cosines[*(const int *)b];
    return x != y ? (x > y ? -1 : 1) : *(const int *)a - *(const int *)b;
}

Test(search, nearest_of_all) {
    static int order[N];
    static tsr_hit hits[N + 5];
    for (int i = 0; i < N * C; i++)
        rows[i] = tsri_base_normal(3, 0, (uint64_t)i);
    for (int c = 0; c < C; c++)
        rows[7 * C + c] = 0;
    tsr_vectors *index = index_of(rows, N, C);
    const float *query = rows + 1234 * C;
    for (int i = 0; i < N; i++) {
        order[i] = i;
        cosines[i] = cosine(query, rows + i * C);
    }
    qsort(order, N, sizeof *order, by_cosine);
    static const uint32_t ks[] = {1, 2, 3, 10, 64, N - 1, N, N + 5};
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        uint32_t n = 0;
        OK(tsr_search(index, query, C, ks[i], hits, &n));
        cr_assert(n == (ks[i] < N ? ks[i] : N));
        cr_assert(hits[0].row == 1234 && hits[0].cosine > 0.99999f);
        for (uint32_t h = 0; h < n; h++)
            cr_assert(fabs(hits[h].cosine - cosines[order[h]]) < 1e-5);
    }
    tsr_vectors_close(&index);
}

Test(search, equal_rows_by_number) {
    const float same[8] = {1, 2, 2, 4, 1, 2, -1, -2};
    uint32_t n;
    tsr_hit hits[3];
    tsr_vectors *index = index_of(same, 4, 2);
    OK(tsr_search(index, same, 2, 2, hits, &n));
    cr_assert(n == 2 && hits[0].row == 0 && hits[1].row == 1);
    tsr_vectors_close(&index);
}

Test(search, refused) {
    const float bad[4] = {1, 2, INFINITY, 4};
    uint32_t n;
    tsr_hit hit;
    tsr_vectors *index = index_of(bad, 2, 2);
    cr_assert(tsr_search(index, bad, 3, 1, &hit, &n) == TSR_E_ARGUMENT);
    cr_assert(tsr_search(index, bad, 2, 0, &hit, &n) == TSR_E_ARGUMENT);
    cr_assert(tsr_search(index, bad + 2, 2, 1, &hit, &n) == TSR_E_FORMAT);
    cr_assert(tsr_search(index, bad, 2, 1, &hit, &n) == TSR_E_FORMAT && n == 0);
    tsr_vectors_close(&index);
}
