/* Examples as sequences: each comes once in an epoch, with little padding; labels, translations,
 * sources. */
#include "data_fixture.h"

#include "base/error.h"
#include "model/model.h"
#include "tessera/tokenizer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(data_examples, .init = data_begin, .fini = data_end);

/* Writes lines {"text": "a...a", "label": "..."} of 1 to 20 letters, which are identified by their
 * lengths and labels. */
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

Test(data_examples, every_example_once_an_epoch_with_little_padding) {
    enum { N = 397, BATCH = 6 };
    char *text = malloc(N * 100);
    tsr_model *model = data_model(CLASSIFIER);
    const char *path = data_file("l.jsonl", text, labelled(text, N));
    tsri_train_data *data =
        data_open(model, (tsri_train_data_options){.paths = &path,
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
            const tsri_training_batch b =
                data_batch(data, epoch * tsri_train_data_batches(data) + i);
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

Test(data_examples, the_split_does_not_depend_on_the_seed) {
    enum { N = 200 };
    char *text = malloc(N * 100);
    tsr_model *model = data_model(CLASSIFIER);
    const char *path = data_file("l.jsonl", text, labelled(text, N));
    uint64_t sums[2];
    for (uint64_t seed = 0; seed < 2; seed++) {
        tsri_train_data *held,
            *data =
                data_open(model, (tsri_train_data_options){.paths = &path,
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
                const tsri_training_batch b = data_batch(d, i);
                for (int32_t r = 0; r < b.B; r++)
                    seen[b.len[r] - 3][b.ids[r * b.T + 1] == 6 ? 0 : b.ids[r * b.T + 1] - 28]++;
                if (part)
                    sums[seed] = sums[seed] * 31 + data_sum(&b);
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

Test(data_examples, translations_are_teacher_forced) {
    static const char text[] =
        "Guten Morgen.\tGood morning.\nJa\tYes, I do.\tCC BY\n\nNein!\tNo!\n";
    tsr_model *model = data_model(TRANSLATOR);
    const char *path = data_file("pairs.tsv", text, sizeof text - 1);
    const tsri_train_data_options o = {.paths = &path,
                                       .n_paths = 1,
                                       .batch = 3,
                                       .block = 64,
                                       .objective = TSRI_OBJECTIVE_TRANSLATE};
    tsri_train_data *data = data_open(model, o);
    const tsri_model_spec *spec = &tsri_model_of(model)->spec;
    const tsri_training_batch b = data_batch(data, 0);
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
    cr_assert(found, "the third column is not part of the target");
    tsri_train_data_close(&data);
    tsri_train_data_options cut = o;
    cut.block = 2;
    cut.target_block = 3;
    data = data_open(model, cut);
    const tsri_training_batch c = data_batch(data, 0);
    tsri_train_data_summary all;
    tsri_train_data_summarize(data, &all);
    cr_assert(c.T == 3 && c.S == 2 && all.cut >= 2);
    for (int32_t r = 0; r < 3; r++)
        cr_assert(c.targets[r * 3 + c.len[r] - 1] == spec->eos[0] &&
                  c.source[r * 2 + c.source_len[r] - 1] == spec->eos[0]);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
}

Test(data_examples, a_source_before_the_text_counts_nothing) {
    static const char text[] = "{\"source\": \"ab ab\", \"target\": \"cd\"}\n";
    tsr_model *model = data_model(DECODER);
    const char *path = data_file("pairs.jsonl", text, sizeof text - 1);
    tsri_train_data_options o = {
        .paths = &path, .n_paths = 1, .block = 64, .workspace = data_work()};
    tsri_train_data *data = data_open(model, o);
    const tsri_training_batch b = data_batch(data, 0);
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

Test(data_examples, the_first_record_tells_whether_files_hold_pairs) {
    static const struct {
        const char *name, *text;
        bool pairs;
    } rows[] = {{"a.jsonl", "{\"source\": \"a\", \"target\": \"b\"}\n{\"text\": \"a\"}\n", true},
                {"b.jsonl", "{\"text\": \"a\", \"source\": \"a\", \"target\": \"b\"}\n", false},
                {"c.tsv", "a\tb\n", true},
                {"d.tsv", "a b\n", false},
                {"e.csv", "source,target\na,b\n", true},
                {"f.csv", "text,label\na,b\n", false},
                {"g.txt", "a\tb\n", false},
                {"h.jsonl", "{\"source\": \"a\"}\n", false},
                {"i.tsv", "source\ttarget\na\tb\n", true},
                {"j.tsv", "text\tlabel\na\tb\n", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *paths[] = {"/nowhere.tsv",
                               data_file(rows[i].name, rows[i].text, strlen(rows[i].text))};
        const tsri_train_data_options o = {.paths = paths, .n_paths = 2};
        cr_expect_eq(tsri_train_data_has_pairs(&o), rows[i].pairs, "%s", rows[i].name);
    }
    const char *both[] = {data_file("g.txt", "a", 1), data_file("c.tsv", "a\tb\n", 4)};
    cr_expect(tsri_train_data_has_pairs(&(tsri_train_data_options){.paths = both, .n_paths = 2}));
}

/* A file to validate on whose lengths and labels both ascend: lines of 1 to 20 words of one letter, by length. */
static size_t ascending(char *text, int n) {
    static const char *const labels[] = {"bad", "good", "so so"};
    size_t size = 0;
    for (int i = 0; i < n; i++) {
        size +=
            (size_t)sprintf(text + size, "{\"label\": \"%s\", \"text\": \"a", labels[3 * i / n]);
        for (int k = 0; k < 20 * i / n; k++)
            size += (size_t)sprintf(text + size, " a");
        size += (size_t)sprintf(text + size, "\"}\n");
    }
    return size;
}

Test(data_examples, a_part_of_a_validation_is_drawn_from_all_of_it) {
    enum { N = 1200, BATCH = 4, PART = 10 };
    char *text = malloc(N * 100);
    tsr_model *model = data_model(CLASSIFIER);
    const char *path = data_file("held.jsonl", text, ascending(text, N)),
               *train = data_file("l.jsonl", text, labelled(text, 30));
    uint64_t first[2][PART];
    for (uint64_t seed = 0; seed < 2; seed++) {
        tsri_train_data *held,
            *data =
                data_open(model, (tsri_train_data_options){.paths = &train,
                                                           .n_paths = 1,
                                                           .validation_paths = &path,
                                                           .n_validation_paths = 1,
                                                           .batch = BATCH,
                                                           .seed = seed,
                                                           .objective = TSRI_OBJECTIVE_CLASSIFY});
        cr_assert_eq(tsri_train_data_validation(data, &held), TSR_OK);
        const uint64_t batches = tsri_train_data_batches(held);
        cr_assert_eq(batches, N / BATCH);
        double all = 0, part = 0;
        int classes[3] = {0, 0, 0};
        for (uint64_t i = 0; i < batches; i++) {
            cr_assert_eq(tsri_train_data_drawn(held, i, batches), i);
            const tsri_training_batch b = data_batch(held, i);
            for (int32_t r = 0; r < b.B; r++)
                all += (double)b.len[r] / N;
        }
        for (uint64_t i = 0; i < PART; i++) {
            first[seed][i] = tsri_train_data_drawn(held, i, PART);
            cr_assert(first[seed][i] < batches && (!i || first[seed][i] > first[seed][i - 1]));
            const tsri_training_batch b = data_batch(held, first[seed][i]);
            for (int32_t r = 0; r < b.B; r++) {
                part += (double)b.len[r] / (PART * BATCH);
                classes[b.targets[r]]++;
            }
        }
        cr_expect_float_eq(part, all, 0.15 * all, "%g, and %g of all", part, all);
        cr_expect(classes[0] && classes[1] && classes[2]);
        tsri_train_data_close(&data);
    }
    cr_expect_eq(memcmp(first[0], first[1], sizeof first[0]), 0,
                 "the seed changes what is measured");
    tsr_model_close(&model);
    free(text);
}
