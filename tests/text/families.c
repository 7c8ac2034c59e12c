/* Folders of families whose ids a SentencePiece model alone doesn't have, made here around
 * tests/golden/tokenizers/unigram.model; and what translation needs from a tokenizer. */
#include "golden.h"

#include "base/error.h"
#include "base/files.h"
#include "model/model.h"
#include "model/tokens/tokens.h"
#include "support/folder.h"
#include "task/translate/translate.h"
#include "text/load/load.h"
#include "text/tokenizer/languages.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "The summer's day";

static char folder[64];

static void begin(void) {
    folder_make(folder);
}

static void end(void) {
    folder_drop(folder);
}

TestSuite(families, .init = begin, .fini = end);

static void write_file(const char *name, const void *bytes, size_t n) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(tsri_base_write_whole(path, bytes, n), TSR_OK, "%s", tsri_base_reported());
}

static void write_text(const char *name, const char *content) {
    write_file(name, content, strlen(content));
}

static void write_model(const char *name) {
    tsri_bytes model = golden_own("unigram.model");
    write_file(name, model.data, model.size);
    tsri_base_bytes_clear(&model);
}

static tsri_text_tokenizer *segmenter(void) {
    tsri_text_tokenizer *t = NULL;
    tsri_bytes model = golden_own("unigram.model");
    cr_assert_eq(tsri_text_from_sentencepiece(model.data, model.size, &t), TSR_OK);
    tsri_base_bytes_clear(&model);
    return t;
}

/* Writes vocab.json with the model's own pieces, from `first` on, in reverse. */
static void write_vocabulary(const char *name, const char *head) {
    tsri_text_tokenizer *t = segmenter();
    json_t *json = json_loads(head, 0, NULL);
    cr_assert_not_null(json);
    for (int32_t i = tsri_text_vocabulary_size(t); i-- > 3;) {
        size_t n;
        const char *piece = tsri_text_piece_of(t, i, &n);
        if (piece && !json_object_getn(json, piece, n))
            json_object_setn_new(json, piece, n, json_integer((json_int_t)json_object_size(json)));
    }
    char *all = json_dumps(json, 0);
    write_text(name, all);
    free(all);
    json_decref(json);
    tsri_text_tokenizer_destroy(&t);
}

static tsri_text_tokenizer *open_folder(void) {
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_model_tokenizer_at(folder, &t), TSR_OK, "%s", tsri_base_reported());
    cr_assert_not_null(t);
    return t;
}

static void expect_refused(tsr_status wanted, const char *fragment) {
    tsri_text_tokenizer *t = NULL;
    cr_expect_eq(tsri_model_tokenizer_at(folder, &t), wanted, "%s", tsri_base_reported());
    cr_expect_null(t);
    cr_expect_not_null(strstr(tsri_base_reported(), fragment), "wanted \"%s\" in: %s", fragment,
                       tsri_base_reported());
    tsri_text_tokenizer_destroy(&t);
}

/* The segmenter's ids of `text`, each plus `shift`. */
static tsri_text_ids shifted(int32_t shift) {
    tsri_text_tokenizer *t = segmenter();
    tsri_text_ids ids = {0};
    cr_assert_eq(tsri_text_encode(t, text, strlen(text), 0, &ids), TSR_OK);
    for (size_t i = 0; i < ids.count; i++)
        ids.data[i] += shift;
    tsri_text_tokenizer_destroy(&t);
    return ids;
}

/* Expects `first` (-1: none), the segmenter's shifted ids, then the two last ids. */
static void expect_ids(const tsri_text_ids *got, int32_t first, int32_t shift, int32_t last,
                       int32_t very_last) {
    tsri_text_ids ids = shifted(shift), want = {0};
    const int32_t around[3] = {first, last, very_last};
    cr_assert_eq(tsri_text_ids_append(&want, around, first >= 0), TSR_OK);
    cr_assert_eq(tsri_text_ids_append(&want, ids.data, ids.count), TSR_OK);
    cr_assert_eq(tsri_text_ids_append(&want, around + 1, last >= 0), TSR_OK);
    cr_assert_eq(tsri_text_ids_append(&want, around + 2, very_last >= 0), TSR_OK);
    cr_expect(want.count == got->count &&
                  memcmp(want.data, got->data, want.count * sizeof *want.data) == 0,
              "%zu ids, %d ... %d %d; wanted %zu, %d ... %d", got->count, got->data[0],
              got->data[got->count - 2], got->data[got->count - 1], want.count, want.data[0],
              want.data[want.count - 1]);
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&want);
}

static tsri_text_direction direction(const tsri_text_tokenizer *t, const char *from,
                                     const char *to) {
    tsri_text_direction d;
    cr_assert_eq(tsri_text_direction_of(t, from, to, &d), TSR_OK, "%s", tsri_base_reported());
    return d;
}

