/* Text files and token files: forms, labels, files that are damaged or have changed, and the
 * message for each kind of bad file. */
#include "data_fixture.h"

#include "base/error.h"
#include "model/model.h"
#include "tessera/tokenizer.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(data_files, .init = data_begin, .fini = data_end);

Test(data_files, csv_with_quotes_and_line_ends) {
    static const char text[] = "\xEF\xBB\xBF"
                               "category,id,\"the \"\"text\"\"\"\r\n"
                               "good,1,\"the cat, \"\"the\nbig\"\" dog\"\r\n"
                               "\n"
                               "bad,2,a cat\n"
                               "so so,\"3\",\"paris\"";
    tsr_model *model = data_model(CLASSIFIER);
    const char *path = data_file("t.csv", text, sizeof text - 1);
    tsri_train_data *data =
        data_open(model, (tsri_train_data_options){.paths = &path,
                                                   .n_paths = 1,
                                                   .batch = 3,
                                                   .text_field = "the \"text\"",
                                                   .label_field = "category",
                                                   .objective = TSRI_OBJECTIVE_CLASSIFY});
    const tsri_training_batch b = data_batch(data, 0);
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

/* Of a table, or of lines that have no header, in which quotes mean nothing. */
Test(data_files, a_header_names_the_columns_of_tsv) {
    static const struct {
        const char *text, *text_field, *label_field;
    } rows[] = {{"id\tlabel\ttext\n1\tgood\tthe \"cat\n\n2\tbad\ta cat\tmore\n", NULL, NULL},
                {"sentence\tmood\r\nthe \"cat\tgood\r\na cat\tbad\r\n", "sentence", "mood"},
                {"mood\ttext\ngood\tthe \"cat\nbad\ta cat\n", NULL, "mood"},
                {"the \"cat\tgood\na cat\tbad\tmore\n", NULL, NULL}};
    tsr_model *model = data_model(CLASSIFIER);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *path = data_file("t.tsv", rows[i].text, strlen(rows[i].text));
        tsri_train_data *data =
            data_open(model, (tsri_train_data_options){.paths = &path,
                                                       .n_paths = 1,
                                                       .batch = 3,
                                                       .text_field = rows[i].text_field,
                                                       .label_field = rows[i].label_field,
                                                       .objective = TSRI_OBJECTIVE_CLASSIFY});
        const tsri_training_batch b = data_batch(data, 0);
        cr_assert_eq(b.B, 2, "row %zu", i);
        for (int32_t k = 0; k < 2; k++) {
            char *back;
            size_t n;
            cr_assert_eq(tsr_decode(model, b.ids + k * b.T, (size_t)b.len[k], 1, &back, &n),
                         TSR_OK);
            cr_expect_eq(strstr(back, "the") != NULL, b.targets[k] == 0, "row %zu: \"%s\" is %d", i,
                         back, b.targets[k]);
            tsr_text_free(back);
        }
        cr_expect_neq(b.targets[0], b.targets[1], "row %zu", i);
        tsri_train_data_close(&data);
    }
    tsr_model_close(&model);
}

