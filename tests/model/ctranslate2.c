/* CTranslate2 folders compared with what CTranslate2 computes from them:
 * tests/golden/ctranslate2/make.py, and a published model if it is there. */
#include "model/fixture.h"

#include "base/files.h"
#include "support/larger.h"
#include "text/tokenizer/languages.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

/* Both sides compute in f32, with sums in different orders: golden models get the same
 * tolerance. */
#define ALLOWED(largest) (1e-5 + 5e-5 * (double)(largest))
enum { MOST = 64, MOST_V = 64 };

static fixture fix;
static int32_t start, end;

static json_t *open_folder(const char *name, const char *selector) {
    char path[1024];
    json_t *cases = NULL;
    snprintf(path, sizeof path, "%s/tests/golden/ctranslate2/%s/cases.json", TESSERA_SOURCE_DIR,
             name);
    OK(tsri_base_json_load(path, 1 << 24, 16, &cases));
    *strrchr(path, '/') = 0;
    fixture_device(&fix, selector);
    fixture_model(&fix, path, NULL);
    start = fix.model->spec.decoder_start;
    end = fix.model->spec.n_eos ? fix.model->spec.eos[0] : -1;
    return cases;
}

static int64_t ids_of(const json_t *list, int32_t *ids) {
    const size_t n = json_array_size(list);
    cr_assert(n < MOST);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return (int64_t)n;
}

static void encode(tsri_session *session, const json_t *list) {
    int32_t ids[MOST];
    const tsri_model_results none = {0};
    const tsri_model_sequence source = {.ids = ids, .n = ids_of(list, ids)};
    OK(tsri_session_encode(session, &source, 1, &none));
}

static double log_prob(const float *logits, int32_t V, int32_t id) {
    double largest = -INFINITY, sum = 0;
    for (int32_t v = 0; v < V; v++)
        largest = fmax(largest, (double)logits[v]);
    for (int32_t v = 0; v < V; v++)
        sum += exp((double)logits[v] - largest);
    return (double)logits[id] - largest - log(sum);
}

static void forced(tsri_session *session, const json_t *item, const char *name) {
    static float logits[MOST * MOST_V];
    const json_t *wanted = json_object_get(item, "log_probs");
    const int32_t V = fix.model->spec.vocab;
    int32_t ids[MOST] = {start};
    const int64_t n = ids_of(json_object_get(item, "target"), ids + 1);
    const tsri_model_sequence target = {.ids = ids, .n = n};
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = logits};
    cr_assert(V <= MOST_V);
    encode(session, json_object_get(item, "source"));
    OK(tsri_session_forward(session, &target, 1, &results));
    for (int64_t t = 0; t < n; t++) {
        const double got = log_prob(logits + t * V, V, ids[t + 1]),
                     want = json_real_value(json_array_get(wanted, (size_t)t));
        cr_expect(fabs(got - want) <= ALLOWED(fabs(want)), "%s, token %ld: %g, not %g", name,
                  (long)t, got, want);
    }
}

static int64_t greedy(tsri_session *session, int64_t most, int32_t *out) {
    int32_t last = start;
    int64_t n = 0;
    while (n < most && (n == 0 || last != end)) {
        const tsri_model_sequence step = {.ids = &last, .n = 1, .past = n};
        const tsri_model_results results = {.argmax = &out[n]};
        OK(tsri_session_forward(session, &step, 1, &results));
        last = out[n++];
    }
    return n;
}

static void translates(const char *name, const char *selector) {
    json_t *cases = open_folder(name, selector), *item;
    tsri_session *session = NULL;
    size_t i;
    OK(tsri_session_create(fix.model, 1, 0, &session));
    json_array_foreach(cases, i, item) {
        int32_t wanted[MOST], got[MOST];
        forced(session, item, name);
        const int64_t n = ids_of(json_object_get(item, "greedy"), wanted);
        cr_expect(greedy(session, n, got) == n && memcmp(got, wanted, (size_t)n * sizeof *got) == 0,
                  "%s, case %zu: other greedy ids", name, i);
    }
    tsri_session_destroy(&session);
    fixture_close(&fix);
    json_decref(cases);
}

static void equal(const char *what, const json_t *rows, const float *got, size_t columns) {
    const size_t n = json_is_array(json_array_get(rows, 0)) ? json_array_size(rows) : 1;
    double largest = 0, worst = 0;
    for (size_t t = 0; t < n; t++) {
        const json_t *row =
            n == 1 && !json_is_array(json_array_get(rows, 0)) ? rows : json_array_get(rows, t);
        cr_assert_eq(json_array_size(row), columns, "%s has %zu columns", what, columns);
        for (size_t i = 0; i < columns; i++) {
            const double want = json_real_value(json_array_get(row, i));
            largest = fmax(largest, fabs(want));
            worst = fmax(worst, fabs(want - (double)got[t * columns + i]));
        }
    }
    cr_expect(worst <= ALLOWED(largest), "%s is %g off, of %g", what, worst, largest);
}

/* Opens a model and compares what it gives for the ids of each of its cases. */
static void compare_all(const char *folder, const char *selector,
                        void (*compare)(tsri_session *session, const json_t *item,
                                        const tsri_model_sequence *text)) {
    json_t *cases = open_folder(folder, selector), *item;
    tsri_session *session = NULL;
    size_t i;
    OK(tsri_session_create(fix.model, 1, 0, &session));
    json_array_foreach(cases, i, item) {
        int32_t ids[MOST];
        const tsri_model_sequence text = {.ids = ids,
                                          .n = ids_of(json_object_get(item, "ids"), ids)};
        compare(session, item, &text);
    }
    tsri_session_destroy(&session);
    fixture_close(&fix);
    json_decref(cases);
}

