/* Windows of a stream of tokens: each comes once in an epoch, batches depend on their number alone,
 * validation data is held back, and masking has the right shares. */
#include "data_fixture.h"

#include "base/error.h"
#include "tessera/tokenizer.h"
#include "train/data/permute.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(data, .init = data_begin, .fini = data_end);

Test(data, permutations_are_bijections) {
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 17, 64, 65, 1000, 4096, 4097, 70000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const uint64_t n = sizes[s];
        char *seen = calloc(n, 1);
        uint64_t still = 0, alike = 0;
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t at = tsri_train_permute(7, 3, n, i);
            cr_assert(at < n && !seen[at], "%llu of %llu", (unsigned long long)i,
                      (unsigned long long)n);
            seen[at] = 1;
            still += at == i;
            alike += at == tsri_train_permute(7, 4, n, i) || at == tsri_train_permute(8, 3, n, i);
        }
        cr_expect(n < 64 || (still < n / 8 && alike < n / 8));
        free(seen);
    }
    const uint64_t large = (uint64_t)1 << 40;
    cr_assert_lt(tsri_train_permute(1, 1, large + 1, large), large + 1);
}

/* ---- windows ---- */

Test(data, every_window_once_an_epoch) {
    enum { BLOCK = 16, BATCH = 5 };
    size_t n;
    char *text = data_words(3000, &n);
    tsr_model *model = data_model(DECODER);
    const char *path = data_file("text.txt", text, n);
    tsri_train_data *data = data_open(
        model,
        (tsri_train_data_options){
            .paths = &path, .n_paths = 1, .batch = BATCH, .block = BLOCK, .pack = true, .seed = 3});
    int32_t *ids, B, T, S, eos = 0;
    size_t count;
    cr_assert_eq(tsr_encode(model, text, n, 0, &ids, &count), TSR_OK);
    const uint64_t windows = count / BLOCK, batches = tsri_train_data_batches(data);
    cr_assert_eq(batches, (windows + BATCH - 1) / BATCH);
    tsri_train_data_sizes(data, &B, &T, &S);
    cr_assert(B == BATCH && T == BLOCK && S == 0);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        char *seen = calloc(windows, 1);
        int64_t phase = -1;
        for (uint64_t i = 0; i < batches; i++) {
            const tsri_training_batch b = data_batch(data, epoch * batches + i);
            cr_assert_eq(b.T, BLOCK);
            cr_assert_eq((uint64_t)b.B,
                         i + 1 < batches || windows % BATCH == 0 ? BATCH : windows % BATCH);
            for (int32_t r = 0; r < b.B; r++) {
                const int32_t *row = b.ids + r * b.T;
                size_t at = 0; /* where this row is in the text; few places match */
                while (at + BLOCK <= count && (memcmp(ids + at, row, BLOCK * sizeof *row) ||
                                               (phase >= 0 && (int64_t)(at % BLOCK) != phase)))
                    at++;
                cr_assert_eq(b.len[r], BLOCK);
                if (at + BLOCK > count)
                    continue; /* the row wraps around the end of the text */
                if (phase < 0)
                    phase = (int64_t)(at % BLOCK);
                cr_assert(!seen[at / BLOCK], "window %zu comes twice", at / BLOCK);
                seen[at / BLOCK] = 1;
                for (int32_t k = 0; k < BLOCK; k++)
                    cr_assert_eq(b.targets[r * b.T + k],
                                 at + (size_t)k + 1 < count ? ids[at + (size_t)k + 1] : eos);
            }
        }
        uint64_t found = 0;
        for (uint64_t i = 0; i < windows; i++)
            found += (uint64_t)seen[i];
        cr_assert_geq(found + 1, windows);
        cr_assert(epoch || (phase == 0 && found == windows));
        free(seen);
    }
    tsr_ids_free(ids);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
    free(text);
}

