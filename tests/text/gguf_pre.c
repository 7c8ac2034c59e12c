/* Each name of tokenizer.ggml.pre cuts texts as llama.cpp does (pre.json), and the vocabularies whose
 * pieces are characters. */
#include "golden.h"

#include "base/error.h"
#include "text/base/byte_level.h"
#include "text/load/gguf_pre.h"
#include "text/stages/pre_tokenize.h"

#include <criterion/criterion.h>
#include <string.h>

static void check_words(const char *name, const tsri_text_pre_tokenizer *cut, const json_t *line,
                        const json_t *words) {
    const char *text = json_string_value(line);
    const size_t n = json_string_length(line);
    tsri_text_splits splits = {0}, spare = {0};
    tsri_text_allowance allowance = tsri_text_allowance_of(n);
    cr_assert_eq(tsri_text_splits_add(&splits, text, n, -1, true), TSR_OK);
    cr_assert_eq(tsri_text_pre_tokenizer_apply(cut, &allowance, &splits, &spare), TSR_OK, "%s",
                 tsri_base_reported());
    cr_expect_eq(splits.count, json_array_size(words), "%s cuts \"%s\" into %zu words, not %zu",
                 name, text, splits.count, json_array_size(words));
    for (size_t i = 0; i < splits.count && i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        tsri_bytes own = {0};
        cr_assert_eq(tsri_text_characters_to_bytes(splits.text.data + splits.items[i].start,
                                                   splits.items[i].size, &own),
                     TSR_OK);
        cr_expect(own.size == strlen(word) && !memcmp(own.data, word, own.size),
                  "%s cuts \"%s\": word %zu is \"%.*s\", not \"%s\"", name, text, i, (int)own.size,
                  own.data, word);
        tsri_base_bytes_clear(&own);
    }
    tsri_text_splits_clear(&splits);
    tsri_text_splits_clear(&spare);
}

static void check_name(const char *name, const json_t *lines, const json_t *words) {
    const tsri_text_gguf_pre *pre = NULL;
    tsri_text_pre_tokenizer *cut = NULL;
    size_t count = 0;
    cr_assert_eq(tsri_text_gguf_pre_of(name, &pre), TSR_OK, "%s", tsri_base_reported());
    while (count < TSRI_TEXT_GGUF_PATTERNS && pre->patterns[count])
        count++;
    cr_assert_eq(tsri_text_pre_tokenizer_patterns(pre->patterns, count, &cut), TSR_OK, "%s: %s",
                 name, tsri_base_reported());
    for (size_t i = 0; i < json_array_size(lines); i++)
        check_words(name, cut, json_array_get(lines, i), json_array_get(words, i));
    tsri_text_pre_tokenizer_destroy(&cut);
}

Test(gguf_pre, every_name_cuts_as_llama_cpp) {
    json_t *golden = golden_own_json("pre.json");
    const json_t *rows = json_object_get(golden, "rows");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *names = json_object_get(row, "names");
        for (size_t k = 0; k < json_array_size(names); k++, count++)
            check_name(json_string_value(json_array_get(names, k)),
                       json_object_get(golden, "lines"), json_object_get(row, "words"));
    }
    cr_expect_eq(count, 89, "%zu names", count);
    json_decref(golden);
}

Test(gguf_pre, other_names_are_refused) {
    static const char *const names[] = {"k2-horizon", "", "gpt", "gpt-2 phi-2", "qwen", "2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tsri_text_gguf_pre *pre = NULL;
        cr_expect_eq(tsri_text_gguf_pre_of(names[i], &pre), TSR_E_UNSUPPORTED, "%s", names[i]);
        cr_expect_not_null(strstr(tsri_base_reported(), "tokenizer.ggml.pre"));
    }
}

/* Those of jina-embeddings-v2-base-zh: words between white space, which is left out; a byte that no piece has is <0xHH>,
 * and what has none of these is left out, too. */
