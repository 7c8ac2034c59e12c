/* model/tokens/families.c - reads the tokenizers whose files don't say everything: ids, added
 * tokens and languages come from a table of families. */
#include "model/tokens/families.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "text/load/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30, DEPTH = 64, EXTRA_MOST = 10000, VOCABULARY_MOST = 1 << 24 };

/* END: text </s>. AROUND: <s> text </s>, pairs as in RoBERTa. BERT: [CLS] text [SEP], pairs as in BERT, whose
 * names the other special tokens have, too */
typedef enum affixes { END, AROUND, BERT } affixes;

struct tsri_model_family {
    const char *model_type; /* config.json */
    const char *classes[2]; /* tokenizer_class without "Fast" */
    const char *head;       /* tokens before SentencePiece's own, separated by spaces */
    int32_t skip;           /* this many of SentencePiece's own are left out */
    bool fillers;           /* <unk_2> ... <unk_102> after the head (Pegasus) */
    bool listed;            /* ids are in vocab.json instead */
    int64_t extra;          /* <extra_id_N-1> ... <extra_id_0> at the end (T5) */
    const char *last;       /* after the languages */
    affixes around;
    tsri_text_language_rule rule;
    const char *codes, *before, *behind; /* a language's token is before + code + behind */
    const char *from;                    /* the language of a text if nothing else says it */
};

#define FAIRSEQ .head = "<s> <pad> </s> <unk>", .skip = 3, .last = "<mask>"

static const tsri_model_family families[] = {
    {"mbart",
     {"MBart50Tokenizer"},
     FAIRSEQ,
     .rule = TSRI_TEXT_CODE_FIRST,
     .codes = tsri_model_codes_mbart50,
     .from = "en_XX"},
    {"mbart",
     {"MBartTokenizer"},
     FAIRSEQ,
     .rule = TSRI_TEXT_CODE_LAST,
     .codes = tsri_model_codes_mbart,
     .from = "en_XX"},
    {"nllb",
     {"NllbTokenizer"},
     FAIRSEQ,
     .rule = TSRI_TEXT_CODE_FIRST,
     .codes = tsri_model_codes_nllb,
     .from = "eng_Latn"},
    {"m2m_100",
     {"M2M100Tokenizer"},
     .listed = true,
     .rule = TSRI_TEXT_CODE_FIRST,
     .codes = tsri_model_codes_m2m_100,
     .before = "__",
     .behind = "__",
     .from = "en"},
    {"xlm-roberta", {"XLMRobertaTokenizer"}, FAIRSEQ, .around = AROUND},
    {"deberta-v2", {"DebertaV2Tokenizer"}, .last = "[MASK]", .around = BERT},
    {"t5", {"T5Tokenizer"}, .extra = 100},
    {"mt5", {"MT5Tokenizer"}, .extra = 0},
    {"pegasus",
     {"PegasusTokenizer"},
     .head = "<pad> </s> <mask_1> <mask_2>",
     .skip = 2,
     .fillers = true},
    {"marian",
     {"MarianTokenizer"},
     .rule = TSRI_TEXT_CODE_OF_TARGET,
     .before = ">>",
     .behind = "<<"},
};

const tsri_model_family *tsri_model_family_of(const tsri_model_place *place) {
    const char *class = json_string_value(json_object_get(place->config, "tokenizer_class"));
    const char *type = json_string_value(json_object_get(place->model_config, "model_type"));
    const size_t n = class ? strlen(class) : 0;
    const size_t size = n > 4 && strcmp(class + n - 4, "Fast") == 0 ? n - 4 : n;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (size_t k = 0; k < 2 && class; k++)
            if (families[i].classes[k] && strlen(families[i].classes[k]) == size &&
                memcmp(families[i].classes[k], class, size) == 0)
                return &families[i];
    /* mBART-50 has 27 languages more than mBART-25, but the same type. */
    const int64_t rows = json_integer_value(json_object_get(place->model_config, "vocab_size"));
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (type && strcmp(families[i].model_type, type) == 0 &&
            (families[i].codes != tsri_model_codes_mbart50 || rows > 250027))
            return &families[i];
    return NULL;
}

bool tsri_model_family_in_python(const tsri_model_family *family) {
    return family && (family->listed || family->rule == TSRI_TEXT_CODE_OF_TARGET);
}

/* ---- lists of pieces ---- */

typedef struct list {
    tsri_text_piece *pieces;
    size_t count, capacity;
    int32_t *specials;
    size_t special_count, special_capacity;
    char **owned;
    size_t owned_count, owned_capacity;
} list;

