/* The small goldens of this tree: a base tokenizer.json with some parts replaced, compared with
 * Hugging Face's library. */
#include "golden.h"

#include "base/error.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { ALL = TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL };

Test(text, tokenizer_json_parts_equal_the_library) {
    json_t *expected = golden_own_json("expected.json"), *byte = golden_own_json("byte.json"),
           *chars = golden_own_json("char.json");
    const json_t *lines = json_object_get(expected, "lines"),
                 *cases = json_object_get(expected, "cases");
    cr_assert_gt(json_array_size(cases), 40);
    for (size_t k = 0; k < json_array_size(cases); k++) {
        const json_t *row = json_array_get(cases, k);
        const char *base = json_string_value(json_object_get(row, "base"));
        json_t *json = golden_with_parts(strcmp(base, "byte") == 0 ? byte : chars,
                                         json_object_get(row, "with"));
        tsri_text_tokenizer *t = golden_from_json(json);
        for (size_t i = 0; i < json_array_size(lines); i++) {
            const json_t *line = json_array_get(lines, i),
                         *ids = json_array_get(json_object_get(row, "ids"), i);
            golden_encodes(t, json_string_value(line), json_string_length(line), ALL, ids);
            golden_decodes(t, ids, true, json_array_get(json_object_get(row, "decoded"), i));
        }
        const json_t *pair = json_object_get(row, "pair"), *a = json_array_get(lines, 2),
                     *b = json_array_get(lines, 6);
        tsri_text_ids ids = {0}, types = {0};
        cr_assert_eq(tsri_text_encode_pair(t, json_string_value(a), json_string_length(a),
                                           json_string_value(b), json_string_length(b), ALL, &ids,
                                           &types),
                     TSR_OK);
        golden_is(json_object_get(pair, "ids"), &ids, "pair");
        golden_is(json_object_get(pair, "type_ids"), &types, "segments of the pair");
        tsri_text_ids_clear(&ids);
        tsri_text_ids_clear(&types);
        tsri_text_tokenizer_destroy(&t);
        json_decref(json);
    }
    json_decref(expected);
    json_decref(byte);
    json_decref(chars);
}

/* The lines, and what the golden has of them under a name; `odd`: ids that no line gives. */
static void lines_of(const tsri_text_tokenizer *t, const json_t *golden, const char *name,
                     unsigned flags) {
    const json_t *lines = json_object_get(golden, "lines"), *want = json_object_get(golden, name),
                 *odd = json_object_get(want, "odd"), *line, *ids;
    size_t i;
    cr_assert_gt(json_array_size(lines), 5);
    json_array_foreach(lines, i, line) {
        ids = json_array_get(json_object_get(want, "ids"), i);
        golden_encodes(t, json_string_value(line), json_string_length(line), flags, ids);
        golden_decodes(t, ids, true, json_array_get(json_object_get(want, "decoded"), i));
    }
    json_array_foreach(odd, i, ids)
        golden_decodes(t, ids, true, json_array_get(json_object_get(want, "odd_decoded"), i));
}

Test(text, sentencepiece_model_equals_the_library) {
    json_t *expected = golden_own_json("expected.json");
    tsri_bytes model = golden_own("small.model");
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_text_from_sentencepiece(model.data, model.size, &t), TSR_OK, "%s",
                 tsri_base_reported());
    lines_of(t, expected, "sentencepiece", 0);
    golden_broken(t, json_object_get(json_object_get(expected, "sentencepiece"), "broken"));
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_BOS), 1);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_EOS), 2);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_UNK), 0);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_PAD), -1);
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&model);
    json_decref(expected);
}

Test(text, llama2c_tokenizer_equals_the_programs_search) {
    json_t *expected = golden_own_json("expected.json");
    tsri_bytes file = golden_own("small.bin");
    tsri_text_tokenizer *t = NULL;
    const json_t *lines = json_object_get(expected, "lines"),
                 *want = json_object_get(expected, "llama2c");
    const int64_t V = json_integer_value(json_object_get(want, "vocabulary"));
    cr_assert_eq(tsri_text_from_llama2c(file.data, file.size, V, &t), TSR_OK, "%s",
                 tsri_base_reported());
    cr_expect(tsri_text_adds_bos(t));
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i),
                     *ids = json_array_get(json_object_get(want, "ids"), i);
        golden_encodes(t, json_string_value(line), json_string_length(line), TSRI_TEXT_ADD_SPECIAL,
                       ids);
        golden_decodes(t, ids, true, line);
    }
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&file);
    json_decref(expected);
}

