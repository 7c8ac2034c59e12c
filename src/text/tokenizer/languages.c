/* text/tokenizer/languages.c - the languages of a translation model, and the encoding of a text for
 * a direction. */
#include "text/tokenizer/languages.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/tokenizer/parts.h"

#include <stdlib.h>
#include <string.h>

const tsri_text_tokenizer *tsri_text_target(const tsri_text_tokenizer *tokenizer) {
    return tokenizer->target ? tokenizer->target : tokenizer;
}

void tsri_text_set_target(tsri_text_tokenizer *tokenizer, tsri_text_tokenizer **target) {
    tsri_text_tokenizer_destroy(&tokenizer->target);
    tokenizer->target = *target;
    *target = NULL;
}

void tsri_text_set_language_rule(tsri_text_tokenizer *tokenizer, tsri_text_language_rule rule) {
    tokenizer->languages.rule = rule;
}

tsr_status tsri_text_add_language(tsri_text_tokenizer *tokenizer, const char *code, size_t n,
                                  int32_t id) {
    tsri_text_languages *l = &tokenizer->languages;
    TRY(tsri_base_grow(&l->items, &l->capacity, l->count + 1, sizeof *l->items));
    char *copy = tsri_base_copy_text(code, n);
    if (!copy)
        return TSR_E_HOST_MEMORY;
    l->items[l->count++] = (tsri_text_language_item){copy, id};
    if (tokenizer->types && (size_t)id < tokenizer->type_count)
        tokenizer->types[id] = TSRI_TEXT_CONTROL;
    return tsri_text_mark_special(tokenizer, id);
}

static tsr_status set_text(char **out, const char *text) {
    char *copy = NULL;
    if (text && !(copy = tsri_base_copy_text(text, strlen(text))))
        return TSR_E_HOST_MEMORY;
    free(*out);
    *out = copy;
    return TSR_OK;
}

tsr_status tsri_text_add_pair(tsri_text_tokenizer *tokenizer, const char *from, const char *to,
                              const char *prefix) {
    tsri_text_languages *l = &tokenizer->languages;
    TRY(tsri_base_grow(&l->pairs, &l->pair_capacity, l->pair_count + 1, sizeof *l->pairs));
    tsri_text_language_pair *pair = &l->pairs[l->pair_count++];
    TRY(set_text(&pair->from, from));
    TRY(set_text(&pair->to, to));
    return set_text(&pair->prefix, prefix);
}

tsr_status tsri_text_set_default_languages(tsri_text_tokenizer *tokenizer, const char *from,
                                           const char *to) {
    TRY(set_text(&tokenizer->languages.from, from));
    return set_text(&tokenizer->languages.to, to);
}

const char *tsri_text_language(const tsri_text_tokenizer *tokenizer, size_t i, int32_t *id) {
    const tsri_text_languages *l = &tokenizer->languages;
    if (i >= l->count)
        return NULL;
    *id = l->items[i].id;
    return l->items[i].code;
}

tsr_status tsri_text_languages_list(const tsri_text_tokenizer *tokenizer, tsri_bytes *out) {
    const tsri_text_languages *l = &tokenizer->languages;
    for (size_t i = 0; i < l->count; i++)
        TRY(tsri_base_bytes_printf(out, "%s%s", i ? ", " : "", l->items[i].code));
    for (size_t i = 0; i < l->pair_count && l->count == 0; i++)
        TRY(tsri_base_bytes_printf(out, "%s%s-%s", i ? ", " : "", l->pairs[i].from,
                                   l->pairs[i].to));
    return TSR_OK;
}

/* ---- one direction ---- */

