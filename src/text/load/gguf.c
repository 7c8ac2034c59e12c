/* text/load/gguf.c - the vocabulary in a GGUF file, as arrays. What GGUF leaves to the program that
 * reads it (split patterns, where a space is added) follows llama.cpp. */
#include "base/error.h"
#include "base/memory.h"
#include "text/base/patterns.h"
#include "text/load/load.h"
#include "text/load/pieces.h"

#include <stdlib.h>
#include <string.h>

/* The split patterns that a name in tokenizer.ggml.pre stands for, applied one after the other. */
typedef struct pre_row {
    const char *name;
    const char *patterns[6];
    bool ignore_merges;
} pre_row;

static const char default_marks[] = "[\\p{P}\\$\\+<=>\\^~\\|]+", numbers[] = "\\p{N}+",
                  three_digits[] = "[0-9][0-9][0-9]", one_number[] = "\\p{N}";

/* Of o200k_base: a word may begin with capitals, and ends where they begin again. */
#define WORD(capitals, others)                                            \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]" capitals \
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]" others "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
static const char o200k[] =
    WORD("*", "+") WORD("+", "*") "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|"
                                  "\\s+(?!\\S)|\\s+";
#undef WORD

/* Of DeepSeek: letters that have cases, as far as Unicode had them then; Chinese, Japanese and Korean. */
#define CASED                                                                                  \
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}"             \
    "\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}"     \
    "\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}"              \
    "\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}"                   \
    "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}"             \
    "\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}"             \
    "\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}"    \
    "\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}"     \
    "\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}"             \
    "\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}"              \
    "\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{" \
    "212D}"                                                                                    \
    "\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}"     \
    "\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}"     \
    "\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}"             \
    "\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}"             \
    "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}"         \
    "\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}"     \
    "\\x{1E900}-\\x{1E943}"
static const char line_ends[] = "[\\r\\n]", cased_words[] = "\\s?[" CASED "]+",
                  marks[] = "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}"
                            "\\x{3000}-\\x{3002}]+",
                  last_spaces[] = "\\s+$", words[] = "\\s?\\p{L}+", punctuation[] = "\\s?\\p{P}+",
                  far_east[] = "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+",
                  to_three_numbers[] = "\\p{N}{1,3}",
                  chinese_and_kana[] =
                      "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+",
                  deepseek_v3[] =
                      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
                      "[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|"
                      "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
#undef CASED

static const pre_row pre_rows[] = {
    {"default", {default_marks, tsri_text_pattern_gpt2, numbers, three_digits}, false},
    {"gpt-2", {tsri_text_pattern_gpt2}, false},
    {"phi-2", {tsri_text_pattern_gpt2}, false},
    {"mpt", {tsri_text_pattern_gpt2}, false},
    {"olmo", {tsri_text_pattern_gpt2}, false},
    {"starcoder", {one_number, tsri_text_pattern_gpt2}, false},
    {"refact", {one_number, tsri_text_pattern_gpt2}, false},
    {"command-r", {one_number, tsri_text_pattern_gpt2}, false},
    {"smollm", {one_number, tsri_text_pattern_gpt2}, false},
    {"codeshell", {one_number, tsri_text_pattern_gpt2}, false},
    {"llama3", {tsri_text_pattern_llama3}, true},
    {"llama-v3", {tsri_text_pattern_llama3}, true},
    {"llama-bpe", {tsri_text_pattern_llama3}, true},
    {"dbrx", {tsri_text_pattern_llama3}, false},
    {"smaug-bpe", {tsri_text_pattern_llama3}, false},
    {"qwen2", {tsri_text_pattern_qwen2}, false},
    {"deepseek-r1-qwen", {tsri_text_pattern_qwen2}, false},
    {"stablelm2", {tsri_text_pattern_qwen2}, false},
    {"gpt-4o", {o200k}, false},
    {"deepseek-llm", {line_ends, cased_words, marks, last_spaces, far_east, numbers}, false},
    {"deepseek-coder", {line_ends, words, punctuation, far_east, one_number}, false},
    {"deepseek-v3", {to_three_numbers, chinese_and_kana, deepseek_v3}, false},
};