Test(data_files, labels_before_there_is_a_model) {
    const char *numbers = data_file("n.tsv", "a\t10\nb\t2\nc\t10\n", 14),
               *names = data_file("w.tsv", "a\tx\nb\tab\nc\tabc\n", 15),
               *header = data_file("h.tsv", "text\tlabel\na\t10\n", 16);
    char **labels;
    size_t n;
    tsri_train_data_options o = {
        .paths = &numbers, .n_paths = 1, .objective = TSRI_OBJECTIVE_CLASSIFY};
    cr_assert_eq(tsri_train_labels_scan(&o, &labels, &n), TSR_OK);
    cr_assert(n == 2 && !strcmp(labels[0], "2") && !strcmp(labels[1], "10"));
    tsri_train_labels_free(&labels, n);
    o.paths = &header;
    cr_assert_eq(tsri_train_labels_scan(&o, &labels, &n), TSR_OK, "%s", tsr_error_last());
    cr_expect(n == 1 && !strcmp(labels[0], "10"), "%zu labels: %s", n, labels[0]);
    tsri_train_labels_free(&labels, n);
    o.paths = &numbers;
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

Test(data_files, texts_for_a_tokenizer) {
    const char *paths[] = {data_file("p.tsv", "a b\tc d\ne\tf\n", 12),
                           data_file("h.tsv", "target\tsource\ng\th\n", 18)};
    tsri_bytes all = {0};
    const tsri_train_data_options o = {
        .paths = paths, .n_paths = 2, .objective = TSRI_OBJECTIVE_TRANSLATE};
    cr_assert_eq(tsri_train_data_texts(&o, gather, &all), TSR_OK);
    cr_assert_str_eq(all.data, "a bc defhg");
    tsri_base_bytes_clear(&all);
}

/* ---- token files ---- */

static void each_token_file(const char *ending, void (*visit)(const char *path)) {
    DIR *dir = opendir(data_work());
    cr_assert(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", data_work(), entry->d_name);
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

Test(data_files, token_files_are_made_again_where_they_are_damaged) {
    size_t n;
    char *text = data_words(500, &n);
    tsr_model *model = data_model(DECODER);
    const char *path = data_file("text.txt", text, n);
    const tsri_train_data_options o = {.paths = &path, .n_paths = 1, .block = 8, .pack = true};
    tsri_train_data *data = data_open(model, o);
    tsri_train_data_summary all;
    tsri_training_batch b = data_batch(data, 0);
    const uint64_t wanted = data_sum(&b);
    tsri_train_data_close(&data);
    void (*const harms[])(const char *) = {shorten, wreck};
    const char *const endings[] = {".index", ".tokens"};
    for (int i = 0; i < 3; i++) {
        each_token_file(endings[i / 2], harms[i % 2]);
        data = data_open(model, o);
        tsri_train_data_summarize(data, &all);
        cr_assert_gt(all.prepared, 0);
        b = data_batch(data, 0);
        cr_assert_eq(data_sum(&b), wanted);
        tsri_train_data_close(&data);
    }
    /* An id outside the vocabulary is found when it is read. */
    each_token_file(".tokens", wreck);
    data = data_open(model, o);
    tsr_status status = TSR_OK;
    for (uint64_t i = 0; i < tsri_train_data_batches(data) && status == TSR_OK; i++)
        status = tsri_train_data_batch(data, i, &b);
    cr_assert_eq(status, TSR_E_FORMAT);
    cr_assert(strstr(tsr_error_last(), "is damaged; delete it"), "%s", tsr_error_last());
    tsri_train_data_close(&data);
    tsr_model_close(&model);
    free(text);
}

Test(data_files, a_changed_file_is_named) {
    tsr_model *model = data_model(DECODER);
    const char *both[] = {data_file("a.txt", "one two three", 13),
                          data_file("b.txt", "four five", 9)};
    tsri_train_data_options o = {.paths = both, .n_paths = 2, .block = 4, .pack = true};
    tsri_train_data *data = data_open(model, o);
    char identity[512];
    snprintf(identity, sizeof identity, "%s", tsri_train_data_identity(data));
    tsri_train_data_close(&data);
    data_file("b.txt", "four fiVe", 9);
    data = data_open(model, o);
    cr_assert_eq(tsri_train_data_check(data, identity), TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(), "b.txt has changed"), "%s", tsr_error_last());
    tsri_train_data_close(&data);
    data_file("b.txt", "four five", 9);
    o.pack = false;
    data = data_open(model, o);
    cr_assert_eq(tsri_train_data_check(data, identity), TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(), "other fields"), "%s", tsr_error_last());
    tsri_train_data_close(&data);
    o.pack = true;
    o.n_paths = 1;
    data = data_open(model, o);
    cr_assert_eq(tsri_train_data_check(data, identity), TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(), "read 2 files, but 1 are given"), "%s", tsr_error_last());
    tsri_train_data_close(&data);
    tsr_model_close(&model);
}

static int stop(void *data, uint64_t done, uint64_t total, uint64_t tokens) {
    (void)tokens;
    cr_assert_leq(done, total);
    return ++*(int *)data > 1;
}

Test(data_files, preparing_can_be_stopped) {
    size_t n;
    char *text = data_words(200000, &n);
    int calls = 0;
    tsr_model *model = data_model(DECODER);
    const char *path = data_file("text.txt", text, n);
    tsri_train_data *data = NULL;
    const tsri_train_data_options o = {.paths = &path,
                                       .n_paths = 1,
                                       .pack = true,
                                       .workspace = data_work(),
                                       .progress = stop,
                                       .progress_data = &calls};
    cr_assert_eq(tsri_train_data_open(model, &o, &data), TSR_E_CANCELLED);
    cr_assert_null(data);
    each_token_file(".tokens", shorten); /* no token files are left, nor any other file */
    tsr_model_close(&model);
    free(text);
}

/* ---- bad data ---- */

#define NEXT .objective = TSRI_OBJECTIVE_NEXT
#define PACKED .objective = TSRI_OBJECTIVE_NEXT, .pack = true
#define MASK .objective = TSRI_OBJECTIVE_MASKED
#define PAIRS .objective = TSRI_OBJECTIVE_TRANSLATE
#define LABELS .objective = TSRI_OBJECTIVE_CLASSIFY