static tsri_text_ids source_ids(const tsri_text_tokenizer *t, const tsri_text_direction *d) {
    tsri_text_ids ids = {0};
    cr_assert_eq(tsri_text_encode_source(t, text, strlen(text), d, 0, &ids), TSR_OK);
    return ids;
}

static void check(const char *config, const char *from, const char *to, int32_t first,
                  int32_t shift, int32_t last, int32_t very_last, int32_t start, int32_t forced) {
    write_model("sentencepiece.bpe.model");
    write_text("tokenizer_config.json", config);
    tsri_text_tokenizer *t = open_folder();
    const tsri_text_direction d = direction(t, from, to);
    tsri_text_ids ids = source_ids(t, &d), target = {0};
    tsri_bytes back = {0};
    expect_ids(&ids, first, shift, last, very_last);
    cr_expect(d.start == start && d.forced == forced, "%d %d", d.start, d.forced);
    cr_assert_eq(tsri_text_encode_target(t, text, strlen(text), &d, 0, &target), TSR_OK);
    cr_assert_eq(tsri_text_decode(tsri_text_target(t), target.data, target.count, true, &back),
                 TSR_OK);
    cr_expect_str_eq(back.data, text);
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&target);
    tsri_base_bytes_clear(&back);
    tsri_text_tokenizer_destroy(&t);
}

static int32_t rows(void) {
    tsri_text_tokenizer *t = segmenter();
    const int32_t n = tsri_text_vocabulary_size(t);
    tsri_text_tokenizer_destroy(&t);
    return n;
}

Test(families, fairseq_order) {
    const int32_t n = rows() + 1; /* the first language */
    check("{\"tokenizer_class\":\"XLMRobertaTokenizerFast\"}", NULL, NULL, 0, 1, 2, -1, -1, -1);
    check("{\"tokenizer_class\":\"MBartTokenizer\"}", "en", "ro_RO", -1, 1, 2, n + 3, n + 19, -1);
    check("{\"tokenizer_class\":\"MBart50Tokenizer\",\"tgt_lang\":\"af_ZA\"}", "de", NULL, n + 2, 1,
          2, -1, -1, n + 25);
    check("{\"tokenizer_class\":\"NllbTokenizer\"}", NULL, "ace_Latn", n + 46, 1, 2, -1, -1, n + 1);
    check("{\"tokenizer_class\":\"NllbTokenizer\",\"legacy_behaviour\":true}", "ace_Arab",
          "ace_Latn", -1, 1, 2, n, -1, n + 1);
}

Test(families, vocab_json_of_m2m_100) {
    write_vocabulary("vocab.json", "{\"<s>\":0,\"<pad>\":1,\"</s>\":2,\"<unk>\":3}");
    write_model("sentencepiece.bpe.model");
    write_text("config.json", "{\"model_type\":\"m2m_100\"}");
    tsri_text_tokenizer *t = open_folder();
    const tsri_text_direction d = direction(t, "de", "__fr__");
    tsri_text_ids ids = source_ids(t, &d), own = shifted(0);
    int32_t first;
    cr_expect_str_eq(tsri_text_language(t, 0, &first), "af");
    cr_expect(d.forced == d.to && d.start == -1 && d.from == first + 16);
    cr_expect_eq(ids.count, own.count + 2);
    cr_expect_eq(ids.data[0], d.from);
    cr_expect_eq(ids.data[ids.count - 1], 2);
    /* ids run backwards in this vocabulary */
    for (size_t i = 0; i < own.count; i++)
        cr_expect_eq(ids.data[i + 1], rows() + 3 - own.data[i]);
    tsri_text_direction none;
    cr_expect_eq(tsri_text_direction_of(t, "xx", "fr", &none), TSR_E_ARGUMENT);
    cr_expect_not_null(strstr(tsri_base_reported(), "it knows af, am, ar"));
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&own);
    tsri_text_tokenizer_destroy(&t);
}

static void write_marian(const char *head) {
    write_vocabulary("vocab.json", head);
    write_model("source.spm");
    write_model("target.spm");
}

