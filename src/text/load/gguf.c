/* text/load/gguf.c - the vocabulary in a GGUF file, as arrays. What GGUF leaves to the program that
 * reads it (split patterns, where a space is added) follows llama.cpp. */
#include "base/error.h"
#include "base/memory.h"
#include "text/load/gguf_pre.h"
#include "text/load/load.h"
#include "text/load/pieces.h"

#include <stdlib.h>
#include <string.h>

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

/* What is added where the file does not say: as llama.cpp does. */
static tsr_status set_roles(const tsri_text_gguf *g, bool add_bos, bool add_eos,
                            tsri_text_tokenizer *t) {
    const int64_t ids[TSRI_TEXT_ROLES] = {g->bos,  g->eos, g->unknown, g->padding,
                                          g->mask, g->cls, g->sep};
    for (int role = 0; role < TSRI_TEXT_ROLES; role++)
        if (ids[role] >= 0)
            TRY(tsri_text_set_role(t, (tsri_text_role)role, ids[role]));
    const bool bos = g->add_bos < 0 ? add_bos && g->bos >= 0 : g->add_bos,
               eos = g->add_eos < 0 ? add_eos && g->eos >= 0 : g->add_eos;
    TRY(tsri_text_set_affixes(t, bos, eos)); /* the tokens are there */
    return tsri_text_post_joined(bos ? t->roles[TSRI_TEXT_BOS] : -1,
                                 eos ? t->roles[TSRI_TEXT_EOS] : -1,
                                 g->add_sep > 0 ? t->roles[TSRI_TEXT_SEP] : -1, &t->post);
}

static tsr_status load_scored(const tsri_text_gguf *g, bool unigram, tsri_text_charsmap **map,
                              tsri_text_tokenizer *t) {
    tsri_text_scored *pieces = NULL;
    TRY(check_arrays(g, true, false));
    TRY(tsri_base_new(g->token_count, sizeof *pieces, &pieces));
    for (size_t i = 0; i < g->token_count; i++) {
        const int32_t type = g->types ? g->types[i] : TSRI_TEXT_NORMAL;
        pieces[i] = (tsri_text_scored){g->tokens[i].text, g->tokens[i].size, g->scores[i],
                                       type < 0 || type > 255 ? 0 : (uint8_t)type};
    }
    const tsri_text_scored_rules rules = {.spaces = {.add_prefix = g->add_space_prefix != 0,
                                                     .remove_extra = g->remove_extra_spaces > 0,
                                                     .escape = true},
                                          .space = "\xE2\x96\x81",
                                          .duplicates = true,
                                          .unigram = unigram,
                                          .map = map,
                                          .unknown = (int32_t)g->unknown};
    const tsr_status status = tsri_text_load_scored(pieces, g->token_count, &rules, t);
    free(pieces);
    return status;
}

static tsr_status load_llama(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    TRY(load_scored(g, false, NULL, t));
    return set_roles(g, true, false, t);
}