static tsr_status check_arrays(const tsri_text_gguf *g, bool scores, bool merges) {
    if (g->token_count == 0 || g->token_count > TSRI_TEXT_IDS_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT,
                              "tokenizer.ggml.tokens has %zu pieces; 1 to %d are read",
                              g->token_count, TSRI_TEXT_IDS_LIMIT);
    if (g->scores ? g->score_count != g->token_count : scores)
        return tsri_base_fail(TSR_E_FORMAT, "tokenizer.ggml.scores has %zu entries for %zu pieces",
                              g->scores ? g->score_count : 0, g->token_count);
    if (g->types && g->type_count != g->token_count)
        return tsri_base_fail(TSR_E_FORMAT,
                              "tokenizer.ggml.token_type has %zu entries for %zu pieces",
                              g->type_count, g->token_count);
    if (merges && !g->merges)
        return tsri_base_fail(TSR_E_FORMAT, "tokenizer.ggml.merges is missing");
    return TSR_OK;
}

static tsr_status set_roles(const tsri_text_gguf *g, bool add_bos, tsri_text_tokenizer *t) {
    const int64_t ids[TSRI_TEXT_ROLES] = {g->bos,  g->eos, g->unknown, g->padding,
                                          g->mask, g->cls, g->sep};
    for (int role = 0; role < TSRI_TEXT_ROLES; role++)
        if (ids[role] >= 0)
            TRY(tsri_text_set_role(t, (tsri_text_role)role, ids[role]));
    const bool bos = g->add_bos < 0 ? add_bos && g->bos >= 0 : g->add_bos;
    return tsri_text_set_affixes(t, bos, g->add_eos > 0);
}

static tsr_status load_llama(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    tsri_text_scored *pieces = NULL;
    TRY(check_arrays(g, true, false));
    TRY(tsri_base_new(g->token_count, sizeof *pieces, &pieces));
    for (size_t i = 0; i < g->token_count; i++) {
        const int32_t type = g->types ? g->types[i] : TSRI_TEXT_NORMAL;
        pieces[i] = (tsri_text_scored){g->tokens[i].text, g->tokens[i].size, g->scores[i],
                                       type < 0 || type > 255 ? 0 : (uint8_t)type};
    }
    const tsri_text_scored_rules rules = {
        .spaces = {.add_prefix = g->add_space_prefix != 0, .escape = true},
        .space = "\xE2\x96\x81",
        .duplicates = true,
        .unknown = g->unknown >= 0 && g->unknown < TSRI_TEXT_IDS_LIMIT ? (int32_t)g->unknown : -1};
    const tsr_status status = tsri_text_load_scored(pieces, g->token_count, &rules, t);
    free(pieces);
    TRY(status);
    return set_roles(g, true, t);
}

static tsr_status load_tokens(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    for (size_t i = 0; i < g->token_count; i++) {
        const tsri_text_piece piece = g->tokens[i];
        const int32_t type = g->types ? g->types[i] : TSRI_TEXT_NORMAL;
        TRY(tsri_text_vocabulary_put(&t->vocabulary, (int64_t)i, piece.text, piece.size, true));
        if (type != TSRI_TEXT_CONTROL && type != TSRI_TEXT_USER_DEFINED &&
            type != TSRI_TEXT_UNKNOWN)
            continue;
        const tsri_text_added_token token = {.id = (int32_t)i,
                                             .special = type != TSRI_TEXT_USER_DEFINED};
        TRY(tsri_text_added_put(&t->added, &token, piece.text, piece.size, NULL));
        if (token.special)
            TRY(tsri_text_mark_special(t, token.id));
    }
    return TSR_OK;
}

static tsr_status load_merges(const tsri_text_gguf *g, const pre_row *pre, tsri_text_tokenizer *t) {
    const tsri_text_bpe_options options = {.unknown = -1, .ignore_merges = pre->ignore_merges};
    t->row = &tsri_text_bpe;
    TRY(tsri_text_bpe_new(&options, &t->vocabulary, &t->model));
    for (size_t i = 0; i < g->merge_count; i++) {
        const tsri_text_piece merge = g->merges[i];
        /* A piece may begin with the separator, so the search starts at the second byte. */
        const char *space = merge.size > 1 ? memchr(merge.text + 1, ' ', merge.size - 1) : NULL;
        if (!space)
            return tsri_base_fail(
                TSR_E_FORMAT,
                "tokenizer.ggml.merges: number %zu is \"%.*s\"; two pieces are needed", i,
                (int)(merge.size < 60 ? merge.size : 60), merge.text);
        const size_t left = (size_t)(space - merge.text);
        TRY(tsri_text_bpe_add(t->model, &t->vocabulary, merge.text, left, space + 1,
                              merge.size - left - 1));
    }
    return TSR_OK;
}