Test(families, marian_has_two_sides) {
    write_marian("{\"</s>\":0,\"<unk>\":1,\"\xE2\x98\x83\":2}");
    write_text("tokenizer_config.json",
               "{\"source_lang\":\"en\",\"target_lang\":\"de\",\"model_max_length\":512}");
    write_text("config.json", "{\"model_type\":\"marian\"}");
    tsri_text_tokenizer *t = open_folder();
    cr_expect_neq((const void *)tsri_text_target(t), (const void *)t);
    cr_expect_eq(tsri_text_max_length(t), 512);
    tsri_bytes said = {0};
    cr_assert_eq(tsri_text_describe(t, &said), TSR_OK);
    cr_expect_not_null(strstr(said.data, "model: mapped, SentencePiece Unigram, "), "%s",
                       said.data);
    cr_expect_not_null(strstr(said.data, "languages: en-de\ntarget: a tokenizer of its own"), "%s",
                       said.data);
    tsri_base_bytes_clear(&said);
    tsri_text_ids ids = {0};
    cr_assert_eq(tsri_text_encode(t, text, strlen(text), TSRI_TEXT_ADD_SPECIAL, &ids), TSR_OK);
    cr_expect_eq(ids.data[ids.count - 1], 0);
    tsri_bytes out = {0};
    cr_assert_eq(tsri_text_decode(tsri_text_target(t), ids.data, ids.count, true, &out), TSR_OK);
    cr_expect_str_eq(out.data, text);
    direction(t, "en", "de");
    tsri_text_direction d;
    cr_expect_eq(tsri_text_direction_of(t, "de", "en", &d), TSR_E_ARGUMENT);
    cr_expect_not_null(strstr(tsri_base_reported(), "it knows en-de"), "%s", tsri_base_reported());
    tsri_text_ids_clear(&ids);
    tsri_base_bytes_clear(&out);
    tsri_text_tokenizer_destroy(&t);
}

Test(families, marian_of_several_targets) {
    write_marian("{\"</s>\":0,\"<unk>\":1,\">>deu<<\":2,\">>fra<<\":3}");
    write_text("config.json", "{\"model_type\":\"marian\"}");
    tsri_text_tokenizer *t = open_folder();
    tsri_text_direction d = direction(t, NULL, "fra"), none = direction(t, NULL, NULL);
    tsri_text_ids ids = source_ids(t, &d), written = {0};
    cr_expect(ids.data[0] == 3 && ids.data[ids.count - 1] == 0 && d.forced == -1);
    static const char own[] = ">>deu<<The summer's day";
    cr_assert_eq(tsri_text_encode_source(t, own, strlen(own), &d, 0, &written), TSR_OK);
    cr_expect(written.count == ids.count && written.data[0] == 2, "its own code stays");
    written.count = 0;
    cr_assert_eq(tsri_text_encode_source(t, ">>x<<", 5, &none, 0, &written), TSR_OK);
    cr_expect(written.count == 2 && written.data[0] == 1, "an unknown code");
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&written);
    tsri_text_tokenizer_destroy(&t);
}

/* Adds a line that a model of so few tokens can't read at once; its parts must begin with this code. */
static void expect_code(tsri_task_translation *t, const char *line, int32_t code) {
    tsri_task_lines lines = {0};
    cr_assert_eq(tsri_task_lines_add(&lines, t, line, strlen(line)), TSR_OK, "%s",
                 tsri_base_reported());
    cr_assert_null(lines.lines[0].error, "%s", lines.lines[0].error);
    cr_expect_gt(lines.n_parts, 3);
    for (size_t i = 0; i < lines.n_parts; i++) {
        const int32_t *ids = lines.ids.data + lines.parts[i].at;
        const int64_t n = lines.parts[i].text.n_source;
        cr_expect(n <= t->limit && ids[0] == code && ids[n - 1] == 0, "%s, part %zu: %d", line, i,
                  (int)ids[0]);
        for (int64_t k = 1; k < n; k++)
            cr_expect(ids[k] != 2 && ids[k] != 3, "%s, part %zu: a code behind the first id", line,
                      i);
    }
    tsri_task_lines_clear(&lines);
}

/* A line's own code is that of all its parts, and not that of the next line. */
Test(families, parts_of_a_line_have_the_code_that_it_begins_with) {
    static const char days[] =
        "The summer's day. The summer's day, the day. The day of the summer.";
    char own[128], unknown[128];
    write_marian("{\"</s>\":0,\"<unk>\":1,\">>deu<<\":2,\">>fra<<\":3}");
    write_text("config.json", "{\"model_type\":\"marian\"}");
    tsri_text_tokenizer *t = open_folder();
    tsri_model model = {.path = folder, .tokenizer = t};
    model.spec.source_vocab = tsri_text_vocabulary_size(t);
    const tsr_translate_options options = {.struct_size = sizeof options};
    tsri_task_translation run = {.model = &model, .options = &options, .limit = 16};
    run.direction = direction(t, NULL, "fra");
    snprintf(own, sizeof own, ">>deu<< %s", days);
    snprintf(unknown, sizeof unknown, ">>x<<%s", days);
    expect_code(&run, days, 3);
    expect_code(&run, own, 2);
    expect_code(&run, unknown, 1);
    expect_code(&run, days, 3);
    run.direction = direction(t, NULL, NULL);
    expect_code(&run, own, 2);
    tsri_text_tokenizer_destroy(&t);
}

