/* text/load/tekken.c - Mistral's tekken.json: "config", "special_tokens", and "vocab", whose ranks begin
 * behind the ids of the special tokens.
 * source  mistral_common/tokens/tokenizers/tekken.py */
#include "base/error.h"
#include "text/base/json_scan.h"
#include "text/load/load.h"
#include "text/load/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64, SPECIALS_MOST = 1 << 20 };

/* Of files that list none. */
static const char *const first_specials[] = {"<unk>",
                                             "<s>",
                                             "</s>",
                                             "[INST]",
                                             "[/INST]",
                                             "[AVAILABLE_TOOLS]",
                                             "[/AVAILABLE_TOOLS]",
                                             "[TOOL_RESULTS]",
                                             "[/TOOL_RESULTS]",
                                             "[TOOL_CALLS]",
                                             "[IMG]",
                                             "<pad>",
                                             "[IMG_BREAK]",
                                             "[IMG_END]",
                                             "[PREFIX]",
                                             "[MIDDLE]",
                                             "[SUFFIX]",
                                             "[SYSTEM_PROMPT]",
                                             "[/SYSTEM_PROMPT]",
                                             "[TOOL_CONTENT]"};

typedef struct sizes {
    int64_t all, specials;
    const char *pattern;
} sizes;

static tsr_status read_config(const json_t *json, sizes *s) {
    const json_t *config = json_object_get(json, "config");
    static const char what[] = "config";
    TRY(tsri_base_json_int(config, what, "default_vocab_size", 1, TSRI_TEXT_IDS_LIMIT, &s->all));
    TRY(tsri_base_json_int(config, what, "default_num_special_tokens", 0, SPECIALS_MOST,
                           &s->specials));
    TRY(tsri_base_json_text(config, what, "pattern", &s->pattern));
    if (!s->pattern || s->all == 0 || s->specials < 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "config: \"%s\" is missing; a tekken.json has \"pattern\", "
                              "\"default_vocab_size\" and \"default_num_special_tokens\"",
                              !s->pattern   ? "pattern"
                              : s->all == 0 ? "default_vocab_size"
                                            : "default_num_special_tokens");
    return s->all > s->specials
               ? TSR_OK
               : tsri_base_fail(
                     TSR_E_FORMAT,
                     "config: %lld ids, %lld of them of special tokens: no piece is left",
                     (long long)s->all, (long long)s->specials);
}

static tsr_status put_special(const json_t *list, int64_t id, tsri_text_tokenizer *t) {
    static const char what[] = "special_tokens";
    const size_t listed =
        list ? json_array_size(list) : sizeof first_specials / sizeof *first_specials;
    char filler[32];
    const char *name = NULL;
    if ((size_t)id >= listed) {
        snprintf(filler, sizeof filler, "<SPECIAL_%lld>", (long long)id);
        name = filler;
    } else if (list) {
        const json_t *entry = json_array_get(list, (size_t)id);
        int64_t rank = -1;
        TRY(tsri_base_json_int(entry, what, "rank", 0, SPECIALS_MOST, &rank));
        TRY(tsri_base_json_text(entry, what, "token_str", &name));
        if (rank != id || !name)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: number %lld needs the rank %lld and a \"token_str\"", what,
                                  (long long)id, (long long)id);
    } else {
        name = first_specials[id];
    }
    const int32_t known = tsri_text_vocabulary_find(&t->vocabulary, name, strlen(name));
    if (known >= 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%.60s\" has two ids, %d and %lld", what, name,
                              known, (long long)id);
    return tsri_text_ranks_special(t, id, name, strlen(name));
}

static tsr_status put_specials(const json_t *json, const sizes *s, tsri_text_tokenizer *t) {
    const json_t *list = json_object_get(json, "special_tokens");
    if (json_is_null(list))
        list = NULL;
    if (list && (!json_is_array(list) || json_array_size(list) > (size_t)s->specials))
        return tsri_base_fail(TSR_E_FORMAT, "special_tokens: a list of at most %lld is needed",
                              (long long)s->specials);
    for (int64_t id = 0; id < s->specials; id++)
        TRY(put_special(list, id, t));
    static const char *const names[TSRI_TEXT_ROLES] = {[TSRI_TEXT_BOS] = "<s>",
                                                       [TSRI_TEXT_EOS] = "</s>",
                                                       [TSRI_TEXT_UNK] = "<unk>",
                                                       [TSRI_TEXT_PAD] = "<pad>"};
    for (int role = 0; role < TSRI_TEXT_ROLES; role++)
        if (names[role])
            t->roles[role] =
                tsri_text_vocabulary_find(&t->vocabulary, names[role], strlen(names[role]));
    return TSR_OK;
}