/* Models without bytes, each with an unk_surface of its own. */
Test(text, an_unknown_piece_becomes_the_models_surface) {
    static const char *const names[] = {"llama2c", "none", "word"};
    json_t *golden = golden_own_json("unknown.json");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[64];
        tsri_text_tokenizer *t = NULL;
        snprintf(file, sizeof file, "unknown_%s.model", names[i]);
        tsri_bytes model = golden_own(file);
        cr_assert_eq(tsri_text_from_sentencepiece(model.data, model.size, &t), TSR_OK, "%s",
                     tsri_base_reported());
        lines_of(t, golden, names[i], 0);
        tsri_text_tokenizer_destroy(&t);
        tsri_base_bytes_clear(&model);
    }
    json_decref(golden);
}

Test(text, llama2c_vocabulary_of_characters) {
    json_t *golden = golden_own_json("unknown.json");
    tsri_bytes file = golden_own("characters.bin");
    tsri_text_tokenizer *t = NULL;
    const int64_t V =
        json_integer_value(json_object_get(json_object_get(golden, "characters"), "vocabulary"));
    cr_assert_eq(tsri_text_from_llama2c(file.data, file.size, V, &t), TSR_OK, "%s",
                 tsri_base_reported());
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_UNK), 0);
    lines_of(t, golden, "characters", TSRI_TEXT_ADD_SPECIAL);
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&file);
    json_decref(golden);
}

/* What all of these files call <unk>, <s> and </s> has the ids 0, 1 and 2. */
static void expect_specials(const char *kind, tsri_text_tokenizer *t) {
    static const char text[] = "<s>a<unk> b</s>";
    for (int parses = 0; parses < 2; parses++) {
        tsri_text_ids ids = {0}, found = {0};
        cr_assert_eq(
            tsri_text_encode(t, text, strlen(text), parses ? TSRI_TEXT_PARSE_SPECIAL : 0, &ids),
            TSR_OK, "%s: %s", kind, tsri_base_reported());
        for (size_t i = 0; i < ids.count; i++)
            if (ids.data[i] < 3)
                cr_assert_eq(tsri_text_ids_append(&found, &ids.data[i], 1), TSR_OK);
        const bool all =
            found.count == 3 && found.data[0] == 1 && found.data[1] == 0 && found.data[2] == 2;
        cr_expect(parses ? all : !all, "%s, %s: %zu of %zu ids are special", kind,
                  parses ? "parsed" : "as text", found.count, ids.count);
        tsri_text_ids_clear(&ids);
        tsri_text_ids_clear(&found);
    }
    tsri_text_tokenizer_destroy(&t);
}

