/* Malformed tokenizer files: each gives its status and a message that names the part. The numbers
 * are those of the project's list of bad inputs. */
#include "golden.h"

#include "base/error.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct bad_json {
    const char *text;
    tsr_status status;
    const char *fragment;
} bad_json;

/* A BPE tokenizer.json with this vocabulary, these merges and other parts. */
#define BPE(vocab, merges, rest) \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":" vocab ",\"merges\":" merges "}" rest "}"
#define AB "{\"a\":0,\"b\":1,\"ab\":2}"

static const bad_json bad_files[] = {
    {"[]", TSR_E_FORMAT, "must be a JSON object"},
    {"{}", TSR_E_FORMAT, "\"model\" is not an object"},
    {"{\"model\":{}}", TSR_E_FORMAT, "no \"type\""},
    {"{\"model\":{\"type\":3}}", TSR_E_FORMAT, "\"type\" is a whole number"},
    {"{\"model\":{\"type\":\"Novel\"}}", TSR_E_UNSUPPORTED, "model \"Novel\""},
    {"{\"model\":{\"type\":\"Unigram\"}}", TSR_E_FORMAT, "\"vocab\" is not a list"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", TSR_E_FORMAT, "has 0 pieces"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", TSR_E_FORMAT, "entry 0"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0],[1,2]]}}", TSR_E_FORMAT, "entry 1"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]],\"unk_id\":1}}", TSR_E_FORMAT,
     "unk_id"},
    {"{\"model\":{\"type\":\"WordPiece\"}}", TSR_E_FORMAT, "\"vocab\" is not an object"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0},\"max_input_chars_per_word\":-1}}",
     TSR_E_FORMAT, "max_input_chars_per_word"},
    /* 68: duplicate ids, gaps, invalid ids */
    {BPE("{\"a\":0,\"b\":0}", "[]", ""), TSR_E_FORMAT, "id 0 is given twice"},
    {BPE("{\"a\":0,\"a\":1}", "[]", ""), TSR_E_FORMAT, "duplicate"},
    {BPE("{\"a\":-1}", "[]", ""), TSR_E_FORMAT, "id -1"},
    {BPE("{\"a\":1.5}", "[]", ""), TSR_E_FORMAT, "not a whole number"},
    {BPE("{\"a\":16000000}", "[]", ""), TSR_E_FORMAT, "16000000, far above"},
    {BPE("[]", "[]", ""), TSR_E_FORMAT, "\"vocab\" is not an object"},
    /* 69: merges */
    {BPE(AB, "[\"a c\"]", ""), TSR_E_FORMAT, "number 0 joins \"c\""},
    {BPE(AB, "[\"a b\",\"ab a\"]", ""), TSR_E_FORMAT, "number 1 gives \"aba\""},
    {BPE(AB, "[\"ab\"]", ""), TSR_E_FORMAT, "two pieces are needed"},
    {BPE(AB, "[\"a  b\"]", ""), TSR_E_FORMAT, "two pieces are needed"},
    {BPE(AB, "[[\"a\"]]", ""), TSR_E_FORMAT, "two pieces are needed"},
    {BPE(AB, "[[\"\",\"a\"]]", ""), TSR_E_FORMAT, "number 0 joins \"\""},
    {BPE(AB, "3", ""), TSR_E_FORMAT, "\"merges\" is not a list"},
    /* 70: not UTF-8 */
    {BPE("{\"\xff\":0}", "[]", ""), TSR_E_FORMAT, "0xff"},
    {BPE("{\"\\ud800\":0}", "[]", ""), TSR_E_FORMAT, "nvalid Unicode"},
    /* 71: patterns */
    {BPE(AB, "[]",
         ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a\"},\"behavior\":"
         "\"Isolated\"}"),
     TSR_E_FORMAT, "regular expression \"(a\""},
    {BPE(AB, "[]",
         ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?~a)\"},\"behavior\":"
         "\"Isolated\"}"),
     TSR_E_UNSUPPORTED, "this kind of group, at byte 2"},
    {BPE(AB, "[]", ",\"decoder\":{\"type\":\"BPEDecoder\",\"suffix\":\"\"}"), TSR_E_FORMAT,
     "decoder BPEDecoder: \"suffix\" is empty"},
    {BPE(AB, "[]", ",\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"\"}"), TSR_E_UNSUPPORTED,
     "normalizer Prepend: an empty \"prepend\""},
    {BPE(AB, "[]", ",\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":0}"), TSR_E_FORMAT,
     "pre_tokenizer FixedLength: \"length\" is 0"},
    {BPE(AB, "[]", ",\"pre_tokenizer\":{\"type\":\"CharDelimiterSplit\"}"), TSR_E_FORMAT,
     "pre_tokenizer CharDelimiterSplit: \"delimiter\" is missing"},
    {BPE(AB, "[]",
         ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":\"a\",\"behavior\":\"Isolated\"}"),
     TSR_E_FORMAT, "\"pattern\" must be"},
    {BPE(AB, "[]",
         ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":"
         "\"Sideways\"}"),
     TSR_E_FORMAT, "Sideways"},
    /* 74: added tokens */
    {BPE(AB, "[]", ",\"added_tokens\":[{\"id\":3,\"content\":\"\"}]"), TSR_E_FORMAT,
     "content of id 3 is empty"},
    {BPE(AB, "[]", ",\"added_tokens\":[{\"content\":\"x\"}]"), TSR_E_FORMAT, "no \"id\""},
    {BPE(AB, "[]", ",\"added_tokens\":[{\"id\":1,\"content\":\"x\"}]"), TSR_E_FORMAT,
     "id 1 is given twice"},
    {BPE(AB, "[]", ",\"added_tokens\":[{\"id\":3,\"content\":\"a\"}]"), TSR_E_FORMAT,
     "\"a\" has the id 3, but the vocabulary has it as id 0"},
    {BPE(AB, "[]", ",\"added_tokens\":[{\"id\":9000000,\"content\":\"x\"}]"), TSR_E_FORMAT,
     "9000000, far above"},
    {BPE(AB, "[]", ",\"added_tokens\":[3]"), TSR_E_FORMAT, "number 0 is not an object"},
    {BPE(AB, "[]", ",\"added_tokens\":{}"), TSR_E_FORMAT, "\"added_tokens\" is not a list"},
    /* parts that are not supported, or not known */
    {BPE(AB, "[]", ",\"normalizer\":{\"type\":\"Precompiled\"}"), TSR_E_FORMAT,
     "\"precompiled_charsmap\" is missing"},
    {BPE(AB, "[]", ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AA?A\"}"),
     TSR_E_FORMAT, "\"precompiled_charsmap\": not base64 at character 2"},
    {BPE(AB, "[]",
         ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAA==\"}"),
     TSR_E_FORMAT, "normalizer Precompiled: the character map has 4 bytes"},
    {BPE(AB, "[]", ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Nmx\"}]}"),
     TSR_E_UNSUPPORTED, "\"Nmx\""},
    {BPE(AB, "[]", ",\"normalizer\":{\"type\":\"Sequence\"}"), TSR_E_FORMAT,
     "\"normalizers\" is not a list"},
    {BPE(AB, "[]", ",\"normalizer\":{\"type\":\"Prepend\"}"), TSR_E_FORMAT,
     "\"prepend\" is missing"},
    {BPE(AB, "[]", ",\"normalizer\":7"), TSR_E_FORMAT, "normalizer is not an object"},
    {BPE(AB, "[]", ",\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}"), TSR_E_UNSUPPORTED,
     "\"UnicodeScripts\""},
    {BPE(AB, "[]", ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"ab\"}"),
     TSR_E_FORMAT, "one character"},
    {BPE(AB, "[]", ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"often\"}"),
     TSR_E_FORMAT, "\"often\""},
    {BPE(AB, "[]", ",\"decoder\":{\"type\":\"CTC\"}"), TSR_E_UNSUPPORTED, "decoder \"CTC\""},
    {BPE(AB, "[]", ",\"decoder\":{\"type\":\"Strip\",\"start\":-1}"), TSR_E_FORMAT,
     "\"start\" is -1"},
    {BPE(AB, "[]", ",\"post_processor\":{\"type\":\"Other\"}"), TSR_E_UNSUPPORTED,
     "post_processor \"Other\""},
    {BPE(AB, "[]",
         ",\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"a\",0],\"sep\":[\"x\",9]}"),
     TSR_E_FORMAT, "id 9 is not in"},
    {BPE(AB, "[]",
         ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{"
         "\"id\":\"x\",\"type_id\":0}}],\"pair\":[]}"),
     TSR_E_FORMAT, "ids of \"x\""},
    {BPE(AB, "[]",
         ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":"
         "\"B\",\"type_id\":0}}],\"pair\":[]}"),
     TSR_E_FORMAT, "sequence B"},
    {BPE(AB, "[]",
         ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":"
         "\"C\"}}],\"pair\":[]}"),
     TSR_E_FORMAT, "the id \"C\""},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":" AB ",\"merges\":[],\"dropout\":0.1}}",
     TSR_E_UNSUPPORTED, "dropout"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":" AB ",\"merges\":[],\"unk_token\":\"?\"}}",
     TSR_E_FORMAT, "\"unk_token\" is \"?\""},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":" AB
     ",\"merges\":[[\"a\",\"b\"]],\"continuing_subword_prefix\":\"##\"}}",
     TSR_E_FORMAT, "shorter than continuing_subword_prefix"},
};