Test(families, t5_adds_sentinels_and_prefixes) {
    const int32_t n = rows();
    write_model("spiece.model");
    write_text(
        "config.json",
        "{\"model_type\":\"t5\",\"task_specific_params\":{\"summarization\":{\"prefix\":\"s: "
        "\"},\"translation_en_to_de\":{\"prefix\":\"in German: \"}}}");
    tsri_text_tokenizer *t = open_folder();
    cr_expect_eq(tsri_text_vocabulary_size(t), n + 100);
    cr_expect_eq(tsri_text_id_of(t, "<extra_id_0>", 12), n + 99);
    const tsri_text_direction plain = direction(t, NULL, NULL), d = direction(t, "en", "de");
    tsri_text_ids ids = source_ids(t, &plain), longer = source_ids(t, &d);
    expect_ids(&ids, -1, 0, 2, -1);
    cr_expect_str_eq(d.prefix, "in German: ");
    cr_expect_gt(longer.count, ids.count);
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&longer);
    tsri_text_tokenizer_destroy(&t);
}

/* Writes the model with DeBERTa's special pieces in place of its first three, so that the others' ids are
 * one more. */
static void write_bert_pieces(const char *name) {
    static const char pieces[] = "\x0a\x0e\x0a\x05[PAD]\x15\0\0\0\0\x18\x03"
                                 "\x0a\x0e\x0a\x05[CLS]\x15\0\0\0\0\x18\x03"
                                 "\x0a\x0e\x0a\x05[SEP]\x15\0\0\0\0\x18\x03"
                                 "\x0a\x0e\x0a\x05[UNK]\x15\0\0\0\0\x18\x02";
    tsri_bytes model = golden_own("unigram.model"), all = {0};
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        cr_assert(model.data[at] == 0x0a && (unsigned char)model.data[at + 1] < 0x80);
        at += 2 + (size_t)model.data[at + 1];
    }
    cr_assert_eq(tsri_base_bytes_append(&all, pieces, sizeof pieces - 1), TSR_OK);
    cr_assert_eq(tsri_base_bytes_append(&all, model.data + at, model.size - at), TSR_OK);
    write_file(name, all.data, all.size);
    tsri_base_bytes_clear(&model);
    tsri_base_bytes_clear(&all);
}

Test(families, deberta_has_the_ends_of_bert) {
    const int32_t n = rows() + 1;
    write_bert_pieces("spm.model");
    write_text("config.json", "{\"model_type\":\"deberta-v2\"}");
    tsri_text_tokenizer *t = open_folder();
    const tsri_text_direction plain = direction(t, NULL, NULL);
    tsri_text_ids ids = source_ids(t, &plain), pair = {0}, types = {0};
    expect_ids(&ids, 1, 1, 2, -1);
    cr_expect_eq(tsri_text_vocabulary_size(t), n + 1);
    cr_expect_eq(tsri_text_id_of(t, "[MASK]", 6), n);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_MASK), n);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_PAD), 0);
    cr_assert_eq(tsri_text_encode_pair(t, text, strlen(text), text, strlen(text),
                                       TSRI_TEXT_ADD_SPECIAL, &pair, &types),
                 TSR_OK);
    cr_assert(pair.count == 2 * ids.count - 1 && types.count == pair.count);
    for (size_t i = 0; i < pair.count; i++) {
        cr_expect_eq(types.data[i], i >= ids.count);
        cr_expect_eq(pair.data[i], ids.data[i < ids.count ? i : i - ids.count + 1]);
    }
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&pair);
    tsri_text_ids_clear(&types);
    tsri_text_tokenizer_destroy(&t);
}

Test(families, byte_level_merges) {
    write_text("vocab.json", "{\"<s>\":0,\"</s>\":1,\"a\":2,\"b\":3,\"ab\":4,\"\xC4\xA0\":5}");
    write_text("merges.txt", "#version: 0.2\na b\n");
    tsri_text_tokenizer *t = open_folder();
    json_t *want = json_loads("[0, 4, 5, 4, 1]", 0, NULL);
    golden_encodes(t, "ab ab", 5, TSRI_TEXT_ADD_SPECIAL, want);
    json_decref(want);
    tsri_text_tokenizer_destroy(&t);
    write_text("merges.txt", "a c\n");
    expect_refused(TSR_E_FORMAT, "joins \"c\"");
    write_text("merges.txt", "\xff \xff\n");
    expect_refused(TSR_E_FORMAT, "not UTF-8");
}

/* Texts and pairs as the models were trained on them, and as transformers 4 made them; the mask takes the blank
 * before it. */
