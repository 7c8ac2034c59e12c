/* Texts whose words have labels: what is read, which tokens have targets, and how entities are counted. */
#include "data_fixture.h"

#include "base/json.h"
#include "model/model.h"
#include "train/data/entities.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAGGER TESSERA_SOURCE_DIR "/tests/golden/encoders/tokens"
enum { NO = TSRI_TRAINING_IGNORE, O = 0, B_PER, I_PER, B_LOC };

TestSuite(words, .init = data_begin, .fini = data_end);

/* "cats" is two tokens, and so is "annaton"; the model has the labels O, B-PER, I-PER, B-LOC, I-LOC, MISC. */
static const char columns[] = "-DOCSTART- -X- O\n\n"
                              "anna NNP B-PER\n"
                              "annaton NNP I-PER\n"
                              "lives VBZ O\n"
                              "in IN O\n"
                              "paris NNP B-LOC\n"
                              " \t\n\n"
                              "the\tx y\tO\n"
                              "cats\tz\tO\r\n";
static const char lists[] =
    "{\"id\": 0, \"tokens\": [\"anna\", \"annaton\", \"lives\", \"in\", \"paris\"], "
    "\"ner_tags\": [\"B-PER\", \"I-PER\", \"O\", \"O\", \"B-LOC\"]}\n"
    "{\"tokens\": [\"the\", \"cats\"], \"ner_tags\": [\"O\", \"O\"]}\n";

static tsri_train_data *open_words(tsr_model *model, const char **path, int32_t block) {
    return data_open(model, (tsri_train_data_options){.paths = path,
                                                      .n_paths = 1,
                                                      .batch = 2,
                                                      .block = block,
                                                      .objective = TSRI_OBJECTIVE_TOKENS});
}

static void expect_row(const tsri_training_batch *b, int32_t row, const int32_t *targets,
                       int32_t n) {
    cr_assert_eq(b->len[row], n, "row %d has %d tokens", row, b->len[row]);
    for (int32_t i = 0; i < b->T; i++)
        cr_expect_eq(b->targets[row * b->T + i], i < n ? targets[i] : NO, "row %d, token %d: %d",
                     row, i, b->targets[row * b->T + i]);
}

/* The first piece of a word has its label; the others and the special tokens have none. Columns and lists give the
 * same batches. */
Test(words, the_first_piece_has_the_label) {
    static const int32_t longer[] = {NO, B_PER, I_PER, NO, O, O, B_LOC, NO},
                         shorter[] = {NO, O, O, NO, NO};
    static const int32_t ids[] = {2, 14, 14, 23, 16, 17, 12, 3};
    static const struct {
        const char *name, *text;
    } files[] = {{"w.conll", columns}, {"w.txt", columns}, {"w.jsonl", lists}};
    tsr_model *model = data_model(TAGGER);
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = data_file(files[i].name, files[i].text, strlen(files[i].text));
        tsri_train_data *data = open_words(model, &path, 0);
        const tsri_training_batch b = data_batch(data, 0);
        cr_assert(b.B == 2 && b.T == 8);
        expect_row(&b, 0, shorter, 5);
        expect_row(&b, 1, longer, 8);
        cr_expect_arr_eq(b.ids + b.T, ids, sizeof ids);
        cr_expect(!sum || data_sum(&b) == sum, "%s", files[i].name);
        sum = data_sum(&b);
        tsri_train_data_close(&data);
    }
    tsr_model_close(&model);
}

/* Words by themselves give the tokens of the text that they make: what is labelled later is a text. */
Test(words, are_tokenized_as_in_a_text) {
    static const char *const models[] = {TAGGER, DECODER, TRANSLATOR};
    static const char text[] = "the cats sat , bobs ? in 1597's mat",
                      lines[] =
                          "the O\ncats O\nsat O\n, O\nbobs B-PER\n? O\nin O\n1597's O\nmat O\n";
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        tsr_model *model = data_model(models[i]);
        const tsri_text_tokenizer *t = tsri_model_of(model)->tokenizer;
        const char *path = data_file("t.conll", lines, sizeof lines - 1);
        tsri_train_data *data = open_words(model, &path, 0);
        const tsri_training_batch b = data_batch(data, 0);
        tsri_text_ids ids = {0};
        cr_assert_eq(tsri_text_encode(t, text, sizeof text - 1, 0, &ids), TSR_OK);
        const size_t before = ((size_t)b.len[0] - ids.count) / 2;
        cr_assert_leq(before, 1, "%s: %d tokens, and %zu of the text", models[i], b.len[0],
                      ids.count);
        cr_expect_arr_eq(b.ids + before, ids.data, ids.count * sizeof *ids.data, "%s", models[i]);
        tsri_text_ids_clear(&ids);
        tsri_train_data_close(&data);
        tsr_model_close(&model);
    }
}

/* A text that is too long loses its end, and the token that closes it keeps no label. */
Test(words, a_text_is_cut) {
    static const int32_t cut[] = {NO, B_PER, I_PER, NO, NO};
    tsr_model *model = data_model(TAGGER);
    const char *path = data_file("w.conll", columns, sizeof columns - 1);
    tsri_train_data *data = open_words(model, &path, 5);
    const tsri_training_batch b = data_batch(data, 0);
    cr_assert(b.B == 2 && b.T == 5);
    expect_row(&b, 1, cut, 5);
    cr_expect_eq(b.ids[2 * b.T - 1], 3);
    tsri_train_data_close(&data);
    tsr_model_close(&model);
}