Test(text, bad_tokenizer_json_is_refused_by_part) {
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        tsri_text_tokenizer *t = NULL;
        const tsr_status status = tsri_text_from_json_text(
            bad_files[i].text, strlen(bad_files[i].text), "tokenizer.json", &t);
        cr_expect_eq(status, bad_files[i].status, "%s: %d, %s", bad_files[i].text, status,
                     tsri_base_reported());
        cr_expect_null(t);
        cr_expect_not_null(strstr(tsri_base_reported(), bad_files[i].fragment), "%s: %s",
                           bad_files[i].text, tsri_base_reported());
    }
}

static void expect_refusal(tsr_status got, tsr_status want, const char *fragment,
                           tsri_text_tokenizer *t) {
    cr_expect_eq(got, want, "%d: %s", got, tsri_base_reported());
    cr_expect_null(t);
    cr_expect_not_null(strstr(tsri_base_reported(), fragment), "wanted \"%s\" in: %s", fragment,
                       tsri_base_reported());
}

Test(text, deep_nesting_is_refused) {
    char text[400] = "{\"normalizer\":";
    for (int i = 0; i < 80; i++)
        strcat(text, "[");
    tsri_text_tokenizer *t = NULL;
    const tsr_status status = tsri_text_from_json_text(text, strlen(text), "tokenizer.json", &t);
    expect_refusal(status, TSR_E_FORMAT, "81 levels", t);
}