/* ---- pieces ---- */

typedef struct entry {
    const char *end;
    tsri_bytes own;
    const char *base64;
    size_t size;
    int64_t rank;
} entry;

static bool see_entry(void *data, const char *key, size_t n, const char **value) {
    entry *e = data;
    size_t count;
    if (tsri_text_scan_is_key(key, n, "token_bytes") && **value == '"')
        return tsri_text_scan_text(value, e->end, &e->own, &e->base64, &e->size) == TSR_OK;
    if (tsri_text_scan_is_key(key, n, "rank")) {
        e->rank = **value >= '0' && **value <= '9' ? 0 : -1;
        for (const char *p = *value; p < e->end && *p >= '0' && *p <= '9'; p++)
            e->rank = e->rank > TSRI_TEXT_IDS_LIMIT ? e->rank : 10 * e->rank + (*p - '0');
    }
    return (*value = tsri_text_scan_value(*value, e->end, &count)) != NULL;
}

/* `wanted` of the list's entries; the others are left out. */
static tsr_status read_pieces(const tsri_text_span *vocab, int64_t wanted, int64_t first,
                              tsri_text_tokenizer *t) {
    const char *at = vocab->text + 1;
    entry e = {.end = vocab->text + vocab->size};
    tsri_bytes spare[2] = {{0}, {0}};
    tsr_status status = TSR_OK;
    for (int64_t i = 0; i < wanted && status == TSR_OK; i++) {
        e.base64 = NULL;
        e.rank = -1;
        at = tsri_text_scan_space(at, e.end);
        if (i && at < e.end && *at == ',')
            at = tsri_text_scan_space(at + 1, e.end);
        if (at >= e.end || *at != '{' || !tsri_text_scan_object(&at, e.end, see_entry, &e) ||
            !e.base64 || e.rank != i)
            status = tsri_base_fail(TSR_E_FORMAT,
                                    "vocab: number %lld is not an object with the rank %lld and "
                                    "\"token_bytes\"",
                                    (long long)i, (long long)i);
        else if ((status = tsri_text_ranks_piece(t, first + i, e.base64, e.size, spare)))
            status = status == TSR_E_FORMAT
                         ? tsri_base_fail_within(status, "vocab: number %lld", (long long)i)
                         : status;
    }
    for (int i = 0; i < 2; i++)
        tsri_base_bytes_clear(&spare[i]);
    tsri_base_bytes_clear(&e.own);
    return status;
}

static tsr_status load(const json_t *json, const tsri_text_span *vocab, tsri_text_tokenizer *t) {
    sizes s = {.specials = -1};
    TRY(read_config(json, &s));
    const int64_t pieces = s.all - s.specials;
    if (vocab->count < (size_t)pieces)
        return tsri_base_fail(TSR_E_FORMAT,
                              "vocab: %zu pieces; config asks for %lld (default_vocab_size less "
                              "default_num_special_tokens)",
                              vocab->count, (long long)pieces);
    TRY(put_specials(json, &s, t));
    TRY(read_pieces(vocab, pieces, s.specials, t));
    TRY(tsri_text_ranks_finish(t, (int32_t)s.specials, (int32_t)s.all, &s.pattern, 1));
    return tsri_text_set_affixes(t, t->roles[TSRI_TEXT_BOS] >= 0, false);
}

bool tsri_text_is_tekken(const char *text, size_t n) {
    tsri_text_span vocab = {0};
    tsri_bytes rest = {0};
    const bool found =
        tsri_text_scan_cut(text, n, "vocab", &vocab, &rest) == TSR_OK && *vocab.text == '[';
    tsri_base_bytes_clear(&rest);
    return found;
}

tsr_status tsri_text_from_tekken(const char *text, size_t n, tsri_text_tokenizer **out) {
    tsri_text_span vocab = {0};
    tsri_bytes rest = {0};
    json_t *json = NULL;
    *out = NULL;
    tsr_status status = tsri_text_scan_cut(text, n, "vocab", &vocab, &rest);
    if (status == TSR_E_FORMAT)
        status = tsri_base_fail(status, "not a JSON object with one list \"vocab\"");
    if (status == TSR_OK)
        status = tsri_base_json_parse(rest.data, rest.size, DEPTH, "without its \"vocab\"", &json);
    if (status == TSR_OK)
        status = tsri_text_tokenizer_new("tekken.json", out);
    if (status == TSR_OK)
        status = load(json, &vocab, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    json_decref(json);
    tsri_base_bytes_clear(&rest);
    return status;
}
