/* tekken.json and files of tiktoken, compared with mistral-common and tiktoken (ranks.json), alone and
 * as the only tokenizer of a folder; and those that are refused. */
#include "golden.h"

#include "base/error.h"
#include "base/files.h"
#include "model/tokens/tokens.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static char folder[64];

static void begin(void) {
    folder_make(folder);
}

static void end(void) {
    folder_drop(folder);
}

TestSuite(ranks, .init = begin, .fini = end);

static char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text) {
    cr_assert_eq(tsri_base_write_whole(path_of(name), text, strlen(text)), TSR_OK, "%s",
                 tsri_base_reported());
}

static tsri_text_tokenizer *open_at(const char *path) {
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_model_tokenizer_at(path, &t), TSR_OK, "%s", tsri_base_reported());
    cr_assert_not_null(t);
    return t;
}

static void check_lines(const tsri_text_tokenizer *t, const json_t *lines, const json_t *ids,
                        unsigned flags) {
    cr_assert_eq(json_array_size(lines), json_array_size(ids));
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        golden_encodes(t, json_string_value(line), json_string_length(line), flags,
                       json_array_get(ids, i));
    }
}

Test(ranks, files_of_tiktoken_equal_the_library) {
    json_t *golden = golden_own_json("ranks.json"), *row;
    const char *file = json_string_value(json_object_get(golden, "tiktoken")), *name, *special;
    const json_t *lines = json_object_get(golden, "lines");
    cr_assert_eq(json_object_size(json_object_get(golden, "cases")), 6);
    json_object_foreach(json_object_get(golden, "cases"), name, row) {
        char own[64];
        json_t *id;
        snprintf(own, sizeof own, "%s.tiktoken", name);
        write_text(own, file);
        tsri_text_tokenizer *t = open_at(path_of(own));
        check_lines(t, lines, json_object_get(row, "text"), 0);
        check_lines(t, lines, json_object_get(row, "special"), TSRI_TEXT_PARSE_SPECIAL);
        json_object_foreach(json_object_get(row, "specials"), special, id) {
            cr_expect_eq(tsri_text_id_of(t, special, strlen(special)), json_integer_value(id), "%s",
                         special);
            cr_expect(tsri_text_is_special(t, (int32_t)json_integer_value(id)), "%s", special);
        }
        for (size_t i = 0; i < json_array_size(lines); i++)
            golden_decodes(t, json_array_get(json_object_get(row, "special"), i), false,
                           json_array_get(lines, i));
        tsri_text_tokenizer_destroy(&t);
    }
    json_decref(golden);
}

Test(ranks, tekken_equals_the_class_of_mistral) {
    json_t *golden = golden_own_json("ranks.json");
    const json_t *specials = json_object_get(golden, "tekken_specials"),
                 *ids = json_object_get(golden, "tekken_ids");
    write_text("tekken.json", json_string_value(json_object_get(golden, "tekken")));
    for (int whole = 0; whole < 2; whole++) { /* the file, then a folder that has nothing else */
        tsri_text_tokenizer *t = open_at(whole ? folder : path_of("tekken.json"));
        check_lines(t, json_object_get(golden, "lines"), ids, TSRI_TEXT_ADD_SPECIAL);
        for (size_t i = 0; i < json_array_size(ids); i++)
            golden_decodes(t, json_array_get(ids, i), true,
                           json_array_get(json_object_get(golden, "decoded"), i));
        for (size_t i = 0; i < json_array_size(specials); i++) {
            const json_t *name = json_array_get(specials, i);
            json_t *alone = json_pack("[I]", (json_int_t)i);
            golden_encodes(t, json_string_value(name), json_string_length(name),
                           TSRI_TEXT_PARSE_SPECIAL, alone);
            json_decref(alone);
        }
        cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_BOS), 1);
        cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_EOS), 2);
        cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_PAD), 11);
        tsri_text_tokenizer_destroy(&t);
    }
    json_decref(golden);
}

