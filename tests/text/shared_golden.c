/* The larger goldens and real vocabularies, if they are there. */
#include "golden.h"

#include "base/error.h"
#include "io/archive.h"
#include "support/larger.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL };

static json_t *shared_json(const char *folder, const char *name) {
    char path[200];
    snprintf(path, sizeof path, "golden/tokenizers/%s%s", folder, name);
    tsri_bytes bytes = golden_shared(path);
    json_t *json = golden_json(&bytes);
    tsri_base_bytes_clear(&bytes);
    return json;
}

static const json_t *at(const json_t *object, const char *key, size_t i) {
    return json_array_get(json_object_get(object, key), i);
}

static size_t count(const json_t *object, const char *key) {
    return json_array_size(json_object_get(object, key));
}

static void check_tokenizer_json(const char *kind) {
    json_t *lines = shared_json("", "lines.json"), *file = shared_json(kind, "/tokenizer.json"),
           *expected = shared_json(kind, "/expected.json");
    tsri_text_tokenizer *t = golden_from_json(file);
    cr_expect_eq(tsri_text_vocabulary_size(t),
                 json_integer_value(json_object_get(expected, "vocab_size")));
    cr_assert_eq(count(expected, "ids"), 300);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        const char *text = json_string_value(line);
        const size_t n = json_string_length(line);
        golden_encodes(t, text, n, ALL, at(expected, "ids", i));
        golden_decodes(t, at(expected, "ids", i), true, at(expected, "decoded", i));
        if (i < count(expected, "ids_without_special"))
            golden_encodes(t, text, n, TSRI_TEXT_PARSE_SPECIAL,
                           at(expected, "ids_without_special", i));
        if (i < count(expected, "decoded_with_special"))
            golden_decodes(t, at(expected, "ids", i), false,
                           at(expected, "decoded_with_special", i));
    }
    cr_assert_eq(count(expected, "pairs"), 8);
    golden_pairs(t, json_object_get(expected, "pairs"), ALL);
    cr_assert_eq(count(expected, "decode_only"), 60);
    for (size_t i = 0; i < count(expected, "decode_only"); i++)
        golden_decodes(t, json_object_get(at(expected, "decode_only", i), "ids"), false,
                       json_object_get(at(expected, "decode_only", i), "text"));
    for (size_t i = 0; i < count(expected, "invalid_utf8_decode"); i++)
        golden_decodes(t, json_object_get(at(expected, "invalid_utf8_decode", i), "ids"), true,
                       json_object_get(at(expected, "invalid_utf8_decode", i), "text"));
    tsri_text_tokenizer_destroy(&t);
    json_decref(lines);
    json_decref(file);
    json_decref(expected);
}

static void check_sentencepiece(const char *kind) {
    char path[200];
    snprintf(path, sizeof path, "golden/tokenizers/%s/tokenizer.model", kind);
    json_t *lines = shared_json("", "lines.json"), *expected = shared_json(kind, "/expected.json");
    tsri_bytes model = golden_shared(path);
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_text_from_sentencepiece(model.data, model.size, &t), TSR_OK, "%s",
                 tsri_base_reported());
    cr_expect_eq(tsri_text_vocabulary_size(t),
                 json_integer_value(json_object_get(expected, "vocab_size")));
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_BOS),
                 json_integer_value(json_object_get(expected, "bos_id")));
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_EOS),
                 json_integer_value(json_object_get(expected, "eos_id")));
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_UNK),
                 json_integer_value(json_object_get(expected, "unk_id")));
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_PAD),
                 json_integer_value(json_object_get(expected, "pad_id")));
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i), *ids = at(expected, "ids", i);
        golden_encodes(t, json_string_value(line), json_string_length(line), 0, ids);
        golden_decodes(t, ids, true, at(expected, "decoded", i));
    }
    golden_broken(t, json_object_get(expected, "bytes"));
    for (size_t i = 0; i < count(expected, "pieces"); i++) {
        const json_t *pieces = at(expected, "pieces", i), *ids = at(expected, "ids", i);
        cr_assert_eq(json_array_size(pieces), json_array_size(ids));
        for (size_t k = 0; k < json_array_size(pieces); k++) {
            size_t n;
            const int32_t id = (int32_t)json_integer_value(json_array_get(ids, k));
            const char *piece = tsri_text_piece_of(t, id, &n);
            if (id == tsri_text_role_id(t, TSRI_TEXT_UNK))
                continue; /* then its piece is the text */
            cr_expect(piece && n == json_string_length(json_array_get(pieces, k)) &&
                      memcmp(piece, json_string_value(json_array_get(pieces, k)), n) == 0);
        }
    }
    for (size_t i = 0; i < count(expected, "decode_only"); i++)
        golden_decodes(t, json_object_get(at(expected, "decode_only", i), "ids"), true,
                       json_object_get(at(expected, "decode_only", i), "text"));
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&model);
    json_decref(lines);
    json_decref(expected);
}

