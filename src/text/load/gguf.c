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
    const char *patterns[4];
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