Test(families, byte_level_merges_of_deberta) {
    static const char vocabulary[] =
        "{\"[PAD]\":0,\"[CLS]\":1,\"[SEP]\":2,\"[UNK]\":3,\"a\":4,\"b\":5,\"ab\":6,"
        "\"\xC4\xA0\":7,\"\xC4\xA0"
        "a\":8,\"[MASK]\":9}";
    static const int32_t segments[] = {0, 0, 0, 0, 1, 1, 1};
    write_text("vocab.json", vocabulary);
    write_text("merges.txt", "#version: 0.2\na b\n\xC4\xA0 a\n");
    write_text("config.json", "{\"model_type\":\"deberta\"}");
    tsri_text_tokenizer *t = open_folder();
    tsri_text_ids ids = {0}, types = {0};
    json_t *want = json_loads("[1, 6, 7, 6, 9, 2]", 0, NULL);
    golden_encodes(t, "ab ab [MASK]", 12, TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL, want);
    json_decref(want);
    cr_assert_eq(tsri_text_encode_pair(t, "ab a", 4, "b a", 3, TSRI_TEXT_ADD_SPECIAL, &ids, &types),
                 TSR_OK);
    want = json_loads("[1, 6, 8, 2, 5, 8, 2]", 0, NULL);
    cr_assert_eq(ids.count, json_array_size(want));
    for (size_t i = 0; i < ids.count; i++) {
        cr_expect_eq(ids.data[i], json_integer_value(json_array_get(want, i)));
        cr_expect_eq(types.data[i], segments[i]);
    }
    json_decref(want);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_MASK), 9);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_PAD), 0);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_SEP), 2);
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&types);
    tsri_text_tokenizer_destroy(&t);
}

static void expect_encoded(const tsri_text_tokenizer *t, const char *line, unsigned flags,
                           const int32_t *wanted, size_t n) {
    json_t *ids = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(ids, json_integer(wanted[i]));
    golden_encodes(t, line, strlen(line), flags, ids);
    json_decref(ids);
}

static void expect_text(const tsri_text_tokenizer *t, const int32_t *ids, size_t n,
                        const char *wanted) {
    tsri_bytes out = {0};
    cr_assert_eq(tsri_text_decode(t, ids, n, 0, &out), TSR_OK);
    cr_expect_str_eq(out.data, wanted);
    tsri_base_bytes_clear(&out);
}

/* The class, or the model's type, says what stands around a text; it is not the vocabulary alone that does. */
Test(families, byte_level_merges_by_class) {
    static const struct {
        const char *model, *config;
        int32_t ids[5];
        size_t n;
    } cases[] = {
        {"{\"model_type\":\"opt\"}", "{}", {4, 5, 4}, 3},
        {"{\"model_type\":\"roberta\"}", "{}", {0, 4, 5, 4, 1}, 5},
        {"{}", "{}", {0, 4, 5, 4, 1}, 5},
        {"{}", "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}", {0, 4, 5, 4, 1}, 5},
        {"{\"model_type\":\"opt\"}",
         "{\"tokenizer_class\":\"BartTokenizerFast\"}",
         {0, 4, 5, 4, 1},
         5},
        {"{\"model_type\":\"opt\"}",
         "{\"tokenizer_class\":\"GPT2Tokenizer\",\"bos_token\":\"</s>\",\"add_bos_token\":true}",
         {1, 4, 5, 4},
         4},
        {"{}",
         "{\"tokenizer_class\":\"GPT2Tokenizer\",\"bos_token\":\"<s>\",\"eos_token\":{\"content\":"
         "\"</s>\"},\"add_eos_token\":true}",
         {4, 5, 4, 1},
         4},
        {"{}",
         "{\"tokenizer_class\":\"GPT2Tokenizer\",\"add_bos_token\":true,\"add_eos_token\":true}",
         {4, 5, 4},
         3}};
    write_text("vocab.json", "{\"<s>\":0,\"</s>\":1,\"a\":2,\"b\":3,\"ab\":4,\"\xC4\xA0\":5}");
    write_text("merges.txt", "#version: 0.2\na b\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("config.json", cases[i].model);
        write_text("tokenizer_config.json", cases[i].config);
        tsri_text_tokenizer *t = open_folder();
        expect_encoded(t, "ab ab", TSRI_TEXT_ADD_SPECIAL, cases[i].ids, cases[i].n);
        tsri_text_tokenizer_destroy(&t);
    }
    write_text("tokenizer_config.json", "{\"tokenizer_class\":\"CLIPTokenizer\"}");
    expect_refused(TSR_E_UNSUPPORTED, "merges.txt of \"clip\"");
}