/* A tokenizer whose folder of goldens has its name. */
#define GOLDEN(title, kind, check)                                 \
    LARGER_TEST(text, golden_##title, "golden/tokenizers/" kind) { \
        check(kind);                                               \
    }

GOLDEN(bpe_small, "bpe-small", check_tokenizer_json)
GOLDEN(bpe_large, "bpe-large", check_tokenizer_json)
GOLDEN(bpe_fallback, "bpe-fallback", check_tokenizer_json)
GOLDEN(wordpiece_cased, "wordpiece-cased", check_tokenizer_json)
GOLDEN(wordpiece_lower, "wordpiece-lower", check_tokenizer_json)
GOLDEN(unigram, "unigram", check_tokenizer_json)
GOLDEN(spm_bpe, "spm-bpe", check_sentencepiece)
GOLDEN(spm_unigram, "spm-unigram", check_sentencepiece)

LARGER_TEST(text, golden_stories260k_round_trip, "data/models/stories260k") {
    tsri_bytes file = golden_shared("data/models/stories260k/tokenizer.bin");
    tsri_bytes story = golden_shared("data/models/stories260k/expected_greedy_200.txt"),
               decoded = {0};
    tsri_text_tokenizer *t = NULL;
    tsri_text_ids ids = {0};
    cr_assert_eq(tsri_text_from_llama2c(file.data, file.size, 512, &t), TSR_OK, "%s",
                 tsri_base_reported());
    cr_assert_eq(tsri_text_encode(t, story.data, story.size, ALL, &ids), TSR_OK);
    cr_expect_eq(ids.data[0], 1);
    cr_assert_eq(tsri_text_decode(t, ids.data, ids.count, true, &decoded), TSR_OK);
    cr_expect(decoded.size == story.size && memcmp(decoded.data, story.data, story.size) == 0, "%s",
              decoded.data);
    tsri_text_ids_clear(&ids);
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&file);
    tsri_base_bytes_clear(&story);
    tsri_base_bytes_clear(&decoded);
}