/* Gives `check` a file of this format. */
static void with_sentencepiece(void (*check)(tsri_bytes *file, int64_t V)) {
    tsri_bytes file = golden_own("small.model");
    check(&file, 0);
    tsri_base_bytes_clear(&file);
}

static void with_llama2c(void (*check)(tsri_bytes *file, int64_t V)) {
    tsri_bytes file = golden_own("small.bin");
    check(&file, 320);
    tsri_base_bytes_clear(&file);
}

/* A file is refused when it is truncated at any length. What is left is placed at the end of its
 * own memory, so that a memory checker sees reads beyond it. */
static void expect_every_cut_refused(tsri_bytes *file, int64_t V) {
    for (size_t n = 0; n < file->size; n++) {
        char *cut = malloc(n + 1);
        cr_assert_not_null(cut);
        char *start = cut + 1; /* so that n = 0 has memory too */
        memcpy(start, file->data, n);
        tsri_text_tokenizer *t = NULL;
        const tsr_status status = V ? tsri_text_from_llama2c(start, n, V, &t)
                                    : tsri_text_from_sentencepiece(start, n, &t);
        cr_expect(status == TSR_E_FORMAT || (V == 0 && status == TSR_E_UNSUPPORTED),
                  "cut at %zu: %d", n, status);
        cr_expect_null(t);
        free(cut);
    }
}