/* A tokenizer.model that is tiktoken's, with the model's config and the names of two special tokens. */
Test(ranks, a_folder_names_the_encoding_and_special_tokens) {
    json_t *golden = golden_own_json("ranks.json");
    const json_t *llama = json_object_get(json_object_get(golden, "cases"), "llama3"),
                 *first = json_object_get(json_object_get(llama, "specials"), "<|begin_of_text|>");
    const int32_t begin_id = (int32_t)json_integer_value(first);
    char config[160];
    snprintf(config, sizeof config,
             "{\"added_tokens_decoder\":{\"%d\":{\"content\":\"<|call|>\",\"special\":true}},"
             "\"eos_token\":\"<|eot_id|>\",\"model_max_length\":77}",
             begin_id + 2);
    write_text("tokenizer.model", json_string_value(json_object_get(golden, "tiktoken")));
    write_text("config.json", "{\"model_type\":\"llama\"}");
    write_text("tokenizer_config.json", config);
    tsri_text_tokenizer *t = open_at(folder);
    tsri_text_ids ids = {0};
    check_lines(t, json_object_get(golden, "lines"), json_object_get(llama, "text"), 0);
    cr_assert_eq(
        tsri_text_encode(t, "<|call|>", 8, TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL, &ids),
        TSR_OK);
    cr_assert_eq(ids.count, 2);
    cr_expect_eq(ids.data[0], begin_id);
    cr_expect_eq(ids.data[1], begin_id + 2);
    cr_expect_eq(tsri_text_id_of(t, "<|reserved_special_token_0|>", 28), -1);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_EOS), begin_id + 9);
    cr_expect_eq(tsri_text_max_length(t), 77);
    tsri_text_ids_clear(&ids);
    tsri_text_tokenizer_destroy(&t);
    json_decref(golden);
}

/* Whisper's file ends so. */
Test(ranks, a_piece_of_0_bytes_is_an_id_without_text) {
    json_t *golden = golden_own_json("ranks.json");
    tsri_bytes file = {0}, text = {0};
    const char *own = json_string_value(json_object_get(golden, "tiktoken"));
    int32_t pieces = 0;
    for (const char *at = own; (at = strchr(at, '\n')); at++)
        pieces++;
    cr_assert_eq(tsri_base_bytes_printf(&file, "%s= %d\n", own, (int)pieces), TSR_OK);
    write_text("multilingual.tiktoken", file.data);
    tsri_text_tokenizer *t = open_at(path_of("multilingual.tiktoken"));
    cr_expect_eq(tsri_text_id_of(t, "<|endoftext|>", 13), pieces + 1);
    cr_assert_eq(tsri_text_decode(t, &pieces, 1, false, &text), TSR_OK);
    cr_expect_eq(text.size, 0);
    tsri_base_bytes_clear(&file);
    tsri_base_bytes_clear(&text);
    tsri_text_tokenizer_destroy(&t);
    json_decref(golden);
}

/* The golden's file with its first occurrence of `from` replaced. */
static void expect_refused(const char *key, const char *name, const char *from, const char *to,
                           tsr_status wanted, const char *fragment) {
    json_t *golden = golden_own_json("ranks.json");
    const char *text = json_string_value(json_object_get(golden, key)), *at = strstr(text, from);
    tsri_bytes changed = {0};
    tsri_text_tokenizer *t = NULL;
    cr_assert_not_null(at, "%s", from);
    cr_assert_eq(tsri_base_bytes_append(&changed, text, (size_t)(at - text)), TSR_OK);
    cr_assert_eq(tsri_base_bytes_printf(&changed, "%s%s", to, at + strlen(from)), TSR_OK);
    write_text(name, changed.data);
    cr_expect_eq(tsri_model_tokenizer_at(path_of(name), &t), wanted, "%s: %s", fragment,
                 tsri_base_reported());
    cr_expect_null(t);
    cr_expect_not_null(strstr(tsri_base_reported(), fragment), "wanted \"%s\" in: %s", fragment,
                       tsri_base_reported());
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&changed);
    json_decref(golden);
}