/* The code's own id; else that of the only language that has the code before its "_"; else -1. */
static int32_t id_of_code(const tsri_text_tokenizer *t, const char *code) {
    const tsri_text_languages *l = &t->languages;
    const size_t n = strlen(code);
    int32_t id = tsri_text_id_of(t, code, n), like = -1;
    size_t alike = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->items[i].id == id || strcmp(l->items[i].code, code) == 0)
            return l->items[i].id;
        if (strncmp(l->items[i].code, code, n) == 0 && l->items[i].code[n] == '_') {
            like = l->items[i].id;
            alike++;
        }
    }
    return alike == 1 ? like : -1;
}

static tsr_status refuse(const tsri_text_tokenizer *t, const char *what, const char *from,
                         const char *to) {
    tsri_bytes known = {0};
    const tsr_status status = tsri_text_languages_list(t, &known);
    if (status == TSR_OK && known.size)
        tsri_base_fail(TSR_E_ARGUMENT, "this model does not translate %s %s%s%s; it knows %s", what,
                       from ? from : "", from && to ? "-" : "", to ? to : "", known.data);
    else if (status == TSR_OK)
        tsri_base_fail(
            TSR_E_ARGUMENT,
            "%s %s%s%s was asked for, but this model's files name no languages; do not give any",
            what, from ? from : "", from && to ? "-" : "", to ? to : "");
    tsri_base_bytes_clear(&known);
    return status == TSR_OK ? TSR_E_ARGUMENT : status;
}

static tsr_status find_pair(const tsri_text_tokenizer *t, const char *from, const char *to,
                            tsri_text_direction *out) {
    const tsri_text_languages *l = &t->languages;
    if (!from && !to)
        return TSR_OK;
    for (size_t i = 0; i < l->pair_count; i++) {
        const tsri_text_language_pair *pair = &l->pairs[i];
        if ((!from || strcmp(pair->from, from) == 0) && (!to || strcmp(pair->to, to) == 0)) {
            out->prefix = pair->prefix;
            return TSR_OK;
        }
    }
    return refuse(t, "the pair", from, to);
}

tsr_status tsri_text_direction_of(const tsri_text_tokenizer *tokenizer, const char *from,
                                  const char *to, tsri_text_direction *out) {
    const tsri_text_languages *l = &tokenizer->languages;
    *out = (tsri_text_direction){.from = -1, .to = -1, .start = -1, .forced = -1};
    if (l->rule == TSRI_TEXT_NO_CODES)
        return find_pair(tokenizer, from, to, out);
    const bool has_source = l->rule != TSRI_TEXT_CODE_OF_TARGET;
    from = from ? from : l->from;
    to = to ? to : l->to;
    if (from && has_source && (out->from = id_of_code(tokenizer, from)) < 0)
        return refuse(tokenizer, "the language", from, NULL);
    if (to && (out->to = id_of_code(tokenizer, to)) < 0)
        return refuse(tokenizer, "the language", to, NULL);
    if (l->rule == TSRI_TEXT_CODE_FIRST || l->rule == TSRI_TEXT_CODE_LAST_FORCED)
        out->forced = out->to;
    else if (l->rule == TSRI_TEXT_CODE_LAST)
        out->start = out->to;
    return TSR_OK;
}

/* ---- texts and the tokens around them ---- */

size_t tsri_text_written_code(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                              int32_t *id) {
    if (tokenizer->languages.rule != TSRI_TEXT_CODE_OF_TARGET || n < 4 ||
        memcmp(text, ">>", 2) != 0)
        return 0;
    for (size_t i = 2; i + 2 <= n; i++) {
        if (memcmp(text + i, "<<", 2) != 0)
            continue;
        *id = tsri_text_id_of(tokenizer, text, i + 2);
        if (*id < 0)
            *id = tsri_text_role_id(tokenizer, TSRI_TEXT_UNK);
        return i + 2;
    }
    return 0;
}

static tsr_status append(tsri_text_ids *ids, int32_t id) {
    return id < 0 ? TSR_OK : tsri_text_ids_append(ids, &id, 1);
}