Test(text, sentencepiece_cut_at_every_byte) {
    with_sentencepiece(expect_every_cut_refused);
}

Test(text, llama2c_cut_at_every_byte) {
    with_llama2c(expect_every_cut_refused);
}

/* With any one byte changed there is a refusal or a tokenizer that works. */
static void expect_survival(tsri_bytes *file, int64_t V) {
    static const unsigned char flips[] = {0x01, 0x80, 0xFF};
    for (size_t i = 0; i < file->size; i++) {
        for (size_t k = 0; k < sizeof flips; k++) {
            tsri_text_tokenizer *t = NULL;
            tsri_text_ids ids = {0};
            file->data[i] ^= (char)flips[k];
            const tsr_status status = V ? tsri_text_from_llama2c(file->data, file->size, V, &t)
                                        : tsri_text_from_sentencepiece(file->data, file->size, &t);
            file->data[i] ^= (char)flips[k];
            if (status == TSR_OK)
                cr_expect_eq(tsri_text_encode(t, "A summer's day \xff", 16, 3, &ids), TSR_OK);
            else
                cr_expect(status == TSR_E_FORMAT || status == TSR_E_UNSUPPORTED, "byte %zu: %d", i,
                          status);
            tsri_text_ids_clear(&ids);
            tsri_text_tokenizer_destroy(&t);
        }
    }
}

Test(text, sentencepiece_survives_any_changed_byte) {
    with_sentencepiece(expect_survival);
}

Test(text, llama2c_survives_any_changed_byte) {
    with_llama2c(expect_survival);
}

/* SentencePiece reads unk_surface up to a 0 byte; one that isn't UTF-8 would give a text that isn't. */
Test(text, odd_surfaces_of_unknown_pieces) {
    tsri_bytes file = golden_own("unknown_word.model"), text = {0};
    tsri_text_tokenizer *t = NULL;
    char *at = file.data;
    while (at + 4 < file.data + file.size && memcmp(at, "?\xC3\xA9 ", 4))
        at++;
    cr_assert_eq(*at, '?');
    *at = (char)0xFF;
    expect_refusal(tsri_text_from_sentencepiece(file.data, file.size, &t), TSR_E_FORMAT,
                   "unk_surface is not UTF-8", t);
    *at = 0;
    cr_assert_eq(tsri_text_from_sentencepiece(file.data, file.size, &t), TSR_OK);
    cr_assert_eq(tsri_text_decode(t, (const int32_t[]){0, 0}, 2, true, &text), TSR_OK);
    cr_expect(text.size == 6 && !memcmp(text.data, "\xE2\x96\x81\xE2\x96\x81", 6), "\"%.*s\"",
              (int)text.size, text.data);
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&text);
    tsri_base_bytes_clear(&file);
}

static void with_characters(void (*check)(tsri_bytes *file, int64_t V)) {
    tsri_bytes file = golden_own("characters.bin");
    check(&file, 22);
    tsri_base_bytes_clear(&file);
}

Test(text, llama2c_characters_cut_at_every_byte) {
    with_characters(expect_every_cut_refused);
}

Test(text, llama2c_characters_survive_any_changed_byte) {
    with_characters(expect_survival);
}