static void list_clear(list *l) {
    for (size_t i = 0; i < l->owned_count; i++)
        free(l->owned[i]);
    free(l->owned);
    free(l->pieces);
    free(l->specials);
    *l = (list){0};
}

static tsr_status list_special(list *l, size_t id) {
    TRY(tsri_base_grow(&l->specials, &l->special_capacity, l->special_count + 1,
                       sizeof *l->specials));
    l->specials[l->special_count++] = (int32_t)id;
    return TSR_OK;
}

static tsr_status list_set(list *l, size_t id, const char *text, size_t n) {
    TRY(tsri_base_grow(&l->pieces, &l->capacity, id + 1, sizeof *l->pieces));
    l->pieces[id] = (tsri_text_piece){text, n};
    l->count = id + 1 > l->count ? id + 1 : l->count;
    return TSR_OK;
}

/* Adds a special token, a text of n bytes between two others, in its own memory. */
static tsr_status list_add(list *l, const char *before, const char *text, size_t n,
                           const char *behind) {
    tsri_bytes name = {0};
    tsr_status status = tsri_base_bytes_printf(&name, "%s%.*s%s", before ? before : "", (int)n,
                                               text, behind ? behind : "");
    if (status == TSR_OK)
        status =
            tsri_base_grow(&l->owned, &l->owned_capacity, l->owned_count + 1, sizeof *l->owned);
    if (status != TSR_OK) {
        tsri_base_bytes_clear(&name);
        return status;
    }
    l->owned[l->owned_count++] = name.data;
    TRY(list_special(l, l->count));
    return list_set(l, l->count, name.data, name.size);
}

/* The size of the next word of a text with single spaces; 0 at its end. */
static size_t word_of(const char **text) {
    while (**text == ' ')
        (*text)++;
    return strcspn(*text, " ");
}

static tsr_status list_words(list *l, const char *words, const char *before, const char *behind) {
    for (size_t n; words && (n = word_of(&words)) > 0; words += n)
        TRY(list_add(l, before, words, n, behind));
    return TSR_OK;
}

/* Adds the pieces of {piece: id}; `what` is the file. */
static tsr_status list_json(list *l, const json_t *json, const char *what) {
    const char *piece;
    json_t *id;
    if (!json_is_object(json))
        return tsri_base_fail(TSR_E_FORMAT, "%s: an object of pieces and ids was expected", what);
    const int64_t most = 4 * (int64_t)json_object_size(json) + 65536;
    json_object_foreach((json_t *)json, piece, id) {
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= most ||
            json_integer_value(id) >= VOCABULARY_MOST)
            return tsri_base_fail(
                TSR_E_FORMAT,
                "%s: the id of \"%.60s\" is not a whole number from 0 up that fits %zu pieces",
                what, piece, json_object_size(json));
        const size_t at = (size_t)json_integer_value(id);
        if (at < l->count && l->pieces[at].size)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: id %zu is given twice, the second time to \"%.60s\"", what,
                                  at, piece);
        TRY(list_set(l, at, piece, strlen(piece)));
    }
    return TSR_OK;
}

static int32_t list_find(const list *l, const char *piece) {
    for (size_t i = 0; i < l->count; i++)
        if (l->pieces[i].size == strlen(piece) &&
            memcmp(l->pieces[i].text, piece, l->pieces[i].size) == 0)
            return (int32_t)i;
    return -1;
}

/* ---- readers ---- */

tsr_status tsri_model_read_sentencepiece(const char *path, tsri_text_tokenizer **out) {
    tsri_bytes bytes = {0};
    TRY(tsri_base_read_whole(path, MOST, &bytes));
    const tsr_status status = tsri_text_from_sentencepiece(bytes.data, bytes.size, out);
    tsri_base_bytes_clear(&bytes);
    return status == TSR_OK ? TSR_OK : tsri_base_fail_within(status, "%s", path);
}

static const char
    *const usual_names[TSRI_TEXT_ROLES] =
        {[TSRI_TEXT_BOS] = "<s>",   [TSRI_TEXT_EOS] = "</s>",    [TSRI_TEXT_UNK] = "<unk>",
         [TSRI_TEXT_PAD] = "<pad>", [TSRI_TEXT_MASK] = "<mask>", [TSRI_TEXT_CLS] = "<s>",
         [TSRI_TEXT_SEP] = "</s>"},
           *const bert_names[TSRI_TEXT_ROLES] = {
               [TSRI_TEXT_BOS] = "[CLS]", [TSRI_TEXT_EOS] = "[SEP]",   [TSRI_TEXT_UNK] = "[UNK]",
               [TSRI_TEXT_PAD] = "[PAD]", [TSRI_TEXT_MASK] = "[MASK]", [TSRI_TEXT_CLS] = "[CLS]",
               [TSRI_TEXT_SEP] = "[SEP]"};