static tsri_text_tokenizer *from_gguf(const char *model) {
    static const tsri_text_piece tokens[] = {
        {"<unk>", 5}, {"<s>", 3},     {"</s>", 4}, {"\xE2\x96\x81", 3},
        {"a", 1},     {"b", 1},       {"<", 1},    {">", 1},
        {"/", 1},     {"s", 1},       {"u", 1},    {"n", 1},
        {"k", 1},     {"\xC4\xA0", 2} /* a space in bytes */};
    enum { N = sizeof tokens / sizeof *tokens };
    static const float scores[N] = {0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    static const int32_t types[N] = {2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    tsri_text_gguf gguf = tsri_text_gguf_unstated;
    tsri_text_tokenizer *t = NULL;
    gguf.model = model;
    gguf.tokens = tokens;
    gguf.token_count = gguf.score_count = gguf.type_count = N;
    gguf.scores = scores;
    gguf.types = types;
    gguf.merges = tokens; /* gpt2 needs the list, and none of it */
    cr_assert_eq(tsri_text_from_gguf(&gguf, &t), TSR_OK, "%s: %s", model, tsri_base_reported());
    return t;
}

Test(text, special_tokens_in_a_text_are_the_same_from_every_kind_of_file) {
    static const char *const models[] = {"small.model", "unigram.model"}, *const ggufs[] = {"llama",
                                                                                            "t5",
                                                                                            "gpt2"};
    json_t *chars = golden_own_json("char.json");
    tsri_bytes bin = golden_own("small.bin");
    tsri_text_tokenizer *t = NULL;
    expect_specials("tokenizer.json", golden_from_json(chars));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        tsri_bytes model = golden_own(models[i]);
        cr_assert_eq(tsri_text_from_sentencepiece(model.data, model.size, &t), TSR_OK);
        expect_specials(models[i], t);
        tsri_base_bytes_clear(&model);
    }
    cr_assert_eq(tsri_text_from_llama2c(bin.data, bin.size, 320, &t), TSR_OK);
    expect_specials("tokenizer.bin", t);
    for (size_t i = 0; i < sizeof ggufs / sizeof *ggufs; i++)
        expect_specials(ggufs[i], from_gguf(ggufs[i]));
    json_decref(chars);
    tsri_base_bytes_clear(&bin);
}

/* A list of pieces says which is unknown; decoded text has it all the same. */
Test(text, the_unknown_token_of_a_list_is_found_in_a_text) {
    static const tsri_text_piece pieces[] = {
        {"<unk>", 5}, {"<s>", 3}, {"</s>", 4}, {"a", 1}, {"b", 1}};
    static const int32_t specials[] = {1, 2}, unknown[] = {3, 0};
    const tsri_text_listed listed = {.source = "a list",
                                     .pieces = pieces,
                                     .count = 5,
                                     .specials = specials,
                                     .special_count = 2,
                                     .mask = -1};
    tsri_text_tokenizer *t = NULL;
    tsri_bytes text = {0};
    cr_assert_eq(tsri_text_from_list(&listed, &t), TSR_OK, "%s", tsri_base_reported());
    cr_assert_eq(tsri_text_decode(t, unknown, 2, true, &text), TSR_OK);
    cr_expect_str_eq(text.data, "a <unk>");
    expect_specials("a list", t);
    tsri_base_bytes_clear(&text);
}

/* The bytes of a text's tokens, one behind the other; sentencepiece puts a space before a text. */
static void expect_bytes_of_tokens(const tsri_text_tokenizer *t, const char *text,
                                   const char *wanted) {
    tsri_text_ids ids = {0};
    tsri_bytes all = {0};
    cr_assert_eq(tsri_text_encode(t, text, strlen(text), 0, &ids), TSR_OK);
    for (size_t i = 0; i < ids.count; i++)
        cr_assert_eq(tsri_text_token_bytes(t, ids.data[i], &all), TSR_OK);
    cr_expect(all.size == strlen(wanted) && !memcmp(all.data, wanted, all.size), "\"%.*s\"",
              (int)all.size, all.data);
    tsri_text_ids_clear(&ids);
    tsri_base_bytes_clear(&all);
}

Test(text, tokens_have_the_bytes_of_their_text) {
    static const char text[] = "a  b the \xC3\xA9\xF0\x9F\x98\x80.",
                      behind[] = " a  b the \xC3\xA9\xF0\x9F\x98\x80.";
    tsri_bytes file = golden_own("small.bin");
    json_t *byte = golden_own_json("byte.json");
    tsri_text_tokenizer *t = golden_from_json(byte);
    expect_bytes_of_tokens(t, text, text);
    tsri_text_tokenizer_destroy(&t);
    cr_assert_eq(tsri_text_from_llama2c(file.data, file.size, 320, &t), TSR_OK);
    expect_bytes_of_tokens(t, text, behind);
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&file);
    json_decref(byte);
}

Test(text, affixes_surround_each_text) {
    tsri_bytes model = golden_own("small.model");
    tsri_text_tokenizer *t = NULL;
    tsri_text_ids ids = {0}, types = {0};
    cr_assert_eq(tsri_text_from_sentencepiece(model.data, model.size, &t), TSR_OK);
    cr_expect_not(tsri_text_adds_bos(t));
    cr_assert_eq(tsri_text_set_affixes(t, true, true), TSR_OK);
    cr_expect(tsri_text_adds_bos(t));
    cr_assert_eq(tsri_text_encode_pair(t, "", 0, "", 0, TSRI_TEXT_ADD_SPECIAL, &ids, &types),
                 TSR_OK);
    cr_expect(ids.count == 4 && ids.data[0] == 1 && ids.data[1] == 2 && ids.data[2] == 1 &&
              ids.data[3] == 2);
    cr_expect(types.count == 4 && types.data[1] == 0 && types.data[2] == 1);
    cr_assert_eq(tsri_text_set_role(t, TSRI_TEXT_BOS, -1), TSR_OK);
    cr_expect_eq(tsri_text_set_affixes(t, true, false), TSR_E_FORMAT);
    cr_expect_eq(tsri_text_set_role(t, TSRI_TEXT_PAD, 1000000), TSR_E_FORMAT);
    cr_expect_not_null(strstr(tsri_base_reported(), "padding token's id 1000000"));
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&types);
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&model);
}