Test(text, bad_llama2c_sizes_are_refused) {
    tsri_bytes file = golden_own("small.bin");
    tsri_text_tokenizer *t = NULL;
    expect_refusal(tsri_text_from_llama2c(file.data, file.size, 319, &t), TSR_E_FORMAT,
                   "follow the last of 319 pieces", t);
    expect_refusal(tsri_text_from_llama2c(file.data, file.size, 258, &t), TSR_E_FORMAT,
                   "258 pieces ends within the 256 bytes", t);
    expect_refusal(tsri_text_from_llama2c(file.data, file.size, 3, &t), TSR_E_FORMAT,
                   "a vocabulary of 3 pieces; a tokenizer.bin has 4", t);
    expect_refusal(tsri_text_from_llama2c(file.data, file.size, INT64_MAX, &t), TSR_E_FORMAT,
                   "pieces", t);
    expect_refusal(tsri_text_from_llama2c(file.data, file.size, 400, &t), TSR_E_FORMAT,
                   "within piece 320 of 400", t);
    tsri_base_bytes_clear(&file);
}

#define TRAINER_BPE "\x12\x02\x18\x02"
#define NORMALIZER "\x1a\x00"
#define UNK "\x0a\x09\x0a\x05<unk>\x18\x02"

Test(text, bad_sentencepiece_fields_are_refused) {
    static const struct {
        const char *bytes;
        size_t n;
        tsr_status status;
        const char *fragment;
    } rows[] = {
#define ROW(bytes, status, fragment) {bytes, sizeof bytes - 1, status, fragment}
        ROW("", TSR_E_FORMAT, "empty"),
        ROW("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", TSR_E_FORMAT, "longer than 64 bits"),
        ROW("{\"model\"", TSR_E_FORMAT, "wire type"),
        ROW("\x0a\x7f", TSR_E_FORMAT, "has 127 bytes, but 0"),
        ROW(UNK NORMALIZER, TSR_E_FORMAT, "no trainer_spec"),
        ROW(UNK TRAINER_BPE, TSR_E_FORMAT, "no normalizer_spec"),
        ROW(TRAINER_BPE NORMALIZER, TSR_E_FORMAT, "no pieces"),
        ROW(UNK "\x12\x02\x18\x03" NORMALIZER, TSR_E_UNSUPPORTED, "type word"),
        ROW(UNK "\x12\x02\x18\x09" NORMALIZER, TSR_E_FORMAT, "model_type is 9"),
        ROW(UNK TRAINER_BPE "\x1a\x0a\x0a\x05nmt_x\x12\x01z", TSR_E_FORMAT,
            "normalizer_spec: the character map has 1 bytes"),
        ROW(UNK TRAINER_BPE NORMALIZER "\x2a\x03\x12\x01z", TSR_E_UNSUPPORTED, "denormalizer_spec"),
        ROW(UNK "\x12\x05\x18\x02\x98\x02\x01" NORMALIZER, TSR_E_FORMAT,
            "0 byte pieces; byte_fallback is on"),
        ROW("\x0a\x05\x0a\x01"
            "a\x18\x07" TRAINER_BPE NORMALIZER,
            TSR_E_FORMAT, "type of id 0 is 7"),
        ROW("\x0a\x04\x0a\x02\xc3(" TRAINER_BPE NORMALIZER, TSR_E_FORMAT, "not UTF-8"),
        ROW("\x0a\x03\x0a\x01"
            "a" TRAINER_BPE NORMALIZER,
            TSR_E_FORMAT, "no piece of type unknown"),
        ROW(UNK UNK TRAINER_BPE NORMALIZER, TSR_E_FORMAT, "has two ids"),
        ROW("\x0a\x08\x0a\x01"
            "a\x15\x00\x00\xc0\x7f" TRAINER_BPE NORMALIZER,
            TSR_E_FORMAT, "score of id 0 is not finite"),
        ROW("\x0a\x05\x0a\x03"
            "<0x" TRAINER_BPE NORMALIZER,
            TSR_E_FORMAT, "no piece of type unknown"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_text_tokenizer *t = NULL;
        const tsr_status status = tsri_text_from_sentencepiece(rows[i].bytes, rows[i].n, &t);
        expect_refusal(status, rows[i].status, rows[i].fragment, t);
        tsri_text_tokenizer_destroy(&t);
    }
}

static const tsri_text_piece three[] = {{"a", 1}, {"b", 1}, {"ab", 2}};

static tsri_text_gguf gguf_of(const char *model) {
    static const float scores[3] = {0, 0, 0};
    static const int32_t types[3] = {1, 1, 1};
    static const tsri_text_piece merges[1] = {{"a b", 3}};
    tsri_text_gguf g = tsri_text_gguf_unstated;
    g.model = model;
    g.pre = "gpt-2";
    g.tokens = three;
    g.token_count = 3;
    g.scores = scores;
    g.score_count = 3;
    g.types = types;
    g.type_count = 3;
    g.merges = merges;
    g.merge_count = 1;
    return g;
}

static void expect_gguf(const tsri_text_gguf *g, tsr_status status, const char *fragment) {
    tsri_text_tokenizer *t = NULL;
    expect_refusal(tsri_text_from_gguf(g, &t), status, fragment, t);
}

Test(text, bad_gguf_vocabularies_are_refused) {
    const tsri_text_piece same[] = {{"a", 1}, {"b", 1}, {"", 0}}, joined = {"ab", 2},
                          absent = {"a c", 3}, broken = {"\xff", 1};
    const float infinite[3] = {0, INFINITY, 0};
    const int32_t kinds[3] = {1, 99, 1}, bytes[3] = {1, 6, 1};
    tsri_text_gguf g = gguf_of("rwkv");
    expect_gguf(&g, TSR_E_UNSUPPORTED, "model \"rwkv\"");
    g.model = NULL;
    expect_gguf(&g, TSR_E_UNSUPPORTED, "model \"\"");
    for (int llama = 0; llama < 2; llama++) {
        const char *model = llama ? "llama" : "gpt2";
        g = gguf_of(model), g.token_count = 0;
        expect_gguf(&g, TSR_E_FORMAT, "tokens has 0 pieces");
        g = gguf_of(model), g.score_count = 2;
        expect_gguf(&g, TSR_E_FORMAT, "scores has 2 entries for 3");
        g = gguf_of(model), g.type_count = 4;
        expect_gguf(&g, TSR_E_FORMAT, "token_type has 4 entries for 3");
        g = gguf_of(model), g.tokens = same;
        expect_gguf(&g, TSR_E_FORMAT, "id 2 has 0 bytes");
        g = gguf_of(model), g.bos = 3, g.add_bos = 1;
        expect_gguf(&g, TSR_E_FORMAT, "a bos token is to be added");
        g = gguf_of(model), g.add_bos = 1;
        expect_gguf(&g, TSR_E_FORMAT, "a bos token is to be added");
    }
    tsri_text_tokenizer *read = NULL;
    g = gguf_of("gpt2"), g.pre = "gpt-4o";
    cr_assert_eq(tsri_text_from_gguf(&g, &read), TSR_OK, "%s", tsr_error_last());
    tsri_text_tokenizer_destroy(&read);
    g.pre = "novel";
    expect_gguf(&g, TSR_E_UNSUPPORTED, "pre \"novel\"");
    g = gguf_of("gpt2"), g.merges = NULL;
    expect_gguf(&g, TSR_E_FORMAT, "merges is missing");
    g = gguf_of("gpt2"), g.merges = &joined;
    expect_gguf(&g, TSR_E_FORMAT, "number 0 is \"ab\"");
    g = gguf_of("gpt2"), g.merges = &absent;
    expect_gguf(&g, TSR_E_FORMAT, "joins \"c\"");
    g = gguf_of("gpt2"), g.tokens = &broken, g.token_count = g.score_count = g.type_count = 1;
    expect_gguf(&g, TSR_E_FORMAT, "id 0 is not UTF-8");
    g = gguf_of("llama"), g.scores = NULL;
    expect_gguf(&g, TSR_E_FORMAT, "scores has 0 entries");
    g = gguf_of("llama"), g.scores = infinite;
    expect_gguf(&g, TSR_E_FORMAT, "score of id 1 is not finite");
    g = gguf_of("llama"), g.types = kinds;
    expect_gguf(&g, TSR_E_FORMAT, "type of id 1 is 99");
    g = gguf_of("llama"), g.types = bytes;
    expect_gguf(&g, TSR_E_FORMAT, "\"b\" (id 1) has type byte");
}

/* Special tokens that the vocabulary doesn't have are those of no role, as in llama.cpp. */
Test(text, gguf_ids_outside_the_vocabulary_are_left_out) {
    static const char *const models[] = {"llama", "gpt2", "t5", "bert"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        tsri_text_tokenizer *t = NULL;
        tsri_text_ids ids = {0};
        tsri_text_gguf g = gguf_of(models[i]);
        g.padding = 3, g.unknown = g.mask = INT64_C(32000), g.cls = g.sep = UINT32_MAX;
        g.bos = g.eos = 5;
        cr_assert_eq(tsri_text_from_gguf(&g, &t), TSR_OK, "%s: %s", models[i], tsr_error_last());
        for (int role = 0; role < TSRI_TEXT_ROLES; role++)
            cr_expect_eq(tsri_text_role_id(t, (tsri_text_role)role), -1, "%s, %d", models[i], role);
        cr_assert_eq(tsri_text_encode(t, "", 0, TSRI_TEXT_ADD_SPECIAL, &ids), TSR_OK);
        cr_expect_eq(ids.count, 0, "%s", models[i]);
        tsri_text_ids_clear(&ids);
        tsri_text_tokenizer_destroy(&t);
    }
}

Test(text, a_pattern_past_its_limit_is_an_error) {
    static const char file[] = BPE(AB, "[]",
                                   ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":"
                                   "\"(a+a+)+b|c\"},\"behavior\":\"Isolated\"}");
    tsri_text_tokenizer *t = NULL;
    tsri_text_ids ids = {0};
    char text[64];
    memset(text, 'a', sizeof text);
    cr_assert_eq(tsri_text_from_json_text(file, sizeof file - 1, "tokenizer.json", &t), TSR_OK,
                 "%s", tsri_base_reported());
    cr_expect_eq(tsri_text_encode(t, text, sizeof text, 0, &ids), TSR_E_FORMAT);
    cr_expect_not_null(strstr(tsri_base_reported(), "gave up at byte 0 of 64"), "%s",
                       tsri_base_reported());
    cr_expect_eq(ids.count, 0);
    tsri_text_tokenizer_destroy(&t);
    tsri_text_ids_clear(&ids);
}

Test(text, a_word_without_an_unknown_token_is_an_error) {
    static const char file[] =
        "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"?\"}}";
    tsri_text_tokenizer *t = NULL;
    tsri_text_ids ids = {0};
    cr_assert_eq(tsri_text_from_json_text(file, sizeof file - 1, "tokenizer.json", &t), TSR_OK);
    cr_expect_eq(tsri_text_encode(t, "a", 1, 0, &ids), TSR_OK);
    cr_expect_eq(tsri_text_encode(t, "b", 1, 0, &ids), TSR_E_FORMAT);
    cr_expect_eq(ids.count, 1, "a failed call appends nothing");
    tsri_text_tokenizer_destroy(&t);
    tsri_text_ids_clear(&ids);
}
