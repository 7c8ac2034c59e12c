/* Seed and epoch decide the order of windows, and the places that are masked. */
#include "data_fixture.h"

#include "tessera/tokenizer.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(data_order, .init = data_begin, .fini = data_end);

enum { BLOCK = 16, BATCH = 5, MOST = 4096 };

typedef struct order {
    int64_t n, windows[MOST]; /* by place in an epoch; -1: it wraps around the end of the text */
} order;

static order order_of(tsr_model *model, const char *path, const int32_t *ids, size_t count,
                      uint64_t seed, uint64_t epoch) {
    tsri_train_data *data = data_open(model, (tsri_train_data_options){.paths = &path,
                                                                       .n_paths = 1,
                                                                       .batch = BATCH,
                                                                       .block = BLOCK,
                                                                       .pack = true,
                                                                       .seed = seed});
    const uint64_t batches = tsri_train_data_batches(data);
    order out = {0};
    for (uint64_t i = 0; i < batches; i++) {
        const tsri_training_batch b = data_batch(data, epoch * batches + i);
        for (int32_t r = 0; r < b.B; r++) {
            size_t at = 0;
            while (at + BLOCK <= count &&
                   memcmp(ids + at, b.ids + r * b.T, BLOCK * sizeof *ids) != 0)
                at++;
            cr_assert_lt(out.n, MOST);
            out.windows[out.n++] = at + BLOCK <= count ? (int64_t)(at / BLOCK) : -1;
        }
    }
    tsri_train_data_close(&data);
    return out;
}

/* The share of places that have the same window in both orders. */
static double alike(const order *a, const order *b) {
    int64_t same = 0;
    cr_assert(a->n == b->n && a->n > 100);
    for (int64_t i = 0; i < a->n; i++)
        same += a->windows[i] == b->windows[i];
    return (double)same / (double)a->n;
}

Test(data_order, windows_come_in_another_order_by_seed_and_epoch) {
    size_t n, count;
    int32_t *ids;
    char *text = data_words(3000, &n);
    tsr_model *model = data_model(DECODER);
    const char *path = data_file("text.txt", text, n);
    cr_assert_eq(tsr_encode(model, text, n, 0, &ids, &count), TSR_OK);
    const order first = order_of(model, path, ids, count, 3, 0),
                again = order_of(model, path, ids, count, 3, 0),
                seed = order_of(model, path, ids, count, 4, 0),
                epoch = order_of(model, path, ids, count, 3, 1);
    cr_expect_eq(alike(&first, &again), 1);
    cr_expect_lt(alike(&first, &seed), 0.1, "the seed changes nothing");
    cr_expect_lt(alike(&first, &epoch), 0.1, "the epoch changes nothing");
    tsr_ids_free(ids);
    tsr_model_close(&model);
    free(text);
}

enum { LINES = 32, WORDS = 12 };

/* The masked places of batch 0 of an epoch; all lines of the text are the same. */
static void masked_places(tsr_model *model, const char *path, uint64_t seed, uint64_t epoch,
                          bool places[MOST]) {
    tsri_train_data *data =
        data_open(model, (tsri_train_data_options){.paths = &path,
                                                   .n_paths = 1,
                                                   .batch = LINES,
                                                   .seed = seed,
                                                   .mask_probability = 0.3,
                                                   .objective = TSRI_OBJECTIVE_MASKED});
    const tsri_training_batch b = data_batch(data, epoch * tsri_train_data_batches(data));
    cr_assert(b.B == LINES && b.B * b.T <= MOST);
    memset(places, 0, MOST * sizeof *places);
    for (int32_t i = 0; i < b.B * b.T; i++)
        places[i] = b.targets[i] != TSRI_TRAINING_IGNORE;
    for (int32_t r = 1; r < b.B; r++)
        cr_expect(memcmp(places, places + r * b.T, (size_t)b.T) != 0 || r > 1,
                  "the first rows are masked alike");
    tsri_train_data_close(&data);
}

Test(data_order, other_tokens_are_masked_by_seed_and_epoch) {
    static bool first[MOST], again[MOST], seed[MOST], epoch[MOST];
    size_t n;
    char *line = data_words(WORDS, &n), *text = malloc((n + 1) * LINES);
    for (size_t i = 0; i < LINES; i++) {
        memcpy(text + i * n, line, n);
        text[i * n + n - 1] = '\n';
    }
    tsr_model *model = data_model(MASKED);
    const char *path = data_file("lines.txt", text, n * LINES);
    masked_places(model, path, 3, 0, first);
    masked_places(model, path, 3, 0, again);
    masked_places(model, path, 4, 0, seed);
    masked_places(model, path, 3, 1, epoch);
    cr_expect_eq(memcmp(first, again, sizeof first), 0);
    cr_expect_neq(memcmp(first, seed, sizeof first), 0, "the seed changes nothing");
    cr_expect_neq(memcmp(first, epoch, sizeof first), 0, "the epoch changes nothing");
    tsr_model_close(&model);
    free(text);
    free(line);
}

/* A pool is sorted by length, and its batches are shuffled: else a model would see short texts
 * first, and long ones last. */
Test(data_order, batches_of_examples_are_not_in_the_order_of_their_lengths) {
    enum { N = 240, SIZE = 6 };
    char *text = malloc(N * 64);
    size_t n = 0;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k <= i % 24; k++)
            text[n++] = (char)('a' + k);
        text[n++] = '\n';
    }
    tsr_model *model = data_model(DECODER);
    const char *path = data_file("lines.txt", text, n);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        tsri_train_data *data = data_open(
            model,
            (tsri_train_data_options){.paths = &path, .n_paths = 1, .batch = SIZE, .seed = seed});
        const uint64_t batches = tsri_train_data_batches(data);
        uint64_t shorter = 0;
        int32_t before = 0;
        for (uint64_t i = 0; i < batches; i++) {
            const tsri_training_batch b = data_batch(data, i);
            shorter += b.T < before;
            before = b.T;
        }
        cr_assert(batches == N / SIZE && batches < 64);
        cr_expect(shorter > batches / 4 && shorter < batches * 3 / 4,
                  "%llu of %llu batches are shorter than the one before",
                  (unsigned long long)shorter, (unsigned long long)batches);
        tsri_train_data_close(&data);
    }
    tsr_model_close(&model);
    free(text);
}
