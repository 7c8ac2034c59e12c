/* Data of training: every example once an epoch, batches that depend on their number alone, the
 * masking's shares, what is held back, and one sentence for each kind of bad file. */
#include "train/data.h"

#include "base/error.h"
#include "base/files.h"
#include "model/opened.h"
#include "tessera/tokenizer.h"
#include "train/permute.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DECODER TESSERA_SOURCE_DIR "/models/shakespeare"
#define TRANSLATOR TESSERA_SOURCE_DIR "/models/translate-de-en"
#define MASKED TESSERA_SOURCE_DIR "/tests/golden/encoders/masked"
#define CLASSIFIER TESSERA_SOURCE_DIR "/tests/golden/encoders/classify"

static char folder[] = "/tmp/tessera-data-XXXXXX";
static char paths[8][128], work[128];
static int n_paths;

static void begin(void) {
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    cr_assert(mkdtemp(folder));
    snprintf(work, sizeof work, "%s/work", folder);
    n_paths = 0;
}

static void end(void) {
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(data, .init = begin, .fini = end);

static const char *file(const char *name, const char *text, size_t n) {
    char *path = paths[n_paths++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    cr_assert(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
    return path;
}

static tsr_model *open_model(const char *path) {
    tsr_model *model = NULL;
    cr_assert_eq(tsr_model_open(path, NULL, NULL, &model), TSR_OK, "%s", tsr_error_last());
    return model;
}

static tsri_train_data *open_data(tsr_model *model, tsri_train_data_options o) {
    tsri_train_data *data = NULL;
    o.workspace = o.workspace ? o.workspace : work;
    cr_assert_eq(tsri_train_data_open(model, &o, &data), TSR_OK, "%s", tsr_error_last());
    return data;
}

static tsri_training_batch batch_of(tsri_train_data *data, uint64_t index) {
    tsri_training_batch batch;
    cr_assert_eq(tsri_train_data_batch(data, index, &batch), TSR_OK, "%s", tsr_error_last());
    return batch;
}

static uint64_t sum_of(const tsri_training_batch *b) {
    const size_t cells = (size_t)b->B * (size_t)b->T, source = (size_t)b->B * (size_t)b->S;
    uint64_t h = (uint64_t)b->B << 40 ^ (uint64_t)b->T << 20 ^ (uint64_t)b->S;
    for (size_t i = 0; i < cells; i++)
        h = (h ^ (uint32_t)b->ids[i]) * 1099511628211u;
    for (size_t i = 0; i < cells; i++)
        h = (h ^ (uint32_t)b->targets[i]) * 1099511628211u;
    for (size_t i = 0; i < source; i++)
        h = (h ^ (uint32_t)b->source[i]) * 1099511628211u;
    for (int32_t i = 0; i < b->B; i++)
        h = (h ^ (uint32_t)b->len[i]) * 1099511628211u;
    return h;
}

/* A text of n words in lines, no two lines alike. */
static char *words(int n, size_t *size) {
    char *text = malloc((size_t)n * 8 + 1);
    *size = 0;
    for (int i = 0; i < n; i++)
        *size += (size_t)sprintf(text + *size, "%c%d%c", 'a' + i % 26, i % 997,
                                 i % 12 == 11 ? '\n' : ' ');
    return text;
}

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
    char *text = words(3000, &n);
    tsr_model *model = open_model(DECODER);
    const char *path = file("text.txt", text, n);
    tsri_train_data *data = open_data(
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
            const tsri_training_batch b = batch_of(data, epoch * batches + i);
            cr_assert_eq(b.T, BLOCK);
            cr_assert_eq((uint64_t)b.B,
                         i + 1 < batches || windows % BATCH == 0 ? BATCH : windows % BATCH);
            for (int32_t r = 0; r < b.B; r++) {
                const int32_t *row = b.ids + r * b.T;
                size_t at = 0; /* where this row stands: texts have few such places */
                while (at + BLOCK <= count && (memcmp(ids + at, row, BLOCK * sizeof *row) ||
                                               (phase >= 0 && (int64_t)(at % BLOCK) != phase)))
                    at++;
                cr_assert_eq(b.len[r], BLOCK);
                if (at + BLOCK > count)
                    continue; /* around the end of the text */
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
    char *text = words(5000, &n);
    tsr_model *model = open_model(DECODER), *encoder = open_model(MASKED);
    const char *path = file("text.txt", text, n);
    for (int kind = 0; kind < 4; kind++) {
        tsri_train_data_options o = {.paths = &path,
                                     .n_paths = 1,
                                     .batch = 7,
                                     .block = 24,
                                     .pack = kind % 2 == 0,
                                     .seed = 11,
                                     .objective =
                                         kind < 2 ? TSRI_OBJECTIVE_NEXT : TSRI_OBJECTIVE_MASKED};
        tsri_train_data *a = open_data(kind < 2 ? model : encoder, o);
        tsri_train_data_summary made, found;
        tsri_train_data_summarize(a, &made);
        const uint64_t batches = tsri_train_data_batches(a), far = 3 * batches + 2;
        tsri_training_batch b = batch_of(a, far);
        const uint64_t wanted = sum_of(&b);
        b = batch_of(a, 0);
        const uint64_t first = sum_of(&b);
        cr_expect_neq(first, wanted);
        char identity[256];
        snprintf(identity, sizeof identity, "%s", tsri_train_data_identity(a));
        tsri_train_data_close(&a);
        a = open_data(kind < 2 ? model : encoder, o);
        tsri_train_data_summarize(a, &found);
        cr_expect(made.prepared > 0 && found.prepared == 0 && made.tokens == found.tokens);
        cr_expect_str_eq(tsri_train_data_identity(a), identity);
        cr_expect_eq(tsri_train_data_check(a, identity), TSR_OK);
        for (uint64_t i = far + 3; i-- > far;)
            b = batch_of(a, i);
        cr_expect_eq(sum_of(&b), wanted);
        tsri_train_data_close(&a);
        o.seed = 12;
        a = open_data(kind < 2 ? model : encoder, o);
        b = batch_of(a, far);
        cr_expect_neq(sum_of(&b), wanted);
        tsri_train_data_close(&a);
    }
    tsr_model_close(&model);
    tsr_model_close(&encoder);
    free(text);
}

Test(data, the_end_of_a_stream_is_held_back) {
    size_t n;
    char *text = words(2000, &n);
    tsr_model *model = open_model(DECODER);
    const char *both[] = {file("a.txt", text, n / 2), file("b.txt", text + n / 2, n - n / 2)};
    tsri_train_data *held, *data = open_data(model, (tsri_train_data_options){.paths = both,
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
        const tsri_training_batch b = batch_of(held, i);
        for (int32_t r = 0; r < b.B; r++) {
            targets += (uint64_t)b.len[r];
            for (int32_t k = 0; k < b.T; k++)
                cr_assert_eq(k >= b.len[r], b.targets[r * b.T + k] == TSRI_TRAINING_IGNORE);
            second = b.targets[r * b.T + b.len[r] - 2];
            last = b.targets[r * b.T + b.len[r] - 1];
        }
    }
    /* The last token is the end of the second file, and all but the first are targets. */
    cr_assert_eq(last, 0);
    cr_assert_eq(second, ids[count - 1]);
    cr_assert_eq(targets, (uint64_t)(0.1 * (double)(count + 2)) - 1);
    cr_assert_leq(all.tokens + targets + 1, count + 2);
    tsr_ids_free(ids);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
    free(text);
}

Test(data, texts_shorter_than_a_block) {
    tsr_model *model = open_model(DECODER);
    const char *path = file("short.txt", "To be", 5);
    tsri_train_data *data = open_data(
        model, (tsri_train_data_options){
                   .paths = &path, .n_paths = 1, .block = 64, .batch = 8, .pack = true, .seed = 1});
    for (uint64_t i = 0; i < 3; i++) {
        const tsri_training_batch b = batch_of(data, i);
        cr_assert(b.B == 1 && b.T == b.len[0] && b.targets[b.T - 1] == 0);
    }
    cr_assert_eq(tsri_train_data_batches(data), 1);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
}

/* ---- examples ---- */

/* Lines {"text": "a...a", "label": "..."} of 1 to 20 letters, told apart by their lengths and
 * labels. */
static size_t labelled(char *text, int n) {
    size_t size = 0;
    for (int i = 0; i < n; i++) {
        size += (size_t)sprintf(text + size, "{\"label\": \"%s\", \"text\": \"",
                                i % 3 == 0   ? "so so"
                                : i % 3 == 1 ? "good"
                                             : "bad");
        for (int k = 0; k <= i % 20; k++)
            size += (size_t)sprintf(text + size, "%s%c", k ? " " : "", 'a' + i / 20 % 20);
        size += (size_t)sprintf(text + size, "\"}\n");
    }
    return size;
}

Test(data, every_example_once_an_epoch_with_little_padding) {
    enum { N = 397, BATCH = 6 };
    char *text = malloc(N * 100);
    tsr_model *model = open_model(CLASSIFIER);
    const char *path = file("l.jsonl", text, labelled(text, N));
    tsri_train_data *data =
        open_data(model, (tsri_train_data_options){.paths = &path,
                                                   .n_paths = 1,
                                                   .batch = BATCH,
                                                   .seed = 5,
                                                   .objective = TSRI_OBJECTIVE_CLASSIFY});
    size_t n_labels;
    const char *const *labels = tsri_train_data_labels(data, &n_labels);
    cr_assert(n_labels == 3 && !strcmp(labels[0], "good") && !strcmp(labels[2], "so so"));
    cr_assert_eq(tsri_train_data_batches(data), (N + BATCH - 1) / BATCH);
    uint64_t orders[2] = {0, 0};
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        int seen[20][20] = {{0}}, classes[3] = {0, 0, 0};
        uint64_t tokens = 0, cells = 0;
        for (uint64_t i = 0; i < tsri_train_data_batches(data); i++) {
            const tsri_training_batch b = batch_of(data, epoch * tsri_train_data_batches(data) + i);
            for (int32_t r = 0; r < b.B; r++) {
                const int32_t *row = b.ids + r * b.T, letter = row[1] == 6 ? 0 : row[1] - 28;
                cr_assert(row[0] == 2 && row[b.len[r] - 1] == 3 && b.targets[r] >= 0 &&
                          b.targets[r] < 3);
                cr_assert(letter >= 0 && letter < 20);
                seen[b.len[r] - 3][letter]++;
                classes[b.targets[r]]++;
                tokens += (uint64_t)b.len[r];
            }
            cells += (uint64_t)b.B * (uint64_t)b.T;
            orders[epoch] = (orders[epoch] ^ (uint32_t)b.T) * 1099511628211u;
        }
        for (int i = 0; i < 400; i++)
            cr_assert_eq(seen[i % 20][i / 20], i < N ? 1 : 0, "example %d", i);
        cr_assert(classes[2] == (N + 2) / 3 && classes[0] == (N + 1) / 3);
        cr_expect_lt((double)cells, 1.1 * (double)tokens);
    }
    cr_expect_neq(orders[0], orders[1]);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
    free(text);
}

Test(data, the_split_does_not_depend_on_the_seed) {
    enum { N = 200 };
    char *text = malloc(N * 100);
    tsr_model *model = open_model(CLASSIFIER);
    const char *path = file("l.jsonl", text, labelled(text, N));
    uint64_t sums[2];
    for (uint64_t seed = 0; seed < 2; seed++) {
        tsri_train_data *held,
            *data =
                open_data(model, (tsri_train_data_options){.paths = &path,
                                                           .n_paths = 1,
                                                           .batch = 8,
                                                           .seed = seed,
                                                           .validation = 0.25,
                                                           .objective = TSRI_OBJECTIVE_CLASSIFY});
        cr_assert_eq(tsri_train_data_validation(data, &held), TSR_OK);
        int seen[20][20] = {{0}};
        sums[seed] = 0;
        for (int part = 0; part < 2; part++) {
            tsri_train_data *d = part ? held : data;
            for (uint64_t i = 0; i < tsri_train_data_batches(d); i++) {
                const tsri_training_batch b = batch_of(d, i);
                for (int32_t r = 0; r < b.B; r++)
                    seen[b.len[r] - 3][b.ids[r * b.T + 1] == 6 ? 0 : b.ids[r * b.T + 1] - 28]++;
                if (part)
                    sums[seed] = sums[seed] * 31 + sum_of(&b);
            }
        }
        for (int i = 0; i < 400; i++)
            cr_assert_eq(seen[i % 20][i / 20], i < N ? 1 : 0, "example %d", i);
        tsri_train_data_summary all;
        tsri_train_data_summarize(held, &all);
        cr_assert_eq(all.examples, N / 4);
        tsri_train_data_close(&data);
    }
    cr_assert_eq(sums[0], sums[1]);
    tsr_model_close(&model);
    free(text);
}

Test(data, masking_chooses_15_in_100_and_replaces_80_10_10) {
    size_t n;
    char *text = words(20000, &n);
    tsr_model *model = open_model(MASKED);
    const char *path = file("text.txt", text, n);
    tsri_train_data *data =
        open_data(model, (tsri_train_data_options){.paths = &path,
                                                   .n_paths = 1,
                                                   .batch = 16,
                                                   .block = 32,
                                                   .pack = true,
                                                   .objective = TSRI_OBJECTIVE_MASKED});
    double places = 0, chosen = 0, masked = 0, kept = 0, other = 0;
    for (uint64_t i = 0; i < tsri_train_data_batches(data); i++) {
        const tsri_training_batch b = batch_of(data, i);
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
    /* Within 5 deviations of what is drawn. */
    cr_expect_float_eq(chosen / places, 0.15, 5 * 0.357 / 200, "%g", chosen / places);
    cr_expect_float_eq(masked / chosen, 0.8, 0.03, "%g", masked / chosen);
    cr_expect_float_eq(kept / chosen, 0.1, 0.02, "%g", kept / chosen);
    cr_expect_float_eq(other / chosen, 0.1, 0.02, "%g", other / chosen);
    tsri_train_data_close(&data);
    const tsri_train_data_options rare = {.paths = &path,
                                          .n_paths = 1,
                                          .block = 8,
                                          .pack = true,
                                          .workspace = work,
                                          .mask_probability = 1e-9,
                                          .objective = TSRI_OBJECTIVE_MASKED};
    data = open_data(model, rare);
    for (uint64_t i = 0; i < 200; i++) {
        const tsri_training_batch b = batch_of(data, i);
        int targets = 0;
        for (int32_t k = 0; k < b.T; k++)
            targets += b.targets[k] != TSRI_TRAINING_IGNORE;
        cr_assert_eq(targets, 1);
    }
    tsri_train_data_close(&data);
    tsr_model_close(&model);
    free(text);
}

Test(data, translations_are_teacher_forced) {
    static const char text[] =
        "Guten Morgen.\tGood morning.\nJa\tYes, I do.\tCC BY\n\nNein!\tNo!\n";
    tsr_model *model = open_model(TRANSLATOR);
    const char *path = file("pairs.tsv", text, sizeof text - 1);
    const tsri_train_data_options o = {.paths = &path,
                                       .n_paths = 1,
                                       .batch = 3,
                                       .block = 64,
                                       .objective = TSRI_OBJECTIVE_TRANSLATE};
    tsri_train_data *data = open_data(model, o);
    const tsri_model_spec *spec = &tsri_model_of(model)->spec;
    const tsri_training_batch b = batch_of(data, 0);
    int32_t B, T, S;
    tsri_train_data_sizes(data, &B, &T, &S);
    cr_assert(b.B == 3 && b.T == T && b.S == S && tsri_train_data_batches(data) == 1);
    bool found = false;
    for (int32_t r = 0; r < 3; r++) {
        const int32_t *ids = b.ids + r * b.T, *targets = b.targets + r * b.T,
                      *source = b.source + r * b.S;
        cr_assert_eq(ids[0], spec->decoder_start);
        cr_assert_eq(targets[b.len[r] - 1], spec->eos[0]);
        cr_assert_eq(source[b.source_len[r] - 1], spec->eos[0]);
        cr_assert(!memcmp(ids + 1, targets, ((size_t)b.len[r] - 1) * sizeof *ids));
        for (int32_t k = b.len[r]; k < b.T; k++)
            cr_assert_eq(targets[k], TSRI_TRAINING_IGNORE);
        char *back;
        size_t n;
        cr_assert_eq(tsr_decode(model, targets, (size_t)b.len[r], 1, &back, &n), TSR_OK);
        found = found || !strcmp(back, "Yes, I do.");
        tsr_text_free(back);
    }
    cr_assert(found, "the third column is no part of the target");
    tsri_train_data_close(&data);
    tsri_train_data_options cut = o;
    cut.block = 2;
    cut.target_block = 3;
    data = open_data(model, cut);
    const tsri_training_batch c = batch_of(data, 0);
    tsri_train_data_summary all;
    tsri_train_data_summarize(data, &all);
    cr_assert(c.T == 3 && c.S == 2 && all.cut >= 2);
    for (int32_t r = 0; r < 3; r++)
        cr_assert(c.targets[r * 3 + c.len[r] - 1] == spec->eos[0] &&
                  c.source[r * 2 + c.source_len[r] - 1] == spec->eos[0]);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
}

Test(data, a_source_before_the_text_counts_nothing) {
    static const char text[] = "{\"source\": \"ab ab\", \"target\": \"cd\"}\n";
    tsr_model *model = open_model(DECODER);
    const char *path = file("pairs.jsonl", text, sizeof text - 1);
    tsri_train_data_options o = {.paths = &path, .n_paths = 1, .block = 64, .workspace = work};
    tsri_train_data *data = open_data(model, o);
    const tsri_training_batch b = batch_of(data, 0);
    int32_t *source;
    size_t n, counted = 0;
    cr_assert_eq(tsr_encode(model, "ab ab", 5, 0, &source, &n), TSR_OK);
    cr_assert(!memcmp(b.ids, source, n * sizeof *source));
    for (int32_t k = 0; k < b.T; k++) {
        cr_assert_eq(b.targets[k] == TSRI_TRAINING_IGNORE, (size_t)k + 1 < n, "place %d", (int)k);
        counted += b.targets[k] != TSRI_TRAINING_IGNORE;
    }
    cr_assert_eq(b.targets[b.T - 1], 0);
    cr_assert_geq(counted, 2);
    tsri_train_data_close(&data);
    o.block = (int32_t)n - 1;
    cr_assert_eq(tsri_train_data_open(model, &o, &data), TSR_E_FORMAT);
    cr_assert(strstr(tsr_error_last(), "line 1: the source alone"), "%s", tsr_error_last());
    tsr_ids_free(source);
    tsr_model_close(&model);
}

Test(data, csv_with_quotes_and_line_ends) {
    static const char text[] = "\xEF\xBB\xBF"
                               "category,id,\"the \"\"text\"\"\"\r\n"
                               "good,1,\"the cat, \"\"the\nbig\"\" dog\"\r\n"
                               "\n"
                               "bad,2,a cat\n"
                               "so so,\"3\",\"paris\"";
    tsr_model *model = open_model(CLASSIFIER);
    const char *path = file("t.csv", text, sizeof text - 1);
    tsri_train_data *data =
        open_data(model, (tsri_train_data_options){.paths = &path,
                                                   .n_paths = 1,
                                                   .batch = 3,
                                                   .text_field = "the \"text\"",
                                                   .label_field = "category",
                                                   .objective = TSRI_OBJECTIVE_CLASSIFY});
    const tsri_training_batch b = batch_of(data, 0);
    cr_assert(b.B == 3 && b.len[0] == 3 && b.len[1] == 4);
    cr_assert(b.targets[0] == 2 && b.targets[1] == 1 && b.targets[2] == 0);
    char *back;
    size_t n;
    cr_assert_eq(tsr_decode(model, b.ids + 2 * b.T, (size_t)b.len[2], 1, &back, &n), TSR_OK);
    cr_expect(strstr(back, "big"), "%s", back);
    tsr_text_free(back);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
}

Test(data, labels_before_there_is_a_model) {
    const char *numbers = file("n.tsv", "a\t10\nb\t2\nc\t10\n", 14),
               *names = file("w.tsv", "a\tx\nb\tab\nc\tabc\n", 15);
    char **labels;
    size_t n;
    tsri_train_data_options o = {.paths = &numbers, .n_paths = 1};
    cr_assert_eq(tsri_train_labels_scan(&o, &labels, &n), TSR_OK);
    cr_assert(n == 2 && !strcmp(labels[0], "2") && !strcmp(labels[1], "10"));
    tsri_train_labels_free(&labels, n);
    o.validation_paths = &names;
    o.n_validation_paths = 1;
    cr_assert_eq(tsri_train_labels_scan(&o, &labels, &n), TSR_OK);
    cr_assert(n == 5 && !strcmp(labels[0], "10") && !strcmp(labels[2], "ab") &&
              !strcmp(labels[4], "x"));
    tsri_train_labels_free(&labels, n);
}

static tsr_status gather(void *data, const char *text, size_t n) {
    return tsri_base_bytes_append(data, text, n);
}

Test(data, texts_for_a_tokenizer) {
    const char *path = file("p.tsv", "a b\tc d\ne\tf\n", 12);
    tsri_bytes all = {0};
    const tsri_train_data_options o = {
        .paths = &path, .n_paths = 1, .objective = TSRI_OBJECTIVE_TRANSLATE};
    cr_assert_eq(tsri_train_data_texts(&o, gather, &all), TSR_OK);
    cr_assert_str_eq(all.data, "a bc def");
    tsri_base_bytes_clear(&all);
}

/* ---- token files ---- */

static void each_token_file(const char *ending, void (*visit)(const char *path)) {
    DIR *dir = opendir(work);
    cr_assert(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", work, entry->d_name);
        const char *dot = strrchr(entry->d_name, '.');
        cr_assert(entry->d_name[0] == '.' || !strcmp(dot, ".tokens") || !strcmp(dot, ".index"),
                  "%s was left behind", entry->d_name);
        if (dot && !strcmp(dot, ending))
            visit(path);
    }
    closedir(dir);
}

static void shorten(const char *path) {
    cr_assert_eq(truncate(path, 40), 0);
}

static void wreck(const char *path) {
    FILE *f = fopen(path, "r+b");
    cr_assert(f && fwrite("\xff\xff\xff\xff", 1, 4, f) == 4 && fclose(f) == 0);
}

Test(data, token_files_are_made_again_where_they_are_damaged) {
    size_t n;
    char *text = words(500, &n);
    tsr_model *model = open_model(DECODER);
    const char *path = file("text.txt", text, n);
    const tsri_train_data_options o = {.paths = &path, .n_paths = 1, .block = 8, .pack = true};
    tsri_train_data *data = open_data(model, o);
    tsri_train_data_summary all;
    tsri_training_batch b = batch_of(data, 0);
    const uint64_t wanted = sum_of(&b);
    tsri_train_data_close(&data);
    void (*const harms[])(const char *) = {shorten, wreck};
    const char *const endings[] = {".index", ".tokens"};
    for (int i = 0; i < 3; i++) {
        each_token_file(endings[i / 2], harms[i % 2]);
        data = open_data(model, o);
        tsri_train_data_summarize(data, &all);
        cr_assert_gt(all.prepared, 0);
        b = batch_of(data, 0);
        cr_assert_eq(sum_of(&b), wanted);
        tsri_train_data_close(&data);
    }
    /* An id that can't be is found when it is read. */
    each_token_file(".tokens", wreck);
    data = open_data(model, o);
    tsr_status status = TSR_OK;
    for (uint64_t i = 0; i < tsri_train_data_batches(data) && status == TSR_OK; i++)
        status = tsri_train_data_batch(data, i, &b);
    cr_assert_eq(status, TSR_E_FORMAT);
    cr_assert(strstr(tsr_error_last(), "is damaged; delete it"), "%s", tsr_error_last());
    tsri_train_data_close(&data);
    tsr_model_close(&model);
    free(text);
}

Test(data, a_changed_file_is_named) {
    tsr_model *model = open_model(DECODER);
    const char *both[] = {file("a.txt", "one two three", 13), file("b.txt", "four five", 9)};
    tsri_train_data_options o = {.paths = both, .n_paths = 2, .block = 4, .pack = true};
    tsri_train_data *data = open_data(model, o);
    char identity[512];
    snprintf(identity, sizeof identity, "%s", tsri_train_data_identity(data));
    tsri_train_data_close(&data);
    file("b.txt", "four fiVe", 9);
    data = open_data(model, o);
    cr_assert_eq(tsri_train_data_check(data, identity), TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(), "b.txt has changed"), "%s", tsr_error_last());
    tsri_train_data_close(&data);
    file("b.txt", "four five", 9);
    o.pack = false;
    data = open_data(model, o);
    cr_assert_eq(tsri_train_data_check(data, identity), TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(), "other fields"), "%s", tsr_error_last());
    tsri_train_data_close(&data);
    o.pack = true;
    o.n_paths = 1;
    data = open_data(model, o);
    cr_assert_eq(tsri_train_data_check(data, identity), TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(), "read 2 files, and 1 are given"), "%s", tsr_error_last());
    tsri_train_data_close(&data);
    tsr_model_close(&model);
}

static int stop(void *data, uint64_t done, uint64_t total, uint64_t tokens) {
    (void)tokens;
    cr_assert_leq(done, total);
    return ++*(int *)data > 1;
}

Test(data, preparing_can_be_stopped) {
    size_t n;
    char *text = words(200000, &n);
    int calls = 0;
    tsr_model *model = open_model(DECODER);
    const char *path = file("text.txt", text, n);
    tsri_train_data *data = NULL;
    const tsri_train_data_options o = {.paths = &path,
                                       .n_paths = 1,
                                       .pack = true,
                                       .workspace = work,
                                       .progress = stop,
                                       .progress_data = &calls};
    cr_assert_eq(tsri_train_data_open(model, &o, &data), TSR_E_CANCELLED);
    cr_assert_null(data);
    each_token_file(".tokens", shorten); /* nothing else lies there, and none of these */
    tsr_model_close(&model);
    free(text);
}

/* ---- bad data ---- */

#define NEXT .objective = TSRI_OBJECTIVE_NEXT
#define PACKED .objective = TSRI_OBJECTIVE_NEXT, .pack = true
#define MASK .objective = TSRI_OBJECTIVE_MASKED
#define PAIRS .objective = TSRI_OBJECTIVE_TRANSLATE
#define LABELS .objective = TSRI_OBJECTIVE_CLASSIFY

Test(data, bad_data_is_told_in_one_sentence) {
    static const struct {
        const char *model, *name, *text, *why;
        tsri_train_data_options options;
        tsr_status status;
    } rows[] = {
        {DECODER, "a.txt", "", "a.txt is empty", {PACKED}, TSR_E_FORMAT},
        {DECODER,
         "a.txt",
         "one\ntwo\xff\n",
         "a.txt: line 2: byte 4 of it (0xff)",
         {PACKED},
         TSR_E_FORMAT},
        {DECODER, "a.txt", "\n \n", "a.txt holds no tokens", {NEXT}, TSR_E_FORMAT},
        {DECODER,
         "a.jsonl",
         "{\"text\": \"\"}\n",
         "a.jsonl holds no tokens",
         {PACKED},
         TSR_E_FORMAT},
        {DECODER,
         "a.jsonl",
         "{\"text\": \"a\"}\n{\"text\": \"\"}",
         "a.jsonl: line 2: the text has no tokens",
         {NEXT},
         TSR_E_FORMAT},
        {DECODER,
         "a.jsonl",
         "{\"text\": \"a\"}\n\n{\"txt\": \"a\"}",
         "a.jsonl: line 3: no field \"text\"",
         {PACKED},
         TSR_E_FORMAT},
        {DECODER,
         "a.jsonl",
         "{\"text\": 3}",
         "a.jsonl: line 1: \"text\" is not a text",
         {PACKED},
         TSR_E_FORMAT},
        {DECODER,
         "a.jsonl",
         "[1]",
         "a.jsonl: line 1: is not a JSON object",
         {PACKED},
         TSR_E_FORMAT},
        {DECODER, "a.jsonl", "{\"text\": \"a\"", "a.jsonl: line 1", {PACKED}, TSR_E_FORMAT},
        {DECODER,
         "a.csv",
         "x,y\n1,2\n",
         "line 1 names no column \"text\"; its columns are \"x\", \"y\"",
         {PACKED},
         TSR_E_FORMAT},
        {DECODER,
         "a.jsonl",
         "{\"source\": \"a\", \"target\": \"\"}",
         "line 1: the target has no tokens",
         {NEXT},
         TSR_E_FORMAT},
        {TRANSLATOR, "a.tsv", "a\tb\nc d\n", "a.tsv: line 2: has no tab", {PAIRS}, TSR_E_FORMAT},
        {TRANSLATOR, "a.txt", "c d\n", "a.txt: line 1: has no tab; source", {PAIRS}, TSR_E_FORMAT},
        {TRANSLATOR,
         "a.tsv",
         "a\tb\n\tc\n",
         "a.tsv: line 2: the source has no tokens",
         {PAIRS},
         TSR_E_FORMAT},
        {TRANSLATOR,
         "a.tsv",
         "a\tb\nc\t  \n",
         "a.tsv: line 2: the target has no tokens",
         {PAIRS},
         TSR_E_FORMAT},
        {TRANSLATOR,
         "a.jsonl",
         "{\"source\": \"a\"}",
         "a.jsonl: line 1: no field \"target\"",
         {PAIRS},
         TSR_E_FORMAT},
        {TRANSLATOR, "a.tsv", "a\tb\n", "can't be packed", {PAIRS, .pack = true}, TSR_E_ARGUMENT},
        {CLASSIFIER,
         "a.csv",
         "text,label\na,good\nb,great\n",
         "a.csv: line 3: the label \"great\" is none of the model's 3",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.csv",
         "text,label\na,good\n\"b,bad\n\nc",
         "a.csv: line 3: a quote is opened and not closed",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.csv",
         "text,label\n\"a\"b,good\n",
         "a.csv: line 2: text follows a closing quote",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.csv",
         "text,label\nb\n",
         "a.csv: line 2: it has 1 fields",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.csv",
         "text,label\nb,\n",
         "a.csv: line 2: the label is empty",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.csv",
         "text,label\n,good\n",
         "a.csv: line 2: the text has no tokens",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER, "a.csv", "text,label\n", "a.csv holds no tokens", {LABELS}, TSR_E_FORMAT},
        {CLASSIFIER,
         "a.tsv",
         "b good\n",
         "a.tsv: line 1: has no tab; text, a tab and a label",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.jsonl",
         "{\"text\": \"a\", \"label\": 1.5}",
         "\"label\" is not a text and not a whole number",
         {LABELS},
         TSR_E_FORMAT},
        {DECODER,
         "a.txt",
         "abc",
         "a block of 999 tokens; ",
         {PACKED, .block = 999},
         TSR_E_ARGUMENT},
        {DECODER, "a.txt", "abc", "0.6 held back", {PACKED, .validation = 0.6}, TSR_E_ARGUMENT},
        {DECODER, "a.txt", "abc", "names no mask token", {MASK}, TSR_E_STATE},
        {MASKED,
         "a.txt",
         "abc",
         "a block of 2 tokens; 2 stand around",
         {MASK, .pack = true, .block = 2},
         TSR_E_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsr_model *model = open_model(rows[i].model);
        const char *path = file(rows[i].name, rows[i].text, strlen(rows[i].text));
        tsri_train_data_options o = rows[i].options;
        tsri_train_data *data = NULL;
        o.paths = &path;
        o.n_paths = 1;
        o.workspace = work;
        cr_expect_eq(tsri_train_data_open(model, &o, &data), rows[i].status, "row %zu: %s", i,
                     tsr_error_last());
        cr_expect(strstr(tsr_error_last(), rows[i].why), "row %zu: %s", i, tsr_error_last());
        cr_expect_null(data);
        tsr_model_close(&model);
    }
    each_token_file(".none", shorten); /* no temporary file stays */
}

Test(data, an_id_past_the_vocabulary) {
    tsr_model *model = open_model(DECODER);
    tsri_model *inner = tsri_model_of(model);
    inner->spec.vocab = 300; /* as a config.json that says less than its tokenizer */
    const char *path = file("a.txt", "!\n\"#\nthe thee there\n", 20);
    const tsri_train_data_options o = {
        .paths = &path, .n_paths = 1, .pack = true, .workspace = work};
    tsri_train_data *data = NULL;
    cr_assert_eq(tsri_train_data_open(model, &o, &data), TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(), "a.txt: line 3: the tokenizer gives token id"), "%s",
              tsr_error_last());
    cr_expect(strstr(tsr_error_last(), "vocabulary ends at 299"), "%s", tsr_error_last());
    tsr_model_close(&model);
}