/* Qwen's classes compose texts, and cut words by a pattern of their own; GPT-NeoX's composes alone. */
Test(families, byte_level_merges_of_qwen) {
    static const char vocabulary[] =
        "{\"(\":0,\"x\":1,\")\":2,\";\":3,\"\xC4\x8A\":4,\"y\":5,\"(x\":6,\";\xC4\x8A\":7,"
        "\"\xC3\x83\":8,\"\xC2\xA9\":9,\"e\":10,\"\xC3\x8C\":11,\"\xC4\xA3\":12,"
        "\"\xC3\x83\xC2\xA9\":13}";
    static const int32_t of_qwen[] = {6, 2, 7, 4, 5}, of_gpt2[] = {0, 1, 2, 3, 4, 4, 5},
                         composed[] = {13}, as_it_is[] = {10, 11, 12};
    static const struct {
        const char *config;
        bool qwen, composes;
    } cases[] = {{"{\"tokenizer_class\":\"Qwen2Tokenizer\"}", true, true},
                 {"{\"tokenizer_class\":\"Qwen3_5TokenizerFast\"}", true, true},
                 {"{\"tokenizer_class\":\"GPTNeoXTokenizerFast\"}", false, true},
                 {"{\"tokenizer_class\":\"GPT2Tokenizer\"}", false, false}};
    write_text("vocab.json", vocabulary);
    write_text("merges.txt", "( x\n; \xC4\x8A\n\xC3\x83 \xC2\xA9\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("tokenizer_config.json", cases[i].config);
        tsri_text_tokenizer *t = open_folder();
        cases[i].qwen ? expect_encoded(t, "(x);\n\ny", 0, of_qwen, 5)
                      : expect_encoded(t, "(x);\n\ny", 0, of_gpt2, 7);
        cases[i].composes ? expect_encoded(t, "e\xCC\x81", 0, composed, 1)
                          : expect_encoded(t, "e\xCC\x81", 0, as_it_is, 3);
        tsri_text_tokenizer_destroy(&t);
    }
}

/* MPNet's tokens have RoBERTa's names, and its pairs two separators. */
Test(families, vocab_txt_of_mpnet) {
    static const int32_t one[] = {0, 4, 5, 2}, two[] = {0, 4, 2, 2, 4, 4, 2};
    write_text("vocab.txt", "<s>\n<pad>\n</s>\n[UNK]\nhello\n<mask>\n");
    write_text("config.json", "{\"model_type\":\"mpnet\"}");
    for (int named = 0; named < 2; named++) {
        tsri_text_ids ids = {0}, types = {0};
        write_text("tokenizer_config.json", named ? "{\"tokenizer_class\":\"MPNetTokenizer\","
                                                    "\"sep_token\":\"</s>\"}"
                                                  : "{}");
        tsri_text_tokenizer *t = open_folder();
        expect_encoded(t, "Hello <mask>", TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL, one, 4);
        cr_assert_eq(tsri_text_encode_pair(t, "hello", 5, "hello hello", 11, TSRI_TEXT_ADD_SPECIAL,
                                           &ids, &types),
                     TSR_OK);
        cr_assert_eq(ids.count, sizeof two / sizeof *two);
        for (size_t i = 0; i < ids.count; i++)
            cr_expect(ids.data[i] == two[i] && types.data[i] == 0, "%zu: %d", i, ids.data[i]);
        cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_PAD), 1);
        cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_UNK), 3);
        cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_MASK), 5);
        tsri_text_ids_clear(&ids);
        tsri_text_ids_clear(&types);
        tsri_text_tokenizer_destroy(&t);
    }
}

/* Where a space is put before a text of tokenizer.model. `pieces` are those of the line, one behind the other. */
Test(families, spaces_of_llama) {
    static const struct {
        const char *model, *config, *line, *pieces;
    } cases[] = {
        {"{}", "{}", "<s>day day", "<s>_day_day"},
        {"{}", "{\"legacy\":false}", "<s>day day", "<s>day_day"},
        {"{}", "{\"tokenizer_class\":\"LlamaTokenizer\"}", "<s>day day", "<s>day_day"},
        {"{\"model_type\":\"llama\"}", "{\"tokenizer_class\":\"LlamaTokenizerFast\"}", "day day",
         "_day_day"},
        {"{\"model_type\":\"mistral\"}", "{\"tokenizer_class\":\"LlamaTokenizer\"}", "<s>day",
         "<s>_day"},
        {"{}", "{\"tokenizer_class\":\"LlamaTokenizer\",\"legacy\":true}", "<s>day", "<s>_day"},
        {"{}", "{\"tokenizer_class\":\"CodeLlamaTokenizer\"}", "<s>day", "<s>day"},
        {"{}", "{\"tokenizer_class\":\"LlamaTokenizer\",\"add_prefix_space\":false}", "day day",
         "day_day"},
        {"{}", "{\"tokenizer_class\":\"LlamaTokenizer\",\"add_prefix_space\":null}", "day", "_day"},
        {"{}", "{\"add_prefix_space\":false}", "day", "_day"}};
    write_model("tokenizer.model");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsri_text_ids ids = {0};
        tsri_bytes pieces = {0};
        write_text("config.json", cases[i].model);
        write_text("tokenizer_config.json", cases[i].config);
        tsri_text_tokenizer *t = open_folder();
        cr_assert_eq(tsri_text_encode(t, cases[i].line, strlen(cases[i].line),
                                      TSRI_TEXT_PARSE_SPECIAL, &ids),
                     TSR_OK);
        for (size_t k = 0; k < ids.count; k++) {
            size_t n;
            const char *piece = tsri_text_piece_of(t, ids.data[k], &n);
            for (size_t at = 0; at < n; at++) { /* U+2581 as "_" */
                const bool space = n - at >= 3 && !memcmp(piece + at, "\xE2\x96\x81", 3);
                cr_assert_eq(tsri_base_bytes_append(&pieces, space ? "_" : piece + at, 1), TSR_OK);
                at += space ? 2 : 0;
            }
        }
        cr_expect_str_eq(pieces.data, cases[i].pieces, "%s, %s: %s", cases[i].config, cases[i].line,
                         pieces.data);
        tsri_base_bytes_clear(&pieces);
        if (cases[i].line[0] != '<')
            expect_text(t, ids.data, ids.count, cases[i].line);
        tsri_text_ids_clear(&ids);
        tsri_text_tokenizer_destroy(&t);
    }
}

