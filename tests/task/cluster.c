/* Clusters of rows by cosine: known clusters are found, the same seed gives the same bytes, and
 * rows of zeros or NaN are treated by rule. */
#include "tessera/cluster.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

enum { N = 240, C = 19, K = 4 };
static float rows[N * C];

/* Makes rows; row i lies near direction i % K. */
static void make_rows(float noise) {
    for (int i = 0; i < N; i++)
        for (int c = 0; c < C; c++)
            rows[i * C + c] =
                (1 + (float)(i % 3)) * (tsri_base_normal(1, (uint64_t)(i % K), (uint64_t)c) +
                                        noise * tsri_base_normal(2, (uint64_t)i, (uint64_t)c));
}

Test(cluster, groups_are_found) {
    tsr_cluster_options options = {.struct_size = sizeof options, .k = K};
    make_rows(0.2f);
    for (options.seed = 0; options.seed < 4; options.seed++) {
        tsr_clusters *found = NULL;
        OK(tsr_cluster(rows, N, C, &options, &found));
        cr_assert(found->rows == N && found->n == K && found->passes < 20);
        for (int i = 0; i < N; i++) {
            cr_assert(found->cluster[i] == found->cluster[i % K]);
            cr_assert(found->cosine[i] > 0.5f && found->cosine[i] <= 1);
        }
        for (int c = 0; c < K; c++) {
            cr_assert(found->size[c] == N / K);
            cr_assert(found->cluster[found->nearest[c]] == c);
            for (int i = 0; i < N; i++)
                cr_assert(found->cluster[i] != c ||
                          found->cosine[i] <= found->cosine[found->nearest[c]]);
        }
        tsr_clusters_free(&found);
    }
}

Test(cluster, a_seed_is_the_same_bytes) {
    const tsr_cluster_options options = {.struct_size = sizeof options, .k = 17, .seed = 5};
    tsr_clusters *one = NULL, *two = NULL;
    make_rows(3);
    OK(tsr_cluster(rows, N, C, &options, &one));
    OK(tsr_cluster(rows, N, C, &options, &two));
    cr_assert(one->n == two->n && one->passes == two->passes);
    cr_assert(memcmp(one->cluster, two->cluster, N * sizeof *one->cluster) == 0);
    cr_assert(memcmp(one->cosine, two->cosine, N * sizeof *one->cosine) == 0);
    for (uint32_t c = 1; c < one->n; c++)
        cr_assert(one->size[c] <= one->size[c - 1], "the largest first");
    tsr_clusters_free(&one);
    tsr_clusters_free(&two);
}

Test(cluster, as_many_as_rows) {
    const tsr_cluster_options options = {.struct_size = sizeof options, .k = 40};
    tsr_clusters *found = NULL;
    make_rows(1);
    OK(tsr_cluster(rows, 40, C, &options, &found));
    cr_assert(found->n == 40);
    for (int i = 0; i < 40; i++)
        cr_assert(found->cosine[i] > 0.9999f && found->size[i] == 1);
    tsr_clusters_free(&found);
    cr_assert(tsr_cluster(rows, 39, C, &options, &found) == TSR_E_ARGUMENT && !found);
}

Test(cluster, equal_rows) {
    const float same[6] = {3, 4, 3, 4, 3, 4};
    const tsr_cluster_options options = {.struct_size = sizeof options, .k = 2};
    tsr_clusters *found = NULL;
    OK(tsr_cluster(same, 3, 2, &options, &found));
    cr_assert(found->n >= 1 && found->n <= 2);
    tsr_clusters_free(&found);
}

Test(cluster, zeros_are_in_none) {
    const tsr_cluster_options means = {.struct_size = sizeof means, .k = 1},
                              communities = {.struct_size = sizeof communities, .threshold = 0.1f};
    const tsr_cluster_options *both[] = {&means, &communities};
    const float three[6] = {1, 0, 0, 0, 2, 0};
    for (int i = 0; i < 2; i++) {
        tsr_clusters *found = NULL;
        OK(tsr_cluster(three, 3, 2, both[i], &found));
        cr_assert(found->n == 1 && found->size[0] == 2);
        cr_assert(found->cluster[0] == 0 && found->cluster[1] == -1 && found->cluster[2] == 0);
        cr_assert(found->cosine[1] == 0 && found->nearest[0] == 0);
        tsr_clusters_free(&found);
    }
    tsr_clusters *found = NULL;
    OK(tsr_cluster(NULL, 0, 2, &communities, &found));
    cr_assert(found->n == 0);
    tsr_clusters_free(&found);
}

/* Angles in degrees; those within 20 of each other are neighbours. 30 has most neighbours, 10 to
 * 50. Then 100 and 80 have three each, and 100 comes first, so that 75 stays alone. */
Test(cluster, communities) {
    static const float degrees[] = {10, 20, 30, 40, 50, 100, 110, 200, 75, 80};
    static const int32_t wanted[] = {0, 0, 0, 0, 0, 1, 1, -1, -1, 1};
    enum { n = sizeof degrees / sizeof *degrees };
    float points[2 * n];
    const float turn = acosf(-1) / 180;
    const tsr_cluster_options options = {.struct_size = sizeof options,
                                         .threshold = cosf(20.1f * turn)};
    tsr_clusters *found = NULL;
    for (int i = 0; i < n; i++) {
        points[2 * i] = cosf(degrees[i] * turn);
        points[2 * i + 1] = sinf(degrees[i] * turn);
    }
    OK(tsr_cluster(points, n, 2, &options, &found));
    cr_assert(found->n == 2);
    for (int i = 0; i < n; i++)
        cr_expect(found->cluster[i] == wanted[i], "%d: %d", i, found->cluster[i]);
    tsr_clusters_free(&found);
}

static int stop(void *data, uint64_t done, uint64_t total) {
    cr_assert(done <= total);
    return ++*(int *)data == 3;
}

Test(cluster, refused) {
    int calls = 0;
    const float bad[4] = {1, 2, 3, NAN};
    tsr_cluster_options options = {.struct_size = sizeof options, .k = 1};
    tsr_clusters *found = NULL;
    cr_assert(tsr_cluster(bad, 2, 2, &options, &found) == TSR_E_FORMAT);
    cr_assert(strstr(tsr_error_last(), "row 1"), "%s", tsr_error_last());
    options.k = 0;
    for (options.threshold = -1; options.threshold < 3; options.threshold += 1) {
        cr_assert(tsr_cluster(bad, 1, 2, &options, &found) ==
                  (options.threshold == 1 ? TSR_OK : TSR_E_ARGUMENT));
        tsr_clusters_free(&found);
    }
    options = (tsr_cluster_options){
        .struct_size = sizeof options, .k = 9, .progress = stop, .progress_data = &calls};
    make_rows(1);
    cr_assert(tsr_cluster(rows, N, C, &options, &found) == TSR_E_CANCELLED && !found);
}