Test(gguf_pre, pieces_may_be_of_words) {
    static const tsri_text_piece tokens[] = {{"a", 1},
                                             {"b", 1},
                                             {"\xE4\xB8\xAD", 3},
                                             {"ab", 2},
                                             {"<0xC3>", 6},
                                             {"<0xA9>", 6},
                                             {"<cls>", 5},
                                             {"A", 1},
                                             {" ", 1},
                                             {"b\xE4\xB8\xAD", 4}},
                                 merges[] = {{"a b", 3}, {"b \xE4\xB8\xAD", 5}};
    static const int32_t types[] = {1, 1, 1, 1, 6, 6, 3, 1, 1, 1};
    static const char text[] = " ab\xE3\x80\x80 b\xE4\xB8\xAD"
                               "a\n\xC3\xA9z A\xC2\xA0";
    static const int32_t wanted[2][9] = {{3, 9, 0, 4, 5, 7, -1}, {3, 9, 0, 4, 5, 0, -1}};
    static const char *const models[] = {"whitespace", "gpt2"};
    for (int i = 0; i < 4; i++) {
        tsri_text_gguf g = tsri_text_gguf_unstated;
        tsri_text_tokenizer *t = NULL;
        tsri_text_ids ids = {0};
        g.model = models[i / 2];
        g.pre = "whitespace";
        g.lowercase = i % 2 ? 1 : i / 2 - 1; /* not said, or not asked for */
        g.tokens = tokens;
        g.types = types;
        g.token_count = g.type_count = sizeof tokens / sizeof *tokens;
        g.merges = merges;
        g.merge_count = 2;
        cr_assert_eq(tsri_text_from_gguf(&g, &t), TSR_OK, "%s", tsri_base_reported());
        cr_assert_eq(tsri_text_encode(t, text, sizeof text - 1, 0, &ids), TSR_OK);
        cr_expect_eq(ids.count, 6, "%d: %zu ids", i, ids.count);
        for (size_t k = 0; k < ids.count && k < 6; k++)
            cr_expect_eq(ids.data[k], wanted[i % 2][k], "%d, %zu: %d", i, k, ids.data[k]);
        tsri_text_ids_clear(&ids);
        tsri_text_tokenizer_destroy(&t);
    }
    tsri_text_gguf g = tsri_text_gguf_unstated;
    tsri_text_tokenizer *t = NULL;
    g.model = "whitespace";
    g.pre = "gpt-2";
    cr_expect_eq(tsri_text_from_gguf(&g, &t), TSR_E_UNSUPPORTED);
    cr_expect_not_null(strstr(tsri_base_reported(), "\"gpt-2\" is not supported with"));
}

/* A separator between two texts, where the file doesn't say it: with the vocabularies that llama.cpp gives one. */
Test(gguf_pre, pairs_may_have_a_separator) {
    static const tsri_text_piece tokens[] = {{"a", 1}, {"b", 1}, {"<s>", 3}, {"</s>", 4}};
    static const int32_t types[] = {1, 1, 3, 3};
    static const struct {
        const char *pre;
        size_t counts[3]; /* where the file says nothing, no, yes */
    } rows[] = {{"roberta-bpe", {6, 5, 6}}, {"jina-v2-code", {6, 5, 6}}, {"gpt-2", {5, 5, 6}}};
    for (size_t i = 0; i < 9; i++) {
        tsri_text_gguf g = tsri_text_gguf_unstated;
        tsri_text_tokenizer *t = NULL;
        tsri_text_ids ids = {0};
        g.model = "gpt2";
        g.pre = rows[i / 3].pre;
        g.tokens = g.merges = tokens;
        g.types = types;
        g.token_count = g.type_count = sizeof tokens / sizeof *tokens;
        g.bos = 2;
        g.eos = g.sep = 3;
        g.add_bos = g.add_eos = 1;
        g.add_sep = (int)(i % 3) - 1;
        cr_assert_eq(tsri_text_from_gguf(&g, &t), TSR_OK, "%s", tsri_base_reported());
        cr_assert_eq(tsri_text_encode_pair(t, "a", 1, "b", 1, TSRI_TEXT_ADD_SPECIAL, &ids, NULL),
                     TSR_OK);
        cr_expect_eq(ids.count, rows[i / 3].counts[i % 3], "%s, %d: %zu", g.pre, g.add_sep,
                     ids.count);
        tsri_text_ids_clear(&ids);
        tsri_text_tokenizer_destroy(&t);
    }
}

/* Which tokens take the white space beside them follows from the names of the model, as in llama.cpp. */
Test(gguf_pre, tokens_may_take_white_space) {
    static const tsri_text_piece tokens[] = {{"a", 1},        {"\xC4\xA0", 2}, {"<s>", 3},
                                             {"<|user|>", 8}, {"<mask>", 6},   {"[MASK]", 6},
                                             {"<tool>", 6},   {"</s>", 4}};
    static const int32_t types[] = {1, 1, 3, 3, 3, 3, 4, 3};
    static const struct {
        const char *pre, *architecture, *name;
        int32_t wanted[16]; /* up to a 0 */
    } rows[] = {
        {"gpt-2", "llama", "Phi 3", {3, 2, 4, 2, 5, 2, 6, 2, 7, 2, 8, 2, 3, 2}},
        {"gpt-2", NULL, "My-Phi-3-mini", {3, 2, 4, 5, 6, 7, 8, 3, 2}},
        {"gpt-2", "phi3", "PHI3", {3, 2, 4, 5, 6, 7, 8, 3, 2}},
        {"gpt-2", "phi3", NULL, {3, 2, 4, 2, 5, 2, 6, 2, 7, 2, 8, 2, 3, 2}},
        {"jina-v2-de", NULL, "phi3", {3, 2, 4, 5, 2, 6, 2, 7, 2, 8, 2, 3, 2}},
        {"gpt-2", "jina-bert-v3", NULL, {3, 2, 4, 5, 2, 6, 2, 7, 2, 8, 2, 3, 2}},
        {"gpt-2", "modern-bert", "a modern-bert", {3, 2, 4, 2, 5, 6, 2, 7, 2, 8, 2, 3, 2}},
    };
    static const char text[] = "<s> <|user|> <mask> [MASK] <tool> </s> <s> ";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_text_gguf g = tsri_text_gguf_unstated;
        tsri_text_tokenizer *t = NULL;
        tsri_text_ids ids = {0};
        size_t n = 0;
        g.model = "gpt2";
        g.pre = rows[i].pre;
        g.architecture = rows[i].architecture;
        g.name = rows[i].name;
        g.tokens = g.merges = tokens;
        g.types = types;
        g.token_count = g.type_count = sizeof tokens / sizeof *tokens;
        cr_assert_eq(tsri_text_from_gguf(&g, &t), TSR_OK, "%s", tsri_base_reported());
        cr_assert_eq(tsri_text_encode(t, text, sizeof text - 1, TSRI_TEXT_PARSE_SPECIAL, &ids),
                     TSR_OK);
        while (rows[i].wanted[n])
            n++;
        cr_expect_eq(ids.count, n, "row %zu: %zu ids", i, ids.count);
        for (size_t k = 0; k < ids.count && k < n; k++)
            cr_expect_eq(ids.data[k], rows[i].wanted[k] - 1, "row %zu, %zu: %d", i, k, ids.data[k]);
        tsri_text_ids_clear(&ids);
        tsri_text_tokenizer_destroy(&t);
    }
}

