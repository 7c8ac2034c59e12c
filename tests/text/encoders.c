/* WordPiece and Unigram compared with their libraries: tests/golden/tokenizers/encoders.json, made
 * by the script beside it. */
#include "golden.h"

#include "base/error.h"
#include "support/larger.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL };

static tsri_text_tokenizer *from_model(const tsri_bytes *model) {
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_text_from_sentencepiece(model->data, model->size, &t), TSR_OK, "%s",
                 tsri_base_reported());
    return t;
}

Test(text, wordpiece_and_unigram_equal_the_library) {
    json_t *expected = golden_own_json("encoders.json");
    const json_t *cases = json_object_get(expected, "cases");
    json_t *files[32];
    const size_t count = json_array_size(cases);
    cr_assert(count > 10 && count < 32);
    for (size_t k = 0; k < count; k++) {
        const json_t *row = json_array_get(cases, k), *base = json_object_get(row, "base");
        files[k] =
            base ? golden_with_parts(files[json_integer_value(base)], json_object_get(row, "with"))
                 : json_deep_copy(json_object_get(row, "file"));
        tsri_text_tokenizer *t = golden_from_json(files[k]);
        golden_lines(t, json_object_get(expected, "lines"), row, ALL);
        tsri_text_tokenizer_destroy(&t);
    }
    for (size_t k = 0; k < count; k++)
        json_decref(files[k]);
    json_decref(expected);
}

/* tests/golden/tokenizers/deberta.json: 200 texts, many of which have control characters or odd spaces. */
Test(text, debertas_equal_transformers) {
    json_t *expected = golden_own_json("deberta.json");
    const json_t *cases = json_object_get(expected, "cases"), *row,
                 *lines = json_object_get(expected, "lines");
    size_t k;
    cr_assert(json_array_size(cases) == 3 && json_array_size(lines) == 200);
    json_array_foreach(cases, k, row) {
        tsri_text_tokenizer *t = golden_from_json(json_object_get(row, "file"));
        golden_lines(t, lines, row, ALL);
        cr_assert_eq(json_array_size(json_object_get(row, "pairs")), 20);
        golden_pairs(t, json_object_get(row, "pairs"), ALL);
        tsri_text_tokenizer_destroy(&t);
    }
    json_decref(expected);
}

static void check_model(const char *name, const tsri_bytes *model) {
    json_t *expected = golden_own_json("encoders.json");
    const json_t *rows = json_object_get(expected, name);
    tsri_text_tokenizer *t = from_model(model);
    golden_lines(t, json_object_get(expected, "lines"), rows, 0);
    golden_broken(t, json_object_get(rows, "broken"));
    tsri_text_tokenizer_destroy(&t);
    json_decref(expected);
}

Test(text, sentencepiece_unigram_equals_the_library) {
    static const char *const names[] = {"unigram.model", "unigram_map.model"};
    for (size_t i = 0; i < 2; i++) {
        tsri_bytes model = golden_own(names[i]);
        check_model(names[i], &model);
        tsri_base_bytes_clear(&model);
    }
}

LARGER_TEST(text, sentencepiece_test_model_equals_the_library, "data/tokenizers/sentencepiece") {
    tsri_bytes model = golden_shared("data/tokenizers/sentencepiece/test_model.model");
    check_model("test_model", &model);
    tsri_base_bytes_clear(&model);
}

LARGER_TEST(text, t5_small_equals_the_library, "data/tokenizers/t5-small") {
    tsri_bytes bytes = golden_shared("data/tokenizers/t5-small/tokenizer.json");
    json_t *expected = golden_own_json("encoders.json"), *file = golden_json(&bytes);
    tsri_text_tokenizer *t = golden_from_json(file);
    golden_lines(t, json_object_get(expected, "lines"), json_object_get(expected, "t5-small"), ALL);
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&bytes);
    json_decref(file);
    json_decref(expected);
}

/* With any one byte of a model with a character map changed there is a tokenizer that works or a
 * refusal. */
Test(text, a_character_map_survives_any_changed_byte) {
    static const unsigned char flips[] = {0x01, 0x80, 0xFF};
    static const char text[] = "1\xE2\x81\x84"
                               "2 e\xCC\x81 \xEF\xAC\x81\t\xE3\x80\x80 \xEF\xBC\xA1\xFF";
    tsri_bytes file = golden_own("unigram_map.model");
    for (size_t i = 0; i < file.size; i++) {
        for (size_t k = 0; k < sizeof flips; k++) {
            tsri_text_tokenizer *t = NULL;
            tsri_text_ids ids = {0};
            file.data[i] ^= (char)flips[k];
            const tsr_status status = tsri_text_from_sentencepiece(file.data, file.size, &t);
            file.data[i] ^= (char)flips[k];
            if (status == TSR_OK)
                cr_expect_eq(tsri_text_encode(t, text, sizeof text - 1, 3, &ids), TSR_OK);
            else
                cr_expect(status == TSR_E_FORMAT || status == TSR_E_UNSUPPORTED, "byte %zu: %d", i,
                          status);
            tsri_text_ids_clear(&ids);
            tsri_text_tokenizer_destroy(&t);
        }
    }
    tsri_base_bytes_clear(&file);
}