Test(words, labels_before_there_is_a_model) {
    static const char numbers[] = "{\"words\": [\"a\", \"b\"], \"tags\": [10, 2]}\n";
    const char *path = data_file("w.conll", columns, sizeof columns - 1),
               *other = data_file("n.jsonl", numbers, sizeof numbers - 1);
    char **labels;
    size_t n;
    tsri_train_data_options o = {.paths = &path, .n_paths = 1, .objective = TSRI_OBJECTIVE_TOKENS};
    cr_assert_eq(tsri_train_labels_scan(&o, &labels, &n), TSR_OK);
    cr_assert(n == 4 && !strcmp(labels[0], "B-LOC") && !strcmp(labels[3], "O"));
    tsri_train_labels_free(&labels, n);
    o.paths = &other;
    o.text_field = "words";
    cr_assert_eq(tsri_train_labels_scan(&o, &labels, &n), TSR_OK, "%s", tsr_error_last());
    cr_assert(n == 2 && !strcmp(labels[0], "2") && !strcmp(labels[1], "10"));
    tsri_train_labels_free(&labels, n);
}

Test(words, bad_data_is_told_in_one_sentence) {
    static const struct {
        const char *name, *text, *why;
        tsr_status status;
    } rows[] = {
        {"a.conll", "anna B-PER\nlives\n", "a.conll: line 2: it has one column", TSR_E_FORMAT},
        {"a.conll", "anna B-PER\n\nbob B-ORG\n", "line 3: the label \"B-ORG\" is not one of",
         TSR_E_FORMAT},
        {"a.conll", "\n \n", "a.conll holds no tokens", TSR_E_FORMAT},
        {"a.csv", "tokens,ner_tags\n", "a.csv: CSV has no labels of words", TSR_E_UNSUPPORTED},
        {"a.jsonl", "{\"tokens\": [\"a\", \"b\"], \"ner_tags\": [\"O\"]}",
         "a.jsonl: line 1: 2 words and 1 labels", TSR_E_FORMAT},
        {"a.jsonl", "{\"tokens\": [], \"ner_tags\": []}", "0 words", TSR_E_FORMAT},
        {"a.jsonl", "{\"tokens\": \"a b\", \"ner_tags\": [\"O\"]}", "no list \"tokens\"",
         TSR_E_FORMAT},
        {"a.jsonl", "{\"tokens\": [\"a\"]}", "no list \"ner_tags\"", TSR_E_FORMAT},
        {"a.jsonl", "{\"tokens\": [3], \"ner_tags\": [\"O\"]}", "a word is not a text",
         TSR_E_FORMAT},
        {"a.jsonl", "{\"tokens\": [\"a\"], \"ner_tags\": [\"\"]}",
         "a label is neither a text nor a whole number", TSR_E_FORMAT},
    };
    tsr_model *model = data_model(TAGGER);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *path = data_file(rows[i].name, rows[i].text, strlen(rows[i].text));
        const tsri_train_data_options o = {.paths = &path,
                                           .n_paths = 1,
                                           .workspace = data_work(),
                                           .objective = TSRI_OBJECTIVE_TOKENS};
        tsri_train_data *data = NULL;
        cr_expect_eq(tsri_train_data_open(model, &o, &data), rows[i].status, "%s: %s", rows[i].text,
                     tsr_error_last());
        cr_expect(strstr(tsr_error_last(), rows[i].why), "\"%s\" lacks \"%s\"", tsr_error_last(),
                  rows[i].why);
        tsri_train_data_close(&data);
    }
    tsr_model_close(&model);
}

/* tests/golden/scores/entities.json: what seqeval counts in its strict mode with IOB2. */
Test(words, entities_equal_seqeval) {
    enum { MOST = 64 };
    json_t *root = json_load_file(TESSERA_SOURCE_DIR "/tests/golden/scores/entities.json", 0, NULL),
           *texts, *text;
    char *names[16];
    size_t i, n_names = 0;
    cr_assert(root);
    json_array_foreach(json_object_get(root, "labels"), i, text) names[n_names++] =
        (char *)(uintptr_t)json_string_value(text);
    cr_expect(tsri_train_entities_are_named(names, (int32_t)n_names));
    cr_expect(!tsri_train_entities_are_named(names, 1));
    const json_t *cases = json_object_get(root, "cases");
    cr_assert_geq(json_array_size(cases), 20);
    for (size_t k = 0; k < json_array_size(cases); k++) {
        const json_t *row = json_array_get(cases, k), *given = json_object_get(row, "given");
        tsri_train_entities counts = {0};
        texts = json_object_get(row, "wanted");
        json_array_foreach(texts, i, text) {
            int32_t labels[2][MOST];
            const size_t n = json_array_size(text);
            for (size_t w = 0; w < n; w++) {
                labels[0][w] =
                    (int32_t)json_integer_value(json_array_get(json_array_get(given, i), w));
                labels[1][w] = (int32_t)json_integer_value(json_array_get(text, w));
            }
            tsri_train_entities_count(names, labels[0], labels[1], n, &counts);
        }
        const double f1 = json_number_value(json_object_get(row, "f1")),
                     got = tsri_train_entities_f1(&counts);
        cr_expect(got - f1 < 1e-12 && f1 - got < 1e-12, "case %zu: %.9g, seqeval has %.9g", k, got,
                  f1);
    }
    json_decref(root);
}