tsr_status tsri_model_set_usual_roles(tsri_text_tokenizer *tokenizer, bool bert) {
    const char *const *names = bert ? bert_names : usual_names;
    for (int role = 0; role < TSRI_TEXT_ROLES; role++)
        TRY(tsri_text_set_role(tokenizer, (tsri_text_role)role,
                               tsri_text_id_of(tokenizer, names[role], strlen(names[role]))));
    return TSR_OK;
}

static tsr_status set_affixes(tsri_text_tokenizer *tokenizer, affixes around) {
    return around == AROUND ? tsri_text_set_roberta_affixes(tokenizer)
           : around == BERT ? tsri_text_set_bert_affixes(tokenizer)
                            : tsri_text_set_affixes(tokenizer, false, true);
}

/* Makes a listed tokenizer with the usual roles and the tokens around a text. */
static tsr_status make(const list *l, const char *source, affixes around, const char *path,
                       tsri_text_tokenizer **segmenter, tsri_text_tokenizer **out) {
    const char *const *names = around == BERT ? bert_names : usual_names;
    const tsri_text_listed listed = {.source = source,
                                     .pieces = l->pieces,
                                     .count = l->count,
                                     .specials = l->specials,
                                     .special_count = l->special_count,
                                     .unknown = list_find(l, names[TSRI_TEXT_UNK]),
                                     .mask = list_find(l, names[TSRI_TEXT_MASK]),
                                     .segmenter = segmenter};
    tsr_status status = TSR_OK;
    if (listed.unknown < 0 || list_find(l, names[TSRI_TEXT_EOS]) < 0)
        status = tsri_base_fail(TSR_E_FORMAT, "the vocabulary has no \"%s\"",
                                names[listed.unknown < 0 ? TSRI_TEXT_UNK : TSRI_TEXT_EOS]);
    if (status == TSR_OK)
        status = tsri_text_from_list(&listed, out);
    if (status == TSR_OK)
        status = tsri_model_set_usual_roles(*out, around == BERT);
    if (status == TSR_OK)
        status = set_affixes(*out, around);
    return status == TSR_OK ? TSR_OK : tsri_base_fail_within(status, "%s", path);
}

static const char *codes_of(const tsri_model_place *place) {
    const char *name = json_string_value(json_object_get(place->config, "language_codes"));
    return place->family->listed && name && strcmp(name, "wmt21") == 0 ? tsri_model_codes_wmt21
                                                                       : place->family->codes;
}

/* Lists the ids of a family: head, SentencePiece's own or vocab.json's, languages, and the last
 * token. */
static tsr_status fill(const tsri_model_place *place, const tsri_text_tokenizer *segmenter,
                       const json_t *vocabulary, const char *what, list *l) {
    const tsri_model_family *f = place->family;
    int64_t extra = f->extra;
    TRY(list_words(l, f->head, NULL, NULL));
    for (int i = 2; f->fillers && i <= 102; i++) {
        char name[16];
        TRY(list_add(l, NULL, name, (size_t)snprintf(name, sizeof name, "<unk_%d>", i), NULL));
    }
    const int32_t own = f->listed ? 0 : tsri_text_vocabulary_size(segmenter);
    const size_t first = f->fillers ? 105 : l->count;
    for (int32_t i = f->skip; i < own; i++) {
        size_t n;
        const char *piece = tsri_text_piece_of(segmenter, i, &n);
        if (piece && tsri_text_is_special(segmenter, i))
            TRY(list_special(l, first + (size_t)(i - f->skip)));
        if (piece)
            TRY(list_set(l, first + (size_t)(i - f->skip), piece, n));
    }
    if (f->listed)
        TRY(list_json(l, vocabulary, what));
    for (size_t i = 0; f->listed && i < 4; i++) {
        static const char *const names[] = {"<s>", "<pad>", "</s>", "<unk>"};
        const int32_t id = list_find(l, names[i]);
        if (id >= 0)
            TRY(list_special(l, (size_t)id));
    }
    TRY(tsri_base_json_int(place->config, place->config_path, "extra_ids", 0, EXTRA_MOST, &extra));
    for (int64_t i = extra; f->extra && i-- > 0;) {
        char name[32];
        TRY(list_add(l, NULL, name,
                     (size_t)snprintf(name, sizeof name, "<extra_id_%lld>", (long long)i), NULL));
    }
    TRY(list_words(l, codes_of(place), f->before, f->behind));
    return f->last && list_find(l, f->last) >= 0 ? TSR_OK : list_words(l, f->last, NULL, NULL);
}