/* The arrays of a GGUF file's vocabulary; the archive owns the pieces. */
static tsri_text_tokenizer *from_gguf(const tsri_io_archive *archive) {
    const tsri_io_value *tokens, *scores, *types, *merges;
    tsri_text_gguf g = tsri_text_gguf_unstated;
    cr_assert_eq(tsri_io_meta_text(archive, "tokenizer.ggml.model", &g.model, NULL), TSR_OK);
    cr_assert_eq(tsri_io_meta_text(archive, "tokenizer.ggml.pre", &g.pre, NULL), TSR_OK);
    cr_assert_eq(tsri_io_meta_list(archive, "tokenizer.ggml.tokens", TSRI_IO_TEXT, &tokens),
                 TSR_OK);
    cr_assert_eq(tsri_io_meta_list(archive, "tokenizer.ggml.scores", TSRI_IO_REAL, &scores),
                 TSR_OK);
    cr_assert_eq(tsri_io_meta_list(archive, "tokenizer.ggml.token_type", TSRI_IO_INT, &types),
                 TSR_OK);
    cr_assert_eq(tsri_io_meta_list(archive, "tokenizer.ggml.merges", TSRI_IO_TEXT, &merges),
                 TSR_OK);
    cr_assert_eq(tsri_io_meta_int(archive, "tokenizer.ggml.bos_token_id", 0, 1 << 24, &g.bos),
                 TSR_OK);
    cr_assert_eq(tsri_io_meta_int(archive, "tokenizer.ggml.eos_token_id", 0, 1 << 24, &g.eos),
                 TSR_OK);
    cr_assert_eq(tsri_io_meta_int(archive, "tokenizer.ggml.cls_token_id", 0, 1 << 24, &g.cls),
                 TSR_OK);
    cr_assert_eq(tsri_io_meta_int(archive, "tokenizer.ggml.seperator_token_id", 0, 1 << 24, &g.sep),
                 TSR_OK);
    cr_assert_eq(
        tsri_io_meta_int(archive, "tokenizer.ggml.unknown_token_id", 0, 1 << 24, &g.unknown),
        TSR_OK);
    g.token_count = tsri_io_list_count(tokens);
    g.score_count = scores ? tsri_io_list_count(scores) : 0;
    g.type_count = types ? tsri_io_list_count(types) : 0;
    g.merge_count = merges ? tsri_io_list_count(merges) : 0;
    tsri_text_piece *pieces = calloc(g.token_count + g.merge_count + 1, sizeof *pieces);
    float *values = calloc(g.score_count + 1, sizeof *values);
    int32_t *kinds = calloc(g.type_count + 1, sizeof *kinds);
    cr_assert(pieces && values && kinds);
    for (size_t i = 0; i < g.token_count; i++)
        pieces[i].text = tsri_io_list_text(tokens, i, &pieces[i].size);
    for (size_t i = 0; i < g.merge_count; i++)
        pieces[g.token_count + i].text =
            tsri_io_list_text(merges, i, &pieces[g.token_count + i].size);
    for (size_t i = 0; i < g.score_count; i++)
        values[i] = (float)tsri_io_list_real(scores, i);
    for (size_t i = 0; i < g.type_count; i++)
        kinds[i] = (int32_t)tsri_io_list_int(types, i);
    g.tokens = pieces;
    g.scores = scores ? values : NULL;
    g.types = types ? kinds : NULL;
    g.merges = merges ? pieces + g.token_count : NULL;
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_text_from_gguf(&g, &t), TSR_OK, "%s", tsri_base_reported());
    free(pieces);
    free(values);
    free(kinds);
    return t;
}

/* llama.cpp's own cases: texts separated by a line, and one line of ids for each. */
static void check_gguf(const char *name, bool comes_back) {
    static const char separator[] = "\n__ggml_vocab_test__\n";
    char path[300];
    snprintf(path, sizeof path, "data/tokenizers/%s.inp", name);
    tsri_bytes in = golden_shared(path);
    snprintf(path, sizeof path, "data/tokenizers/%s.out", name);
    tsri_bytes out = golden_shared(path);
    snprintf(path, sizeof path, "data/tokenizers/%s", name);
    char *file = larger_path(path);
    tsri_io_archive *archive = NULL;
    cr_assert_eq(tsri_io_open(file, &archive), TSR_OK, "%s", tsri_base_reported());
    free(file);
    tsri_text_tokenizer *t = from_gguf(archive);
    tsri_io_close(&archive);
    size_t cases = 0;
    char *line = out.data;
    for (const char *text = in.data; text; cases++) {
        const char *end = strstr(text, separator);
        json_t *want = json_array();
        char *next = strchr(line, '\n');
        if (next)
            *next = 0;
        for (char *number = line, *after;; number = after) {
            const long id = strtol(number, &after, 10);
            if (after == number)
                break;
            json_array_append_new(want, json_integer(id));
        }
        const size_t n = end ? (size_t)(end - text) : strlen(text);
        golden_encodes(t, text, n, 0, want);
        if (comes_back && (end || n)) {
            json_t *whole = json_stringn(text, n);
            golden_decodes(t, want, true, whole);
            json_decref(whole);
        }
        json_decref(want);
        text = end ? end + strlen(separator) : NULL;
        line = next ? next + 1 : line + strlen(line);
    }
    cr_expect_gt(cases, 40);
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&in);
    tsri_base_bytes_clear(&out);
}

LARGER_TEST(text, golden_gguf_bert, "data/tokenizers/ggml-vocab-bert-bge.gguf") {
    check_gguf("ggml-vocab-bert-bge.gguf", false);
}

LARGER_TEST(text, golden_gguf_gpt2, "data/tokenizers/ggml-vocab-gpt-2.gguf") {
    check_gguf("ggml-vocab-gpt-2.gguf", true);
}

LARGER_TEST(text, golden_gguf_phi3, "data/tokenizers/ggml-vocab-phi-3.gguf") {
    check_gguf("ggml-vocab-phi-3.gguf", true);
}