/* ---- added tokens, which the vocabulary's own file doesn't have ---- */

/* Id 5 is a piece that the decoder renames; <x> is always found, <|end|> where special tokens are. */
Test(families, added_tokens_decoder_beside_pieces) {
    const int32_t n = rows();
    char config[400], line[64];
    snprintf(config, sizeof config,
             "{\"eos_token\":\"<|end|>\",\"added_tokens_decoder\":{\"%d\":{\"content\":\"<|end|>\","
             "\"special\":true},\"%d\":{\"content\":\"<x>\"},\"5\":{\"content\":\"<y>\","
             "\"special\":true,"
             "\"lstrip\":true},\"1\":{\"content\":\"<s>\",\"special\":false,\"rstrip\":true}}}",
             n, n + 1);
    write_model("tokenizer.model");
    write_text("tokenizer_config.json", config);
    tsri_text_tokenizer *t = open_folder();
    tsri_text_ids ids = {0};
    snprintf(line, sizeof line, "<s> %s <y><x><|end|>", text);
    cr_assert_eq(tsri_text_encode(t, line, strlen(line), TSRI_TEXT_PARSE_SPECIAL, &ids), TSR_OK);
    tsri_text_ids own = shifted(0);
    cr_assert_eq(ids.count, own.count + 4);
    cr_expect_eq(ids.data[0], 1);
    cr_expect(memcmp(ids.data + 1, own.data, own.count * sizeof *own.data) == 0);
    cr_expect_eq(ids.data[own.count + 1], 5);
    cr_expect_eq(ids.data[own.count + 2], n + 1);
    cr_expect_eq(ids.data[own.count + 3], n);
    expect_text(t, ids.data + own.count + 1, 3, "<y><x><|end|>");
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_EOS), n);
    cr_expect(tsri_text_is_special(t, 1) && tsri_text_is_special(t, n) &&
              !tsri_text_is_special(t, n + 1));
    ids.count = 0;
    cr_assert_eq(tsri_text_encode(t, line, strlen(line), 0, &ids), TSR_OK);
    for (size_t i = 0; i < ids.count; i++)
        cr_expect(ids.data[i] != 1 && ids.data[i] != 5 && ids.data[i] != n, "%d", ids.data[i]);
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&own);
    tsri_text_tokenizer_destroy(&t);
    write_text("tokenizer_config.json", "{\"added_tokens_decoder\":{\"x\":{\"content\":\"a\"}}}");
    expect_refused(TSR_E_FORMAT, "\"x\" is not the id of a token");
    write_text("tokenizer_config.json", "{\"added_tokens_decoder\":[]}");
    expect_refused(TSR_E_FORMAT, "an object of ids and tokens");
    write_text("tokenizer_config.json",
               "{\"added_tokens_decoder\":{\"5\":{\"content\":\"a\"},\"05\":{\"content\":\"b\"}}}");
    expect_refused(TSR_E_FORMAT, "id 5 is given twice");
}

/* Only without a decoder; tokens behind the model's rows are left out. */
Test(families, added_tokens_json_beside_pieces) {
    const int32_t n = rows();
    char names[64];
    snprintf(names, sizeof names, "{\"<x>\":%d,\"<y>\":%d,\"<z>\":%d}", n, n + 1, n + 2);
    write_model("spiece.model");
    write_text("config.json", "{\"model_type\":\"mt5\"}");
    write_text("added_tokens.json", names);
    write_text(
        "tokenizer_config.json",
        "{\"added_tokens_decoder\":{},\"additional_special_tokens\":[{\"content\":\"<x>\"}]}");
    write_text("special_tokens_map.json", "{\"pad_token\":\"<y>\"}");
    tsri_model_spec spec;
    tsri_model_spec_defaults(&spec);
    for (int limited = 0; limited < 2; limited++) {
        const int32_t all[] = {n, n + 1, n + 2};
        tsri_text_tokenizer *t = NULL;
        spec.vocab = limited ? n + 2 : 0;
        cr_assert_eq(tsri_model_folder_tokenizer(folder, &spec, &t), TSR_OK, "%s",
                     tsri_base_reported());
        cr_expect_eq(tsri_text_vocabulary_size(t), limited ? n + 2 : n + 3);
        expect_encoded(t, limited ? "<x><y>" : "<x><y><z>", TSRI_TEXT_PARSE_SPECIAL, all,
                       limited ? 2 : 3);
        cr_expect_eq(tsri_text_id_of(t, "<z>", 3), limited ? -1 : n + 2);
        cr_expect(tsri_text_is_special(t, n) && tsri_text_is_special(t, n + 1) &&
                  !tsri_text_is_special(t, n + 2));
        tsri_text_tokenizer_destroy(&t);
    }
    write_text("added_tokens.json", "{\"<x>\":\"1\"}");
    expect_refused(TSR_E_FORMAT, "added_tokens.json");
    write_text("added_tokens.json", "[]");
    expect_refused(TSR_E_FORMAT, "an object of tokens and ids");
    write_text("tokenizer_config.json",
               "{\"added_tokens_decoder\":{\"2\":{\"content\":\"</s>\",\"special\":true}}}");
    tsri_text_tokenizer *t = open_folder();
    cr_expect_eq(tsri_text_vocabulary_size(t), n);
    tsri_text_tokenizer_destroy(&t);
}