static tsr_status load_beside(const tsri_model_place *place, const char *name, json_t **out) {
    char *path = tsri_base_join(place->folder, name);
    if (!path)
        return TSR_E_HOST_MEMORY;
    const tsr_status status =
        tsri_base_is_file(path)
            ? tsri_base_json_load(path, MOST, DEPTH, out)
            : tsri_base_fail(TSR_E_IO, "%s is missing; it has the ids of this tokenizer's pieces",
                             path);
    free(path);
    return status;
}

tsr_status tsri_model_read_pieces(const tsri_model_place *place, const char *path,
                                  tsri_text_tokenizer **out) {
    tsri_text_tokenizer *segmenter = NULL;
    json_t *vocabulary = NULL;
    list l = {0};
    if (!place->family || place->family->rule == TSRI_TEXT_CODE_OF_TARGET)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: the ids of its pieces depend on the model: tokenizer_class of "
            "tokenizer_config.json or model_type of config.json must name T5, "
            "MT5, Pegasus, XLM-R, DeBERTa, mBART, mBART-50, NLLB or M2M-100; or put a "
            "tokenizer.json beside it",
            path);
    tsr_status status = tsri_model_read_sentencepiece(path, &segmenter);
    if (status == TSR_OK && place->family->listed)
        status = load_beside(place, "vocab.json", &vocabulary);
    if (status == TSR_OK)
        status = fill(place, segmenter, vocabulary, "vocab.json", &l);
    if (status == TSR_OK)
        status = make(&l, "SentencePiece", place->family->around, path, &segmenter, out);
    tsri_text_tokenizer_destroy(&segmenter);
    json_decref(vocabulary);
    list_clear(&l);
    return status;
}

/* One side of a Marian model. */
static tsr_status read_side(const tsri_model_place *place, const char *model, const char *ids,
                            tsri_text_tokenizer **out) {
    static const char *const specials[] = {"</s>", "<unk>", "<pad>"};
    tsri_text_tokenizer *segmenter = NULL;
    json_t *vocabulary = NULL;
    list l = {0};
    char *path = tsri_base_join(place->folder, model);
    tsr_status status = path ? load_beside(place, ids, &vocabulary) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = list_json(&l, vocabulary, ids);
    if (status == TSR_OK)
        status = tsri_model_read_sentencepiece(path, &segmenter);
    for (size_t i = 0; i < 3 && status == TSR_OK; i++) {
        const int32_t id = list_find(&l, specials[i]);
        if (id >= 0)
            status = list_special(&l, (size_t)id);
    }
    if (status == TSR_OK)
        status = make(&l, "Marian", END, path, &segmenter, out);
    tsri_text_tokenizer_destroy(&segmenter);
    json_decref(vocabulary);
    list_clear(&l);
    free(path);
    return status;
}

tsr_status tsri_model_read_marian(const tsri_model_place *place, const char *path,
                                  tsri_text_tokenizer **out) {
    tsri_text_tokenizer *target = NULL;
    bool separate = false;
    (void)path;
    TRY(tsri_base_json_bool(place->config, place->config_path, "separate_vocabs", &separate));
    TRY(read_side(place, "source.spm", "vocab.json", out));
    const tsr_status status =
        read_side(place, "target.spm", separate ? "target_vocab.json" : "vocab.json", &target);
    if (status == TSR_OK)
        tsri_text_set_target(*out, &target);
    tsri_text_tokenizer_destroy(&target);
    return status;
}

/* ---- languages ---- */

/* Adds languages by the form of their tokens, for a family without a list of them. */
static tsr_status add_formed(const tsri_model_family *f, tsri_text_tokenizer *t) {
    const size_t nb = strlen(f->before), ne = strlen(f->behind);
    for (int32_t id = 0; id < tsri_text_vocabulary_size(t); id++) {
        size_t n;
        const char *piece = tsri_text_piece_of(t, id, &n);
        if (piece && n > nb + ne && memcmp(piece, f->before, nb) == 0 &&
            memcmp(piece + n - ne, f->behind, ne) == 0)
            TRY(tsri_text_add_language(t, piece + nb, n - nb - ne, id));
    }
    return TSR_OK;
}