/* What BERT's files say of letters and accents; without a word, both are taken away. */
Test(gguf_pre, bert_may_keep_letters) {
    static const tsri_text_piece tokens[] = {{"[UNK]", 5},
                                             {"\xE2\x96\x81"
                                              "e",
                                              4},
                                             {"\xE2\x96\x81"
                                              "E",
                                              4},
                                             {"\xE2\x96\x81\xC3\xA9", 5},
                                             {"\xE2\x96\x81\xC3\x89", 5}};
    static const struct {
        int lowercase, accents;
        int32_t wanted[2]; /* of E and of E with an acute accent */
    } rows[] = {{-1, -1, {1, 1}}, {1, -1, {1, 1}}, {0, -1, {2, 4}},
                {1, 0, {1, 3}},   {0, 1, {2, 2}},  {-1, 0, {1, 3}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_text_gguf g = tsri_text_gguf_unstated;
        tsri_text_tokenizer *t = NULL;
        tsri_text_ids ids = {0};
        g.model = "bert";
        g.lowercase = rows[i].lowercase;
        g.strip_accents = rows[i].accents;
        g.tokens = tokens;
        g.token_count = sizeof tokens / sizeof *tokens;
        g.unknown = 0;
        cr_assert_eq(tsri_text_from_gguf(&g, &t), TSR_OK, "%s", tsri_base_reported());
        cr_assert_eq(tsri_text_encode(t, "E \xC3\x89", 4, 0, &ids), TSR_OK);
        cr_assert_eq(ids.count, 2);
        for (size_t k = 0; k < 2; k++)
            cr_expect_eq(ids.data[k], rows[i].wanted[k], "row %zu: %d", i, ids.data[k]);
        tsri_text_ids_clear(&ids);
        tsri_text_tokenizer_destroy(&t);
    }
}

/* Gemma 4's: a space is U+2581, and a byte that no piece has is <0xHH>. */
Test(gguf_pre, pieces_may_be_characters) {
    static const tsri_text_piece tokens[] = {{"a", 1},
                                             {"b", 1},
                                             {"\xE2\x96\x81", 3},
                                             {"ab", 2},
                                             {"\xE2\x96\x81"
                                              "ab",
                                              5},
                                             {"<0xC3>", 6},
                                             {"<0xA9>", 6},
                                             {"<bos>", 5}},
                                 merges[] = {{"a b", 3}, {"\xE2\x96\x81 ab", 6}};
    static const int32_t types[] = {1, 1, 1, 1, 1, 6, 6, 3}, wanted[] = {7, 3, 4, 5, 6};
    tsri_text_gguf g = tsri_text_gguf_unstated;
    tsri_text_tokenizer *t = NULL;
    tsri_text_ids ids = {0};
    tsri_bytes text = {0};
    g.model = "gemma4";
    g.tokens = tokens;
    g.types = types;
    g.token_count = g.type_count = sizeof tokens / sizeof *tokens;
    g.merges = merges;
    g.merge_count = 2;
    g.bos = 7;
    cr_assert_eq(tsri_text_from_gguf(&g, &t), TSR_OK, "%s", tsri_base_reported());
    cr_assert_eq(tsri_text_encode(t, "ab ab\xC3\xA9", 7, TSRI_TEXT_ADD_SPECIAL, &ids), TSR_OK);
    cr_assert_eq(ids.count, 5);
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(ids.data[i], wanted[i], "%zu: %d", i, ids.data[i]);
    cr_assert_eq(tsri_text_decode(t, ids.data, ids.count, true, &text), TSR_OK);
    cr_expect(text.size == 7 && !memcmp(text.data, "ab ab\xC3\xA9", 7));
    tsri_text_ids_clear(&ids);
    tsri_base_bytes_clear(&text);
    tsri_text_tokenizer_destroy(&t);
}