static void compare_encoded(tsri_session *session, const json_t *item,
                            const tsri_model_sequence *text) {
    static float hidden[MOST * MOST_V], first[MOST * MOST_V], second[MOST * MOST_V], pooled[MOST_V];
    float *const layers[] = {first, second, hidden};
    const tsri_model_results results = {.hidden = layers, .pooled = pooled};
    OK(tsri_session_encode(session, text, 1, &results));
    equal("hidden", json_object_get(item, "hidden"), hidden, 16);
    equal("pooled", json_object_get(item, "pooled"), pooled, 16);
}

static void encodes(const char *selector) {
    compare_all("bert", selector, compare_encoded);
}

static void compare_logits(tsri_session *session, const json_t *item,
                           const tsri_model_sequence *text) {
    static float logits[MOST * MOST_V];
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = logits};
    OK(tsri_session_forward(session, text, 1, &results));
    equal("logits", json_object_get(item, "logits"), logits, (size_t)fix.model->spec.vocab);
}

static void decodes(const char *selector) {
    compare_all("gpt2", selector, compare_logits);
}

Test(ctranslate2, float32_reference) {
    translates("opennmt", "reference");
}

Test(ctranslate2, float32_device) {
    translates("opennmt", NULL);
}

Test(ctranslate2, version_1_reference) {
    translates("first", "reference");
}

Test(ctranslate2, version_1_device) {
    translates("first", NULL);
}

Test(ctranslate2, int8_reference) {
    translates("marian", "reference");
}

Test(ctranslate2, int8_device) {
    translates("marian", NULL);
}

Test(ctranslate2, int16_reference) {
    translates("t5", "reference");
}

Test(ctranslate2, float16_reference) {
    translates("bart", "reference");
}

Test(ctranslate2, int8_encoder_reference) {
    encodes("reference");
}

Test(ctranslate2, bfloat16_decoder_reference) {
    decodes("reference");
}

/* ---- a published model: lines "source pieces<TAB>target pieces" ---- */

static void expect_text(const int32_t *ids, int64_t n, const char *wanted) {
    tsri_bytes text = {0};
    OK(tsri_text_decode(tsri_text_target(fix.model->tokenizer), ids, (size_t)n, true, &text));
    cr_expect(text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0,
              "\"%.*s\", not \"%s\"", (int)text.size, text.data, wanted);
    tsri_base_bytes_clear(&text);
}

#define PUBLISHED "data/models/aren-transliteration"

static void published(const char *selector) {
    char *folder = larger_path(PUBLISHED), *path = tsri_base_join(folder, "expected.txt");
    tsri_bytes expected = {0};
    tsri_session *session = NULL;
    char *rest = NULL;
    int lines = 0;
    fixture_device(&fix, selector);
    fixture_model(&fix, folder, NULL);
    start = fix.model->spec.decoder_start;
    end = fix.model->spec.eos[0];
    cr_expect(start == 1 && end == 2 && fix.model->spec.source_vocab == 51 &&
              fix.model->spec.vocab == 43);
    OK(tsri_base_read_whole(path, 1 << 20, &expected));
    OK(tsri_base_bytes_append(&expected, "", 1));
    OK(tsri_session_create(fix.model, 1, 0, &session));
    for (char *line = strtok_r(expected.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        tsri_text_ids ids = {0};
        int32_t got[MOST];
        char *tab = strchr(line, '\t');
        if (*line == '#' || !tab)
            continue;
        *tab = 0;
        OK(tsri_text_encode(fix.model->tokenizer, line, strlen(line), TSRI_TEXT_ADD_SPECIAL, &ids));
        const tsri_model_results none = {0};
        const tsri_model_sequence source = {.ids = ids.data, .n = (int64_t)ids.count};
        OK(tsri_session_encode(session, &source, 1, &none));
        const int64_t n = greedy(session, MOST, got);
        cr_expect_eq(got[n - 1], end);
        expect_text(got, n, tab + 1);
        tsri_text_ids_clear(&ids);
        lines++;
    }
    cr_expect_gt(lines, 0);
    free(folder);
    free(path);
    tsri_session_destroy(&session);
    tsri_base_bytes_clear(&expected);
    fixture_close(&fix);
}

LARGER_TEST(ctranslate2, published_reference, PUBLISHED) {
    published("reference");
}

LARGER_TEST(ctranslate2, published_device, PUBLISHED) {
    published(NULL);
}

/* Two vocabularies, and the end token of the source that the settings ask for. */
Test(ctranslate2, a_text_is_its_pieces_between_spaces) {
    static const char text[] = "w2  w24 no <unk> </s>";
    static const int32_t wanted[] = {6, 28, 3, 3, 2, 2};
    tsri_text_ids ids = {0};
    json_t *cases = open_folder("opennmt", "reference");
    OK(tsri_text_encode(fix.model->tokenizer, text, strlen(text), TSRI_TEXT_ADD_SPECIAL, &ids));
    cr_expect(ids.count == 6 && memcmp(ids.data, wanted, sizeof wanted) == 0, "%zu ids, %d %d %d",
              ids.count, ids.data[0], ids.data[1], ids.data[2]);
    expect_text((const int32_t[]){1, 4, 39, 3, 2}, 5, "w0 w35 <unk>");
    cr_expect_eq(tsri_text_vocabulary_size(fix.model->tokenizer), 29);
    tsri_text_ids_clear(&ids);
    fixture_close(&fix);
    json_decref(cases);
}
