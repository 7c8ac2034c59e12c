/* clean_up_tokenization_spaces of tokenizer_config.json: tests/golden/tokenizers/clean_up.json has
 * what transformers makes of it. */
#include "golden.h"

#include "base/error.h"
#include "base/files.h"
#include "model/tokens/tokens.h"
#include "support/folder.h"
#include "text/tokenizer/languages.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];

static void begin(void) {
    folder_make(folder);
}

static void end(void) {
    folder_drop(folder);
}

TestSuite(clean_up, .init = begin, .fini = end);

static void write_file(const char *name, const char *bytes, size_t n) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(tsri_base_write_whole(path, bytes, n), TSR_OK, "%s", tsri_base_reported());
}

static void write_json(const char *name, const json_t *json) {
    char *text = json_dumps(json, 0);
    cr_assert_not_null(text);
    write_file(name, text, strlen(text));
    free(text);
}

static tsri_text_tokenizer *open_folder(void) {
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_model_tokenizer_at(folder, &t), TSR_OK, "%s", tsri_base_reported());
    cr_assert_not_null(t);
    return t;
}

static json_t *ids_of(const tsri_text_tokenizer *t, const json_t *pieces) {
    json_t *ids = json_array();
    for (size_t i = 0; i < json_array_size(pieces); i++) {
        const json_t *piece = json_array_get(pieces, i);
        const int32_t id = tsri_text_id_of(t, json_string_value(piece), json_string_length(piece));
        cr_assert_geq(id, 0, "no piece \"%s\"", json_string_value(piece));
        json_array_append_new(ids, json_integer(id));
    }
    return ids;
}

static void check(const json_t *rows, const json_t *decoded) {
    tsri_text_tokenizer *t = open_folder();
    cr_assert_eq(json_array_size(rows), json_array_size(decoded));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *ids = ids_of(tsri_text_target(t), json_array_get(rows, i));
        golden_decodes(tsri_text_target(t), ids, true, json_array_get(decoded, i));
        json_decref(ids);
    }
    tsri_text_tokenizer_destroy(&t);
}

static void write_group(const json_t *group) {
    const json_t *file = json_object_get(group, "file");
    if (!json_is_null(file)) {
        write_json("tokenizer.json", file);
        return;
    }
    tsri_bytes model = golden_own("unigram.model");
    char path[128];
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    remove(path);
    write_file("source.spm", model.data, model.size);
    write_file("target.spm", model.data, model.size);
    write_json("vocab.json", json_object_get(group, "vocabulary"));
    tsri_base_bytes_clear(&model);
}

Test(clean_up, texts_are_what_transformers_gives) {
    json_t *groups = golden_own_json("clean_up.json");
    cr_assert_eq(json_array_size(groups), 7);
    for (size_t g = 0; g < json_array_size(groups); g++) {
        const json_t *group = json_array_get(groups, g), *cases = json_object_get(group, "cases");
        write_group(group);
        for (size_t i = 0; i < json_array_size(cases); i++) {
            const json_t *one = json_array_get(cases, i);
            write_json("tokenizer_config.json", json_object_get(one, "config"));
            check(json_object_get(group, "pieces"), json_object_get(one, "decoded"));
        }
    }
    json_decref(groups);
}

/* A small vocabulary of words that are joined by blanks, and are cleaned. */
static tsri_text_tokenizer *words(void) {
    json_t *groups = golden_own_json("clean_up.json"),
           *config = json_pack("{s:b}", "clean_up_tokenization_spaces", 1);
    write_group(json_array_get(groups, 0));
    write_json("tokenizer_config.json", config);
    json_decref(groups);
    json_decref(config);
    return open_folder();
}

static int32_t word(const tsri_text_tokenizer *t, const char *piece) {
    return tsri_text_id_of(t, piece, strlen(piece));
}

Test(clean_up, a_stream_gives_at_once_what_cannot_change) {
    tsri_text_tokenizer *t = words();
    tsri_text_stream *stream = NULL;
    tsri_bytes out = {0};
    cr_assert_eq(tsri_text_stream_new(t, 0, &stream), TSR_OK);
    cr_assert_eq(tsri_text_stream_push(stream, word(t, "Hello"), &out), TSR_OK);
    cr_expect_str_eq(out.data, "Hello");
    cr_assert_eq(tsri_text_stream_push(stream, word(t, "n"), &out), TSR_OK);
    cr_expect_str_eq(out.data, "Hello", "\" n\" may become \" n't\"");
    cr_assert_eq(tsri_text_stream_push(stream, word(t, "."), &out), TSR_OK);
    cr_expect_str_eq(out.data, "Hello n.");
    tsri_text_stream_destroy(&stream);
    tsri_base_bytes_clear(&out);
    tsri_text_tokenizer_destroy(&t);
}

Test(clean_up, what_a_prompt_held_back_is_not_the_answer_s) {
    tsri_text_tokenizer *t = words();
    tsri_text_stream *stream = NULL;
    tsri_bytes prompt = {0}, out = {0};
    cr_assert_eq(tsri_text_stream_new(t, 0, &stream), TSR_OK);
    cr_assert_eq(tsri_text_stream_push(stream, word(t, "a"), &prompt), TSR_OK);
    cr_assert_eq(tsri_text_stream_push(stream, word(t, " "), &prompt), TSR_OK);
    tsri_text_stream_part(stream);
    cr_assert_eq(tsri_text_stream_push(stream, word(t, "."), &out), TSR_OK);
    cr_assert_eq(tsri_text_stream_finish(stream, &out), TSR_OK);
    cr_expect_str_eq(out.data, ".");
    tsri_text_stream_destroy(&stream);
    tsri_base_bytes_clear(&prompt);
    tsri_base_bytes_clear(&out);
    tsri_text_tokenizer_destroy(&t);
}

Test(clean_up, what_ids_say_of_their_text_is_not_cleaned) {
    tsri_text_tokenizer *t = words();
    const int32_t ids[] = {word(t, "Hello"), word(t, "."), word(t, "?")};
    tsri_bytes text = {0}, bytes = {0}, about = {0};
    cr_assert_eq(tsri_text_decode(t, ids, 3, TSRI_TEXT_UNCLEANED, &text), TSR_OK);
    cr_expect_str_eq(text.data, "Hello . ?");
    cr_assert_eq(tsri_text_token_bytes(t, ids[1], &bytes), TSR_OK);
    cr_expect_str_eq(bytes.data, " .");
    cr_assert_eq(tsri_text_describe(t, &about), TSR_OK);
    cr_expect_not_null(strstr(about.data, "without spaces before punctuation"));
    tsri_base_bytes_clear(&text);
    tsri_base_bytes_clear(&bytes);
    tsri_base_bytes_clear(&about);
    tsri_text_tokenizer_destroy(&t);
}

Test(clean_up, a_field_of_another_kind_is_refused) {
    tsri_text_tokenizer *t = words();
    tsri_text_tokenizer_destroy(&t);
    json_t *config = json_pack("{s:s}", "clean_up_tokenization_spaces", "yes");
    write_json("tokenizer_config.json", config);
    json_decref(config);
    cr_expect_eq(tsri_model_tokenizer_at(folder, &t), TSR_E_FORMAT);
    cr_expect_not_null(strstr(tsri_base_reported(), "clean_up_tokenization_spaces"));
}