Test(data, a_batch_depends_on_its_number_alone) {
    size_t n;
    char *text = data_words(5000, &n);
    tsr_model *model = data_model(DECODER), *encoder = data_model(MASKED);
    const char *path = data_file("text.txt", text, n);
    for (int kind = 0; kind < 4; kind++) {
        tsri_train_data_options o = {.paths = &path,
                                     .n_paths = 1,
                                     .batch = 7,
                                     .block = 24,
                                     .pack = kind % 2 == 0,
                                     .seed = 11,
                                     .objective =
                                         kind < 2 ? TSRI_OBJECTIVE_NEXT : TSRI_OBJECTIVE_MASKED};
        tsri_train_data *a = data_open(kind < 2 ? model : encoder, o);
        tsri_train_data_summary made, found;
        tsri_train_data_summarize(a, &made);
        const uint64_t batches = tsri_train_data_batches(a), far = 3 * batches + 2;
        tsri_training_batch b = data_batch(a, far);
        const uint64_t wanted = data_sum(&b);
        b = data_batch(a, 0);
        const uint64_t first = data_sum(&b);
        cr_expect_neq(first, wanted);
        char identity[256];
        snprintf(identity, sizeof identity, "%s", tsri_train_data_identity(a));
        tsri_train_data_close(&a);
        a = data_open(kind < 2 ? model : encoder, o);
        tsri_train_data_summarize(a, &found);
        cr_expect(made.prepared > 0 && found.prepared == 0 && made.tokens == found.tokens);
        cr_expect_str_eq(tsri_train_data_identity(a), identity);
        cr_expect_eq(tsri_train_data_check(a, identity), TSR_OK);
        for (uint64_t i = far + 3; i-- > far;)
            b = data_batch(a, i);
        cr_expect_eq(data_sum(&b), wanted);
        tsri_train_data_close(&a);
        o.seed = 12;
        a = data_open(kind < 2 ? model : encoder, o);
        b = data_batch(a, far);
        cr_expect_neq(data_sum(&b), wanted);
        tsri_train_data_close(&a);
    }
    tsr_model_close(&model);
    tsr_model_close(&encoder);
    free(text);
}

Test(data, the_end_of_a_stream_is_held_back) {
    size_t n;
    char *text = data_words(2000, &n);
    tsr_model *model = data_model(DECODER);
    const char *both[] = {data_file("a.txt", text, n / 2),
                          data_file("b.txt", text + n / 2, n - n / 2)};
    tsri_train_data *held, *data = data_open(model, (tsri_train_data_options){.paths = both,
                                                                              .n_paths = 2,
                                                                              .batch = 4,
                                                                              .block = 10,
                                                                              .pack = true,
                                                                              .validation = 0.1});
    tsri_train_data_summary all;
    cr_assert_eq(tsri_train_data_validation(data, &held), TSR_OK);
    cr_assert_not_null(held);
    int32_t *ids;
    size_t count;
    cr_assert_eq(tsr_encode(model, text, n, 0, &ids, &count), TSR_OK);
    tsri_train_data_summarize(data, &all);
    cr_assert_eq(all.bytes, n);
    int32_t last = -1, second = -1;
    uint64_t targets = 0;
    for (uint64_t i = 0; i < tsri_train_data_batches(held); i++) {
        const tsri_training_batch b = data_batch(held, i);
        for (int32_t r = 0; r < b.B; r++) {
            targets += (uint64_t)b.len[r];
            for (int32_t k = 0; k < b.T; k++)
                cr_assert_eq(k >= b.len[r], b.targets[r * b.T + k] == TSRI_TRAINING_IGNORE);
            second = b.targets[r * b.T + b.len[r] - 2];
            last = b.targets[r * b.T + b.len[r] - 1];
        }
    }
    /* The last token is the end token of the second file, and all tokens but the first are targets.
     */
    cr_assert_eq(last, 0);
    cr_assert_eq(second, ids[count - 1]);
    cr_assert_eq(targets, (uint64_t)(0.1 * (double)(count + 2)) - 1);
    cr_assert_leq(all.tokens + targets + 1, count + 2);
    tsr_ids_free(ids);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
    free(text);
}

/* All tokens of an epoch in the order of the text, as one window. */
static tsri_training_batch dropped(tsr_model *model, const char *const *paths, size_t n,
                                   double rate, tsri_train_data **data) {
    *data = data_open(model, (tsri_train_data_options){.paths = paths,
                                                       .n_paths = n,
                                                       .n_validation_paths = 1,
                                                       .validation_paths = paths,
                                                       .seed = 3,
                                                       .bpe_dropout = rate,
                                                       .block = 512,
                                                       .pack = true});
    return data_batch(*data, 0);
}