static tsr_status load_t5(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    tsri_text_charsmap *map = NULL;
    if (g->charsmap_size)
        TRY(tsri_text_charsmap_new(g->charsmap, g->charsmap_size, &map));
    const tsr_status status = load_scored(g, true, &map, t);
    tsri_text_charsmap_destroy(&map);
    TRY(status);
    return set_roles(g, false, true, t);
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

static tsr_status load_merges(const tsri_text_gguf *g, const tsri_text_gguf_pre *pre,
                              tsri_text_tokenizer *t) {
    const tsri_text_bpe_options options = {.unknown = -1,
                                           .ignore_merges = pre->ignore_merges,
                                           .byte_fallback = pre->characters || pre->words};
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

/* Takes the parts of a tokenizer.json: "cut", "decoder" and, if wanted, "normalizer". Frees them. */
static tsr_status load_parts(json_t *parts, bool normalizes, tsri_text_tokenizer *t) {
    tsr_status status = tsri_base_json_made(parts, "tokenizer.ggml");
    if (status == TSR_OK && normalizes)
        status = tsri_text_normalizer_load(json_object_get(parts, "normalizer"), &t->normalizer);
    if (status == TSR_OK)
        status = tsri_text_pre_tokenizer_load(json_object_get(parts, "cut"), &t->pre_tokenizer);
    if (status == TSR_OK)
        status = tsri_text_decoder_load(json_object_get(parts, "decoder"), &t->decoder);
    json_decref(parts);
    return status;
}

/* Pieces of characters, as SentencePiece has them, that are merged in byte-pair encoding's way. */
static tsr_status cut_characters(const tsri_text_gguf_pre *pre, tsri_text_tokenizer *t) {
    static const char space[] = "\xE2\x96\x81";
    json_t *parts = json_pack(
        "{s:{s:s,s:{s:s},s:s},s:{s:s,s:{s:s},s:s,s:b},s:{s:s,s:[{s:s,s:{s:s},s:s},{s:s},{s:s}]}}",
        "normalizer", "type", "Replace", "pattern", "String", " ", "content", space, "cut", "type",
        "Split", "pattern", "Regex", pre->patterns[0], "behavior", "Isolated", "invert", 0,
        "decoder", "type", "Sequence", "decoders", "type", "Replace", "pattern", "String", space,
        "content", " ", "type", "ByteFallback", "type", "Fuse");
    return load_parts(parts, true, t);
}

/* Words between white space, in small letters where the file says so. */
static tsr_status cut_words(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    json_t *parts = json_pack("{s:{s:s},s:{s:s},s:{s:s,s:[{s:s},{s:s}]}}", "normalizer", "type",
                              "Lowercase", "cut", "type", "WhitespaceSplit", "decoder", "type",
                              "Sequence", "decoders", "type", "ByteFallback", "type", "Fuse");
    return load_parts(parts, g->lowercase > 0, t);
}

static tsr_status cut_bytes(const tsri_text_gguf_pre *pre, tsri_text_tokenizer *t) {
    size_t count = 0;
    while (count < TSRI_TEXT_GGUF_PATTERNS && pre->patterns[count])
        count++;
    TRY(tsri_text_pre_tokenizer_patterns(pre->patterns, count, &t->pre_tokenizer));
    return tsri_text_decoder_bytes(&t->decoder);
}

static tsr_status load_bpe(const tsri_text_gguf *g, const char *name, tsri_text_tokenizer *t) {
    const tsri_text_gguf_pre *pre;
    tsri_text_gguf own = *g;
    TRY(tsri_text_gguf_pre_of(name, &pre));
    TRY(check_arrays(g, false, true));
    TRY(load_tokens(g, t));
    TRY(load_merges(g, pre, t));
    TRY(pre->words        ? cut_words(g, t)
        : pre->characters ? cut_characters(pre, t)
                          : cut_bytes(pre, t));
    own.add_sep = g->add_sep < 0 ? pre->add_sep : g->add_sep;
    return set_roles(&own, pre->add_bos, false, t); /* Llama 3's files leave bos to be known */
}

static tsr_status load_gpt2(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    return load_bpe(g, g->pre ? g->pre : "default", t);
}

static tsr_status load_gemma4(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    return load_bpe(g, "gemma4", t);
}

static tsr_status load_whitespace(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    if (g->pre && strcmp(g->pre, "whitespace") != 0)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "tokenizer.ggml.pre \"%.60s\" is not supported with "
                              "tokenizer.ggml.model \"whitespace\"; whitespace is",
                              g->pre);
    return load_bpe(g, "whitespace", t);
}

/* "▁" stands before pieces that begin a word; control pieces are written as they are. Where the file does not say
 * otherwise, texts are lowercased and lose their accents, as llama.cpp does it. */
static tsr_status load_bert(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    const bool lowercase = g->lowercase != 0;
    const tsri_text_bert_rules rules = {.clean = true,
                                        .chinese = true,
                                        .lowercase = lowercase,
                                        .strip_accents =
                                            g->strip_accents < 0 ? lowercase : g->strip_accents};
    const int64_t cls = g->cls < 0 ? g->bos : g->cls, sep = g->sep < 0 ? g->eos : g->sep;
    const tsri_text_word_piece_options options = {
        .unknown = (int32_t)g->unknown, .longest_word = INT64_MAX, .first_prefix = "\xE2\x96\x81"};
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
    TRY(set_roles(g, false, false, t));
    if (cls >= 0)
        TRY(tsri_text_set_role(t, TSRI_TEXT_CLS, cls));
    if (sep >= 0)
        TRY(tsri_text_set_role(t, TSRI_TEXT_SEP, sep));
    return cls < 0 || sep < 0 ? TSR_OK : tsri_text_post_bert((int32_t)cls, (int32_t)sep, &t->post);
}

static const struct {
    const char *model;
    tsr_status (*load)(const tsri_text_gguf *gguf, tsri_text_tokenizer *t);
} models[] = {{"llama", load_llama}, {"t5", load_t5},         {"gpt2", load_gpt2},
              {"bert", load_bert},   {"gemma4", load_gemma4}, {"whitespace", load_whitespace}};

/* Which tokens take the white space beside them: files don't say it, llama.cpp knows it by the names of models. A token
 * takes what is before it; where the row names none, all but the plain ones take what is behind them. */
typedef struct strip {
    enum { PRE, ARCHITECTURE, NAME } key;
    const char *part; /* of the key's value, in letters of any case */
    const char *token;
} strip;

static const strip strips[] = {{PRE, "jina-v2-de", "<mask>"},
                               {PRE, "jina-v2-es", "<mask>"},
                               {PRE, "jina-v2-code", "<mask>"},
                               {ARCHITECTURE, "nomic-bert-moe", "<mask>"},
                               {ARCHITECTURE, "jina-bert-v3", "<mask>"},
                               {NAME, "phi-3", NULL},
                               {NAME, "phi3", NULL},
                               {NAME, "modern-bert", "[MASK]"}};

/* The first row that is the model's; NULL: no token takes white space. */
static const strip *strip_of(const tsri_text_gguf *g) {
    const char *const values[] = {
        [PRE] = g->pre, [ARCHITECTURE] = g->architecture, [NAME] = g->name};
    for (size_t i = 0; i < sizeof strips / sizeof *strips; i++) {
        const char *value = values[strips[i].key];
        if (value && strcasestr(value, strips[i].part))
            return &strips[i];
    }
    return NULL;
}

static bool is_one_of(const char *piece, size_t n, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == n && memcmp(names[i], piece, n) == 0)
            return true;
    return false;
}