Test(ranks, bad_files_are_refused_with_the_place) {
    static const struct {
        const char *key, *name, *from, *to;
        tsr_status status;
        const char *fragment;
    } bad[] = {
        {"tiktoken", "own.tiktoken", "AA== 0\n", "AA== 0\n", TSR_E_UNSUPPORTED,
         "neither the model_type of a config.json, nor the file's name"},
        {"tiktoken", "qwen.tiktoken", "Ag== 2\n", "Ag==\n", TSR_E_FORMAT, "line 3 is not a piece"},
        {"tiktoken", "qwen.tiktoken", "Ag== 2\n", "Ag== 2x\n", TSR_E_FORMAT, "line 3 is not a pi"},
        {"tiktoken", "qwen.tiktoken", "Ag== 2\n", "A!== 2\n", TSR_E_FORMAT,
         "line 3: not base64 at character 1"},
        {"tiktoken", "qwen.tiktoken", "Ag== 2\n", "Ag== 1\n", TSR_E_FORMAT, "id 1 is given twice"},
        {"tiktoken", "qwen.tiktoken", "Ag== 2\n", "AQ== 2\n", TSR_E_FORMAT,
         "the pieces of id 1 and id 2 are the same"},
        {"tiktoken", "qwen.tiktoken", "Ag== 2\n", "Ag== 99999999\n", TSR_E_FORMAT, "line 3"},
        {"tiktoken", "qwen.tiktoken", "Ag== 2\n", "AgI= 2\n", TSR_E_FORMAT,
         "the byte 0x02 has no piece"},
        {"tekken", "tekken.json", "\"pattern\"", "\"other\"", TSR_E_FORMAT,
         "\"pattern\" is missing"},
        {"tekken", "tekken.json", "\"pattern\": \"", "\"pattern\": \"(", TSR_E_FORMAT,
         "regular expression"},
        {"tekken", "tekken.json", "tokens\": 24", "tokens\": 2400", TSR_E_FORMAT,
         "no piece is left"},
        {"tekken", "tekken.json", "tokens\": 24", "tokens\": 2", TSR_E_FORMAT, "config asks for"},
        {"tekken", "tekken.json", "\"rank\": 2,", "\"rank\": 3,", TSR_E_FORMAT,
         "vocab: number 2 is not an object with the rank 2"},
        {"tekken", "tekken.json", "\"AA==\"", "7", TSR_E_FORMAT, "vocab: number 0 is not"},
        {"tekken", "tekken.json", "{\"config\"", "{\"special_tokens\": [{\"rank\": 1}], \"config\"",
         TSR_E_FORMAT, "special_tokens: number 0 needs the rank 0"},
        {"tekken", "tekken.json", "{\"config\"", "{\"special_tokens\": 3, \"config\"", TSR_E_FORMAT,
         "special_tokens: a list"},
        {"tekken", "tekken.json", "{\"config\"",
         "{\"special_tokens\": [{\"rank\": 0, \"token_str\": \"a\"}, {\"rank\": 1, \"token_str\": "
         "\"a\"}], \"config\"",
         TSR_E_FORMAT, "\"a\" has two ids, 0 and 1"},
        {"tekken", "tekken.json", "\"vocab\"", "\"lost\"", TSR_E_FORMAT, "one list \"vocab\""},
        {"tekken", "tekken.json", "\"vocab\": [", "\"vocab\": 3, \"lost\": [", TSR_E_FORMAT,
         "one list \"vocab\""},
        {"tekken", "tekken.json", "{\"config\"", "\"config\"", TSR_E_FORMAT, "one list \"vocab\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refused(bad[i].key, bad[i].name, bad[i].from, bad[i].to, bad[i].status,
                       bad[i].fragment);
}