static tsr_status load_gpt2(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    const char *name = g->pre ? g->pre : "default";
    const pre_row *pre = NULL;
    for (size_t i = 0; i < sizeof pre_rows / sizeof *pre_rows; i++)
        if (strcmp(pre_rows[i].name, name) == 0)
            pre = &pre_rows[i];
    if (!pre)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "tokenizer.ggml.pre \"%s\" is not supported",
                              name);
    size_t count = 0;
    while (count < sizeof pre->patterns / sizeof *pre->patterns && pre->patterns[count])
        count++;
    TRY(check_arrays(g, false, true));
    TRY(load_tokens(g, t));
    TRY(load_merges(g, pre, t));
    TRY(tsri_text_pre_tokenizer_patterns(pre->patterns, count, &t->pre_tokenizer));
    TRY(tsri_text_decoder_bytes(&t->decoder));
    return set_roles(g, pre->ignore_merges, t); /* Llama 3's files leave bos to be known */
}

/* "▁" stands before pieces that begin a word; control pieces are written as they are. llama.cpp
 * lowercases every text. */
static tsr_status load_bert(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    static const tsri_text_bert_rules rules = {true, true, true, true};
    const int64_t cls = g->cls < 0 ? g->bos : g->cls, sep = g->sep < 0 ? g->eos : g->sep;
    const tsri_text_word_piece_options options = {
        .unknown = g->unknown < TSRI_TEXT_IDS_LIMIT ? (int32_t)g->unknown : -1,
        .longest_word = INT64_MAX,
        .first_prefix = "\xE2\x96\x81"};
    TRY(check_arrays(g, false, false));
    TRY(load_tokens(g, t));
    TRY(tsri_base_new(g->token_count, sizeof *t->types, &t->types));
    t->type_count = g->token_count;
    for (size_t i = 0; i < g->token_count; i++)
        t->types[i] = tsri_text_is_special(t, (int32_t)i) ? TSRI_TEXT_CONTROL : TSRI_TEXT_NORMAL;
    t->row = &tsri_text_word_piece;
    TRY(tsri_text_word_piece_new(&options, &t->vocabulary, &t->model));
    TRY(tsri_text_normalizer_bert(&rules, &t->normalizer));
    TRY(tsri_text_pre_tokenizer_bert(&t->pre_tokenizer));
    TRY(tsri_text_decoder_word_piece(options.first_prefix, true, true, &t->decoder));
    TRY(set_roles(g, false, t));
    if (cls >= 0)
        TRY(tsri_text_set_role(t, TSRI_TEXT_CLS, cls));
    if (sep >= 0)
        TRY(tsri_text_set_role(t, TSRI_TEXT_SEP, sep));
    return cls < 0 || sep < 0 ? TSR_OK : tsri_text_post_bert((int32_t)cls, (int32_t)sep, &t->post);
}

static const struct {
    const char *model;
    tsr_status (*load)(const tsri_text_gguf *gguf, tsri_text_tokenizer *t);
} models[] = {{"llama", load_llama}, {"gpt2", load_gpt2}, {"bert", load_bert}};

static tsr_status load(const tsri_text_gguf *gguf, tsri_text_tokenizer *t) {
    const char *model = gguf->model ? gguf->model : "";
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].model, model) == 0)
            return models[i].load(gguf, t);
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "tokenizer.ggml.model \"%s\" is not supported; llama, gpt2 and bert are",
                          model);
}

const tsri_text_gguf tsri_text_gguf_unstated = {.bos = -1,
                                                .eos = -1,
                                                .unknown = -1,
                                                .padding = -1,
                                                .mask = -1,
                                                .cls = -1,
                                                .sep = -1,
                                                .add_bos = -1,
                                                .add_eos = -1,
                                                .add_space_prefix = -1};

tsr_status tsri_text_from_gguf(const tsri_text_gguf *gguf, tsri_text_tokenizer **out) {
    *out = NULL;
    TRY(tsri_text_tokenizer_new("GGUF", out));
    const tsr_status status = load(gguf, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    return status;
}