static tsr_status encode_prefixed(const tsri_text_tokenizer *t, const char *prefix,
                                  const char *text, size_t n, unsigned flags, tsri_text_ids *ids) {
    tsri_bytes whole = {0};
    tsr_status status = tsri_base_bytes_append(&whole, prefix, strlen(prefix));
    if (status == TSR_OK)
        status = tsri_base_bytes_append(&whole, text, n);
    if (status == TSR_OK)
        status = tsri_text_encode(t, whole.data, whole.size, flags | TSRI_TEXT_ADD_SPECIAL, ids);
    tsri_base_bytes_clear(&whole);
    return status;
}

/* The ids of a text with a code before or after it, and the end token. */
static tsr_status encode_coded(const tsri_text_tokenizer *t, const char *text, size_t n,
                               int32_t first, int32_t last, unsigned flags, tsri_text_ids *ids) {
    TRY(append(ids, first));
    TRY(tsri_text_encode(t, text, n, flags & ~(unsigned)TSRI_TEXT_ADD_SPECIAL, ids));
    TRY(append(ids, t->roles[TSRI_TEXT_EOS]));
    return append(ids, last);
}

static tsr_status encode_source(const tsri_text_tokenizer *t, const char *text, size_t n,
                                const tsri_text_direction *d, unsigned flags, tsri_text_ids *ids) {
    const tsri_text_language_rule rule = t->languages.rule;
    if (rule == TSRI_TEXT_NO_CODES && d->prefix)
        return encode_prefixed(t, d->prefix, text, n, flags, ids);
    if (rule == TSRI_TEXT_NO_CODES)
        return tsri_text_encode(t, text, n, flags | TSRI_TEXT_ADD_SPECIAL, ids);
    int32_t to = d->to;
    const size_t written = tsri_text_written_code(t, text, n, &to);
    const bool first = rule == TSRI_TEXT_CODE_FIRST, target = rule == TSRI_TEXT_CODE_OF_TARGET;
    return encode_coded(t, text + written, n - written,
                        target  ? to
                        : first ? d->from
                                : -1,
                        target || first ? -1 : d->from, flags, ids);
}

static tsr_status encode_target(const tsri_text_tokenizer *t, const char *text, size_t n,
                                const tsri_text_direction *d, unsigned flags, tsri_text_ids *ids) {
    const tsri_text_language_rule rule = t->languages.rule;
    const tsri_text_tokenizer *target = tsri_text_target(t);
    if (rule == TSRI_TEXT_NO_CODES || rule == TSRI_TEXT_CODE_OF_TARGET)
        return tsri_text_encode(target, text, n, flags | TSRI_TEXT_ADD_SPECIAL, ids);
    const bool first = rule == TSRI_TEXT_CODE_FIRST;
    return encode_coded(target, text, n, first ? d->to : -1, first ? -1 : d->to, flags, ids);
}

typedef tsr_status (*encoder)(const tsri_text_tokenizer *t, const char *text, size_t n,
                              const tsri_text_direction *d, unsigned flags, tsri_text_ids *ids);

/* Appends all of a text's ids, or none of them. */
static tsr_status whole(encoder encode, const tsri_text_tokenizer *tokenizer, const char *text,
                        size_t n, const tsri_text_direction *direction, unsigned flags,
                        tsri_text_ids *ids) {
    const size_t before = ids->count;
    const tsr_status status = encode(tokenizer, text, n, direction, flags, ids);
    if (status != TSR_OK)
        ids->count = before;
    return status;
}

tsr_status tsri_text_encode_source(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                                   const tsri_text_direction *direction, unsigned flags,
                                   tsri_text_ids *ids) {
    return whole(encode_source, tokenizer, text, n, direction, flags, ids);
}

tsr_status tsri_text_encode_target(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                                   const tsri_text_direction *direction, unsigned flags,
                                   tsri_text_ids *ids) {
    return whole(encode_target, tokenizer, text, n, direction, flags, ids);
}