Test(data, bpe_dropout_cuts_each_mention_anew) {
    static const char text[] = "The quality of mercy is not strained; it droppeth as the gentle "
                               "rain from heaven upon the place beneath.\n";
    const size_t n = sizeof text - 1;
    tsr_model *model = data_model(DECODER);
    const char *path = data_file("text.txt", text, n), *const twice[] = {path, path};
    const double rates[] = {0, 0.3, 0.99};
    tsri_train_data *data, *again;
    int32_t tokens = 0;
    for (size_t i = 0; i < 3; i++) {
        const tsri_training_batch b = dropped(model, &path, 1, rates[i], &data);
        char *back = NULL;
        size_t size;
        /* The end token is the last target; the text is complete, in more and more tokens. */
        cr_assert_eq(b.targets[b.len[0] - 1], 0);
        cr_assert_eq(tsr_decode(model, b.ids, (size_t)b.len[0], true, &back, &size), TSR_OK);
        cr_assert(size == n && !memcmp(back, text, n), "%s", back);
        cr_assert(b.len[0] > tokens && (size_t)b.len[0] <= n, "%d at %g", (int)b.len[0], rates[i]);
        tokens = b.len[0];
        const tsri_training_batch same = dropped(model, &path, 1, rates[i], &again);
        cr_assert_eq(data_sum(&same), data_sum(&b));
        /* Validation data is tokenized without dropout. */
        tsri_train_data *held;
        cr_assert_eq(tsri_train_data_validation(data, &held), TSR_OK);
        const tsri_training_batch h = data_batch(held, 0);
        int32_t *ids;
        size_t whole;
        cr_assert_eq(tsr_encode(model, text, n, 0, &ids, &whole), TSR_OK);
        cr_assert(h.len[0] == (int32_t)whole && !memcmp(h.ids, ids, whole * sizeof *ids));
        tsr_ids_free(ids);
        tsr_text_free(back);
        tsri_train_data_close(&data);
        tsri_train_data_close(&again);
    }
    const tsri_training_batch b = dropped(model, twice, 2, 0.3, &data);
    int32_t first = 0;
    while (b.ids[first])
        first++;
    cr_assert(memcmp(b.ids, b.ids + first + 1, (size_t)(b.len[0] - first - 1) * sizeof *b.ids),
              "the second mention is cut as the first");
    tsri_train_data_close(&data);
    tsr_model_close(&model);
}

Test(data, texts_shorter_than_a_block) {
    tsr_model *model = data_model(DECODER);
    const char *path = data_file("short.txt", "To be", 5);
    tsri_train_data *data = data_open(
        model, (tsri_train_data_options){
                   .paths = &path, .n_paths = 1, .block = 64, .batch = 8, .pack = true, .seed = 1});
    for (uint64_t i = 0; i < 3; i++) {
        const tsri_training_batch b = data_batch(data, i);
        cr_assert(b.B == 1 && b.T == b.len[0] && b.targets[b.T - 1] == 0);
    }
    cr_assert_eq(tsri_train_data_batches(data), 1);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
}

Test(data, masking_chooses_15_in_100_and_replaces_80_10_10) {
    size_t n;
    char *text = data_words(20000, &n);
    tsr_model *model = data_model(MASKED);
    const char *path = data_file("text.txt", text, n);
    tsri_train_data *data =
        data_open(model, (tsri_train_data_options){.paths = &path,
                                                   .n_paths = 1,
                                                   .batch = 16,
                                                   .block = 32,
                                                   .pack = true,
                                                   .objective = TSRI_OBJECTIVE_MASKED});
    double places = 0, chosen = 0, masked = 0, kept = 0, other = 0;
    for (uint64_t i = 0; i < tsri_train_data_batches(data); i++) {
        const tsri_training_batch b = data_batch(data, i);
        for (int32_t r = 0; r < b.B; r++) {
            const int32_t *ids = b.ids + r * b.T, *targets = b.targets + r * b.T;
            cr_assert(ids[0] == 2 && ids[b.len[r] - 1] == 3);
            for (int32_t k = 0; k < b.len[r]; k++) {
                cr_assert(targets[k] == TSRI_TRAINING_IGNORE || targets[k] > 4);
                places += k > 0 && k < b.len[r] - 1;
                chosen += targets[k] != TSRI_TRAINING_IGNORE;
                masked += targets[k] != TSRI_TRAINING_IGNORE && ids[k] == 4;
                kept += ids[k] == targets[k];
                other += targets[k] != TSRI_TRAINING_IGNORE && ids[k] != 4 && ids[k] != targets[k];
            }
        }
    }
    /* Within 5 standard deviations. */
    cr_expect_float_eq(chosen / places, 0.15, 5 * 0.357 / 200, "%g", chosen / places);
    cr_expect_float_eq(masked / chosen, 0.8, 0.03, "%g", masked / chosen);
    cr_expect_float_eq(kept / chosen, 0.1, 0.02, "%g", kept / chosen);
    cr_expect_float_eq(other / chosen, 0.1, 0.02, "%g", other / chosen);
    tsri_train_data_close(&data);
    const tsri_train_data_options rare = {.paths = &path,
                                          .n_paths = 1,
                                          .block = 8,
                                          .pack = true,
                                          .workspace = data_work(),
                                          .mask_probability = 1e-9,
                                          .objective = TSRI_OBJECTIVE_MASKED};
    data = data_open(model, rare);
    for (uint64_t i = 0; i < 200; i++) {
        const tsri_training_batch b = data_batch(data, i);
        int targets = 0;
        for (int32_t k = 0; k < b.T; k++)
            targets += b.targets[k] != TSRI_TRAINING_IGNORE;
        cr_assert_eq(targets, 1);
    }
    tsri_train_data_close(&data);
    tsr_model_close(&model);
    free(text);
}