/* The id of the next code's token; *n is the size of the code, 0 past the last. */
static int32_t next_code(const tsri_model_family *f, const tsri_text_tokenizer *t,
                         const char **codes, size_t *n) {
    char token[64];
    *n = word_of(codes);
    const int size = snprintf(token, sizeof token, "%s%.*s%s", f->before ? f->before : "", (int)*n,
                              *codes, f->behind ? f->behind : "");
    return *n ? tsri_text_id_of(t, token, (size_t)size) : -1;
}

/* Adds those languages of a list that the vocabulary has; *whole says whether it has all of
 * them. */
static tsr_status add_listed(const tsri_model_family *f, const char *codes, bool dry,
                             tsri_text_tokenizer *t, bool *whole) {
    *whole = true;
    for (size_t n;; codes += n) {
        const int32_t id = next_code(f, t, &codes, &n);
        if (n == 0)
            return TSR_OK;
        *whole &= id >= 0;
        if (id >= 0 && !dry)
            TRY(tsri_text_add_language(t, codes, n, id));
    }
}

tsr_status tsri_model_guess_languages(tsri_text_tokenizer *tokenizer) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const tsri_model_family *f = &families[i];
        bool whole = false;
        int32_t id;
        if (f->codes)
            TRY(add_listed(f, f->codes, true, tokenizer, &whole));
        if (whole)
            TRY(add_listed(f, f->codes, false, tokenizer, &whole));
        else if (f->rule == TSRI_TEXT_CODE_OF_TARGET)
            TRY(add_formed(f, tokenizer));
        if (!tsri_text_language(tokenizer, 0, &id))
            continue;
        tsri_text_set_language_rule(tokenizer, f->rule);
        return tsri_text_set_default_languages(tokenizer, f->from, NULL);
    }
    return TSR_OK;
}

/* config.json: "task_specific_params": {"translation_en_to_de": {"prefix": "translate ..."}}. */
static tsr_status add_prefixes(const tsri_model_place *place, tsri_text_tokenizer *t) {
    static const char name[] = "translation_";
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(place->model_config, "task_specific_params"), key, value) {
        const char *prefix = json_string_value(json_object_get(value, "prefix"));
        const char *to = strstr(key, "_to_");
        char from[32];
        if (!prefix || strncmp(key, name, sizeof name - 1) != 0 || !to ||
            (size_t)(to - key) < sizeof name || (size_t)(to - key) - sizeof name + 1 >= sizeof from)
            continue;
        snprintf(from, sizeof from, "%.*s", (int)((size_t)(to - key) - sizeof name + 1),
                 key + sizeof name - 1);
        TRY(tsri_text_add_pair(t, from, to + 4, prefix));
    }
    return TSR_OK;
}

static const char *config_text(const tsri_model_place *place, const char *key, const char *other) {
    const char *text = json_string_value(json_object_get(place->config, key));
    return text ? text : json_string_value(json_object_get(place->config, other));
}

tsr_status tsri_model_add_languages(const tsri_model_place *place, tsri_text_tokenizer *tokenizer) {
    const tsri_model_family *f = place->family;
    const char *from = config_text(place, "src_lang", "source_lang"),
               *to = config_text(place, "tgt_lang", "target_lang");
    bool legacy = false;
    int32_t id;
    TRY(add_prefixes(place, tokenizer));
    if (!f || f->rule == TSRI_TEXT_NO_CODES)
        return TSR_OK;
    bool whole;
    TRY(f->codes ? add_listed(f, codes_of(place), false, tokenizer, &whole)
                 : add_formed(f, tokenizer));
    const bool known = tsri_text_language(tokenizer, 0, &id) != NULL;
    if (!known && from && to) /* a Marian model of one pair */
        return tsri_text_add_pair(tokenizer, from, to, NULL);
    if (!known)
        return TSR_OK;
    TRY(tsri_base_json_bool(place->config, place->config_path, "legacy_behaviour", &legacy));
    tsri_text_set_language_rule(tokenizer, legacy && f->codes == tsri_model_codes_nllb
                                               ? TSRI_TEXT_CODE_LAST_FORCED
                                               : f->rule);
    return f->codes ? tsri_text_set_default_languages(tokenizer, from ? from : f->from, to)
                    : TSR_OK;
}