Test(text, a_model_with_a_character_map_cut_at_every_byte) {
    static const char *const names[] = {"unigram.model", "unigram_map.model"};
    for (size_t k = 0; k < 2; k++) {
        tsri_bytes file = golden_own(names[k]);
        for (size_t n = 0; n < file.size; n++) {
            char *cut = malloc(n + 1); /* ends where its memory ends, for a memory checker to see */
            cr_assert_not_null(cut);
            memcpy(cut + 1, file.data, n);
            tsri_text_tokenizer *t = NULL;
            const tsr_status status = tsri_text_from_sentencepiece(cut + 1, n, &t);
            cr_expect(status == TSR_E_FORMAT || status == TSR_E_UNSUPPORTED, "cut at %zu: %d", n,
                      status);
            cr_expect_null(t);
            free(cut);
        }
        tsri_base_bytes_clear(&file);
    }
}

/* A megabyte of one character, and one of random bytes: the time is linear, and nothing is lost. */
Test(text, a_long_line_goes_through_unigram) {
    enum { LONG = 1 << 20 };
    char *text = malloc(LONG);
    cr_assert_not_null(text);
    static const char *const names[] = {"unigram.model", "unigram_map.model"};
    for (size_t k = 0; k < 2; k++) {
        tsri_bytes model = golden_own(names[k]);
        tsri_text_tokenizer *t = from_model(&model);
        uint32_t state = 1;
        for (int random = 0; random < 2; random++) {
            for (size_t i = 0; i < LONG; i++) {
                state = state * 1664525u + 1013904223u;
                text[i] = random ? (char)(state >> 24) : 'e';
            }
            tsri_text_ids ids = {0};
            tsri_bytes back = {0};
            cr_assert_eq(tsri_text_encode(t, text, LONG, 0, &ids), TSR_OK);
            cr_expect_gt(ids.count, 1000);
            cr_assert_eq(tsri_text_decode(t, ids.data, ids.count, true, &back), TSR_OK);
            cr_expect(random || (back.size == LONG && memcmp(back.data, text, LONG) == 0));
            tsri_text_ids_clear(&ids);
            tsri_base_bytes_clear(&back);
        }
        tsri_text_tokenizer_destroy(&t);
        tsri_base_bytes_clear(&model);
    }
    free(text);
}

Test(text, unigram_without_an_unknown_token) {
    static const char file[] =
        "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"ab\",-1],[\"a\",-2],[\"\",0]]}}";
    tsri_text_tokenizer *t = NULL;
    tsri_text_ids ids = {0};
    cr_assert_eq(tsri_text_from_json_text(file, sizeof file - 1, "tokenizer.json", &t), TSR_OK,
                 "%s", tsri_base_reported());
    cr_expect_eq(tsri_text_encode(t, "aab", 3, 0, &ids), TSR_OK);
    cr_expect(ids.count == 2 && ids.data[0] == 1 && ids.data[1] == 0);
    cr_expect_eq(tsri_text_encode(t, "abc", 3, 0, &ids), TSR_E_FORMAT);
    cr_expect_not_null(strstr(tsri_base_reported(), "\"c\" is not in the vocabulary"));
    cr_expect_eq(ids.count, 2, "a failed call appends nothing");
    tsri_text_ids_clear(&ids);
    tsri_text_tokenizer_destroy(&t);
}

static tsri_bytes unhex(const char *hex) {
    tsri_bytes bytes = {0};
    for (size_t i = 0; hex[i] && hex[i + 1]; i += 2) {
        const char pair[3] = {hex[i], hex[i + 1], 0};
        const char byte = (char)strtol(pair, NULL, 16);
        cr_assert_eq(tsri_base_bytes_append(&bytes, &byte, 1), TSR_OK);
    }
    return bytes;
}

Test(encoders, cuts_of_the_same_score_but_for_rounding) {
    json_t *cases = golden_own_json("ties.json");
    cr_assert_eq(json_array_size(cases), 160);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i), *text = json_object_get(one, "text");
        tsri_bytes model = unhex(json_string_value(json_object_get(one, "model")));
        tsri_text_tokenizer *t = NULL;
        cr_assert_eq(tsri_text_from_sentencepiece(model.data, model.size, &t), TSR_OK, "%s",
                     tsri_base_reported());
        golden_encodes(t, json_string_value(text), json_string_length(text), 0,
                       json_object_get(one, "ids"));
        tsri_text_tokenizer_destroy(&t);
        tsri_base_bytes_clear(&model);
    }
    json_decref(cases);
}