Test(data_files, bad_data_is_told_in_one_sentence) {
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
         "a.jsonl: line 1: it is not a JSON object",
         {PACKED},
         TSR_E_FORMAT},
        {DECODER, "a.jsonl", "{\"text\": \"a\"", "a.jsonl: line 1", {PACKED}, TSR_E_FORMAT},
        {DECODER,
         "a.csv",
         "x,y\n1,2\n",
         "line 1 has no column \"text\"; its columns are \"x\", \"y\"",
         {PACKED},
         TSR_E_FORMAT},
        {DECODER,
         "a.jsonl",
         "{\"source\": \"a\", \"target\": \"\"}",
         "line 1: the target has no tokens",
         {NEXT},
         TSR_E_FORMAT},
        {DECODER,
         "a.jsonl",
         "{\"text\": \"a\"}\n{\"source\": \"a\", \"target\": \"b\"}",
         "a.jsonl: line 2: a source and its target can't be packed",
         {PACKED},
         TSR_E_FORMAT},
        {TRANSLATOR, "a.tsv", "a\tb\nc d\n", "a.tsv: line 2: it has no tab", {PAIRS}, TSR_E_FORMAT},
        {TRANSLATOR,
         "a.txt",
         "c d\n",
         "a.txt: line 1: it has no tab; source",
         {PAIRS},
         TSR_E_FORMAT},
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
         "a.csv: line 3: the label \"great\" is not one of the model's 3",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.csv",
         "text,label\na,good\n\"b,bad\n\nc",
         "a.csv: line 3: a quote is opened, but not closed",
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
         "a.csv: line 2: the row has 1 fields",
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
         "a.tsv: line 1: it has no tab; text, a tab and a label",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.tsv",
         "sentence\tlabel\na\tgood\n",
         "a.tsv: line 1 has no column \"text\"; its columns are \"sentence\", \"label\"; "
         "text_field "
         "and label_field name others",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.tsv",
         "text\tmood\na\tgood\n",
         "a.tsv: line 1 has no column \"label\"; its columns are \"text\", \"mood\"",
         {LABELS},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.tsv",
         "a\tgood\n",
         "a.tsv: line 1 has no column \"sentence\"; its columns are \"a\", \"good\"",
         {LABELS, .text_field = "sentence"},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.tsv",
         "text\tlabel\na\n",
         "a.tsv: line 2: the row has 1 fields; by the header it needs at least 2",
         {LABELS},
         TSR_E_FORMAT},
        {TRANSLATOR,
         "a.tsv",
         "\na\tb\n",
         "a.tsv: line 2 has no column \"de\"; its columns are \"a\", \"b\"; source_field and "
         "target_field name others",
         {PAIRS, .source_field = "de"},
         TSR_E_FORMAT},
        {DECODER,
         "a.tsv",
         "a\n",
         "a.tsv: line 1 has no column \"body\"; its columns are \"a\"; text_field names another",
         {PACKED, .text_field = "body"},
         TSR_E_FORMAT},
        {CLASSIFIER,
         "a.jsonl",
         "{\"text\": \"a\", \"label\": 1.5}",
         "\"label\" is not a text or a whole number",
         {LABELS},
         TSR_E_FORMAT},
        {DECODER,
         "a.txt",
         "abc",
         "a block of 999 tokens; ",
         {PACKED, .block = 999},
         TSR_E_ARGUMENT},
        {DECODER, "a.txt", "abc", "0.6 held back", {PACKED, .validation = 0.6}, TSR_E_ARGUMENT},
        {DECODER, "a.txt", "abc", "has no mask token", {MASK}, TSR_E_STATE},
        {DECODER,
         "a.txt",
         "abc",
         "would also apply to the text that is held back",
         {PACKED, .bpe_dropout = 0.1, .validation = 0.1},
         TSR_E_ARGUMENT},
        {MASKED,
         "a.txt",
         "abc",
         "bpe_dropout=0.1: this tokenizer (WordPiece)",
         {MASK, .bpe_dropout = 0.1},
         TSR_E_UNSUPPORTED},
        {MASKED,
         "a.txt",
         "abc",
         "2 special tokens stand around",
         {MASK, .pack = true, .block = 2},
         TSR_E_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsr_model *model = data_model(rows[i].model);
        const char *path = data_file(rows[i].name, rows[i].text, strlen(rows[i].text));
        tsri_train_data_options o = rows[i].options;
        tsri_train_data *data = NULL;
        o.paths = &path;
        o.n_paths = 1;
        o.workspace = data_work();
        cr_expect_eq(tsri_train_data_open(model, &o, &data), rows[i].status, "row %zu: %s", i,
                     tsr_error_last());
        cr_expect(strstr(tsr_error_last(), rows[i].why), "row %zu: %s", i, tsr_error_last());
        cr_expect_null(data);
        tsr_model_close(&model);
    }
    each_token_file(".none", shorten); /* no temporary file is left */
}

Test(data_files, an_id_past_the_vocabulary) {
    tsr_model *model = data_model(DECODER);
    tsri_model *inner = tsri_model_of(model);
    inner->spec.vocab =
        300; /* like a config.json whose vocabulary is smaller than the tokenizer's */
    const char *path = data_file("a.txt", "!\n\"#\nthe thee there\n", 20);
    const tsri_train_data_options o = {
        .paths = &path, .n_paths = 1, .pack = true, .workspace = data_work()};
    tsri_train_data *data = NULL;
    cr_assert_eq(tsri_train_data_open(model, &o, &data), TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(), "a.txt: line 3: the tokenizer gives token id"), "%s",
              tsr_error_last());
    cr_expect(strstr(tsr_error_last(), "vocabulary ends at 299"), "%s", tsr_error_last());
    tsr_model_close(&model);
}