static void set_strips(const tsri_text_gguf *g, tsri_text_tokenizer *t) {
    static const char *const plain[] = {"<unk>", "<s>", "<|endoftext|>"};
    const strip *row = strip_of(g);
    for (size_t i = 0; row && i < t->added.count; i++) {
        tsri_text_added_token *token = &t->added.tokens[i];
        size_t n;
        const char *piece = tsri_text_vocabulary_piece(&t->vocabulary, token->id, &n);
        if (row->token)
            token->lstrip = is_one_of(piece, n, &row->token, 1);
        else
            token->rstrip = !is_one_of(piece, n, plain, sizeof plain / sizeof *plain);
    }
}

static tsr_status load(const tsri_text_gguf *gguf, tsri_text_tokenizer *t) {
    const char *model = gguf->model ? gguf->model : "";
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].model, model) == 0) {
            TRY(models[i].load(gguf, t));
            set_strips(gguf, t);
            return TSR_OK;
        }
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "tokenizer.ggml.model \"%s\" is not supported; llama, t5, gpt2, gemma4, "
                          "whitespace and bert "
                          "are",
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
                                                .add_sep = -1,
                                                .add_space_prefix = -1,
                                                .remove_extra_spaces = -1,
                                                .lowercase = -1,
                                                .strip_accents = -1};

/* llama.cpp warns of a special token that the vocabulary doesn't have, and goes on without it. */
static void drop_absent(tsri_text_gguf *g) {
    int64_t *const ids[] = {&g->bos, &g->eos, &g->unknown, &g->padding, &g->mask, &g->cls, &g->sep};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (*ids[i] >= (int64_t)g->token_count)
            *ids[i] = -1;
}

tsr_status tsri_text_from_gguf(const tsri_text_gguf *gguf, tsri_text_tokenizer **out) {
    tsri_text_gguf own = *gguf;
    *out = NULL;
    drop_absent(&own);
    TRY(tsri_text_tokenizer_new("GGUF", out));
    const tsr_status status = load(&own, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    return status;
}