/* A normalized token beside vocab.txt, and a token beside merges.txt. */
Test(families, added_tokens_beside_other_vocabularies) {
    static const int32_t words[] = {3, 5, 3}, merged[] = {4, 6, 2};
    write_text("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n##a\n");
    write_text("added_tokens.json", "{\"Herons\":5}");
    tsri_text_tokenizer *t = open_folder();
    expect_encoded(t, "a HERONS a", 0, words, 3);
    tsri_text_tokenizer_destroy(&t);
    write_text("vocab.json", "{\"<s>\":0,\"</s>\":1,\"a\":2,\"b\":3,\"ab\":4,\"\xC4\xA0\":5}");
    write_text("merges.txt", "#version: 0.2\na b\n");
    write_text("added_tokens.json", "{\"<x>\":6}");
    t = open_folder();
    expect_encoded(t, "ab<x>a", 0, merged, 3);
    tsri_text_tokenizer_destroy(&t);
}

Test(families, a_pickle_is_not_read) {
    write_text("bpe_encoder.bin", "x");
    write_text("config.json", "{\"model_type\":\"deberta\"}");
    expect_refused(TSR_E_UNSUPPORTED, "bpe_encoder.bin is a pickle");
}

Test(families, files_that_do_not_fit) {
    write_model("spiece.model");
    expect_refused(TSR_E_UNSUPPORTED, "tokenizer_class");
    write_text("config.json", "{\"model_type\":\"t5\"}");
    write_text("tokenizer_config.json", "{\"extra_ids\":-1}");
    expect_refused(TSR_E_FORMAT, "extra_ids");
    write_text("spiece.model", "x");
    expect_refused(TSR_E_FORMAT, "spiece.model");
    write_text("tokenizer_config.json", "[");
    expect_refused(TSR_E_FORMAT, "tokenizer_config.json");
}

Test(families, vocabularies_that_do_not_match) {
    static const struct {
        const char *vocabulary, *fragment;
        tsr_status status;
    } bad[] = {
        {NULL, "vocab.json is missing", TSR_E_IO},
        {"[]", "an object of pieces and ids", TSR_E_FORMAT},
        {"{\"a\":-1}", "the id of \"a\"", TSR_E_FORMAT},
        {"{\"a\":99999999}", "the id of \"a\"", TSR_E_FORMAT},
        {"{\"a\":1,\"b\":1}", "given twice", TSR_E_FORMAT},
        {"{\"a\":\"1\"}", "the id of \"a\"", TSR_E_FORMAT},
        {"{\"</s>\":0}", "no \"<unk>\"", TSR_E_FORMAT},
        {"{\"<unk>\":0}", "no \"</s>\"", TSR_E_FORMAT},
        {"{\"</s>\":0,\"<unk>\":1,\"x\":2}", "must belong to the same model", TSR_E_FORMAT},
    };
    write_model("source.spm");
    write_model("target.spm");
    write_text("config.json", "{\"model_type\":\"marian\"}");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bad[i].vocabulary)
            write_text("vocab.json", bad[i].vocabulary);
        expect_refused(bad[i].status, bad[i].fragment);
    }
}

/* source.spm truncated at every byte: one message with its name, or a vocabulary that doesn't
 * match. */
Test(families, a_model_cut_at_every_byte) {
    tsri_bytes model = golden_own("unigram.model");
    write_marian("{\"</s>\":0,\"<unk>\":1}");
    write_text("config.json", "{\"model_type\":\"marian\"}");
    for (size_t n = 0; n < model.size; n += 1 + n / 16) {
        write_file("source.spm", model.data, n);
        expect_refused(TSR_E_FORMAT, "source.spm");
    }
    tsri_base_bytes_clear(&model);
}
