/* text/stages/normalize.c - normalizes a text: Hugging Face's normalizers, and SentencePiece's
 * character map and spaces. */
#include "text/stages/normalize.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/byte_level.h"
#include "text/base/pattern_json.h"
#include "text/base/patterns.h"
#include "text/base/unicode.h"
#include "text/stages/bert.h"

#include <stdlib.h>
#include <string.h>

typedef struct step step;

/* What a step reports besides its text. */
typedef struct tally {
    bool first; /* the text is what a text begins with */
    bool moved; /* characters at the very start were removed */
    tsri_text_allowance *allowance;
} tally;

typedef struct step_row {
    const char *type;
    tsr_status (*load)(const json_t *json, step *s); /* NULL: the type has no settings */
    tsr_status (*apply)(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t);
} step_row;

struct step {
    const step_row *row;
    char *content; /* Prepend, Replace */
    size_t content_size;
    tsri_text_pattern *pattern; /* Replace */
    bool left, right;           /* Strip */
    tsri_text_space_rules rules;
    tsri_text_bert_rules bert;
    const tsri_text_matcher *whole;
    tsri_text_charsmap *map;
};

struct tsri_text_normalizer {
    step *steps;
    size_t count, capacity;
};

static tsr_status nfc(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    (void)s, (void)t;
    return tsri_text_normal_form(TSRI_TEXT_NFC, text, n, out);
}

static tsr_status nfd(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    (void)s, (void)t;
    return tsri_text_normal_form(TSRI_TEXT_NFD, text, n, out);
}

static tsr_status nfkc(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    (void)s, (void)t;
    return tsri_text_normal_form(TSRI_TEXT_NFKC, text, n, out);
}

static tsr_status nfkd(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    (void)s, (void)t;
    return tsri_text_normal_form(TSRI_TEXT_NFKD, text, n, out);
}

static tsr_status lowercase(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    (void)s, (void)t;
    return tsri_text_lowercase(text, n, out);
}

static tsr_status byte_level(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    (void)s, (void)t;
    return tsri_text_bytes_to_characters(text, n, out);
}

static tsr_status strip_accents(const step *s, const char *text, size_t n, tsri_bytes *out,
                                tally *t) {
    (void)s;
    for (size_t i = 0; i < n;) {
        int32_t c;
        const size_t size = tsri_text_utf8_next(text + i, n - i, &c);
        if (!tsri_text_is_accent(c))
            TRY(tsri_base_bytes_append(out, text + i, size));
        else if (i == 0)
            t->moved = true;
        i += size;
    }
    return TSR_OK;
}

static tsr_status load_strip(const json_t *json, step *s) {
    TRY(tsri_base_json_bool(json, "normalizer Strip", "strip_left", &s->left));
    return tsri_base_json_bool(json, "normalizer Strip", "strip_right", &s->right);
}

static tsr_status strip(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    size_t from = 0, to = n;
    int32_t c;
    while (s->left && from < to) {
        const size_t size = tsri_text_utf8_next(text + from, to - from, &c);
        if (!tsri_text_is_space(c))
            break;
        from += size;
    }
    while (s->right && to > from) {
        const size_t before = tsri_text_utf8_before(text, to);
        tsri_text_utf8_next(text + before, to - before, &c);
        if (!tsri_text_is_space(c))
            break;
        to = before;
    }
    t->moved |= from > 0;
    return tsri_base_bytes_append(out, text + from, to - from);
}

static tsr_status load_content(const json_t *json, const char *what, const char *key, step *s) {
    const char *content = NULL;
    TRY(tsri_base_json_text(json, what, key, &content));
    if (!content)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is missing", what, key);
    s->content_size = strlen(content);
    s->content = tsri_base_copy_text(content, s->content_size);
    return s->content ? TSR_OK : TSR_E_HOST_MEMORY;
}

static tsr_status load_prepend(const json_t *json, step *s) {
    static const char what[] = "normalizer Prepend";
    TRY(load_content(json, what, "prepend", s));
    return s->content_size ? TSR_OK
                           : tsri_base_fail(TSR_E_UNSUPPORTED,
                                            "%s: an empty \"prepend\" is not supported; leave the "
                                            "normalizer out",
                                            what);
}

static tsr_status prepend(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    (void)t;
    if (n)
        TRY(tsri_base_bytes_append(out, s->content, s->content_size));
    return tsri_base_bytes_append(out, text, n);
}

static tsr_status load_replace(const json_t *json, step *s) {
    TRY(load_content(json, "normalizer Replace", "content", s));
    return tsri_text_pattern_from_json(json, "normalizer Replace", &s->pattern);
}

static tsr_status replace(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    bool at_start = false;
    TRY(tsri_text_pattern_replace(s->pattern, text, n, s->content, s->content_size,
                                  &t->allowance->steps, out, &at_start));
    t->moved |= at_start && s->content_size == 0;
    return TSR_OK;
}

static tsr_status load_bert(const json_t *json, step *s) {
    static const char what[] = "normalizer BertNormalizer";
    s->bert = (tsri_text_bert_rules){.clean = true, .chinese = true, .lowercase = true};
    TRY(tsri_base_json_bool(json, what, "clean_text", &s->bert.clean));
    TRY(tsri_base_json_bool(json, what, "handle_chinese_chars", &s->bert.chinese));
    TRY(tsri_base_json_bool(json, what, "lowercase", &s->bert.lowercase));
    s->bert.strip_accents = s->bert.lowercase;
    return tsri_base_json_bool(json, what, "strip_accents", &s->bert.strip_accents);
}

static tsr_status bert(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    (void)t;
    return tsri_text_bert_normalize(&s->bert, text, n, out);
}

static tsr_status load_precompiled(const json_t *json, step *s) {
    static const char what[] = "normalizer Precompiled";
    tsri_bytes blob = {0};
    tsr_status status = tsri_text_base64_from_json(json, what, "precompiled_charsmap", &blob);
    if (status == TSR_OK && (status = tsri_text_charsmap_new(blob.data, blob.size, &s->map)))
        tsri_base_fail_within(status, "%s", what);
    tsri_base_bytes_clear(&blob);
    return status;
}

/* How Hugging Face reads the map: a short grapheme cluster that begins with a string of the map is
 * replaced, all of it, by the replacement of the shortest such string; otherwise each of its
 * characters is looked up in the same way. */
static tsr_status precompiled(const step *s, const char *text, size_t n, tsri_bytes *out,
                              tally *t) {
    enum { SHORT = 6 };
    for (size_t i = 0, end; i < n; i = end) {
        const char *by;
        size_t by_size, size;
        end = i + tsri_text_grapheme(text + i, n - i);
        if (end - i < SHORT &&
            tsri_text_charsmap_find(s->map, text + i, end - i, true, &by, &by_size)) {
            t->moved |= i == 0 && by_size == 0;
            TRY(tsri_base_bytes_append(out, by, by_size));
            continue;
        }
        for (size_t at = i; at < end; at += size) {
            int32_t c;
            size = tsri_text_utf8_next(text + at, end - at, &c);
            const bool found =
                tsri_text_charsmap_find(s->map, text + at, size, true, &by, &by_size);
            t->moved |= at == 0 && found && by_size == 0;
            TRY(found ? tsri_base_bytes_append(out, by, by_size)
                      : tsri_base_bytes_append(out, text + at, size));
        }
    }
    return TSR_OK;
}

/* Removes control characters; characters that are a space in some script, and those that stand for
 * nothing, become a space. */
static tsr_status nmt(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    (void)s;
    for (size_t i = 0, size; i < n; i += size) {
        int32_t c;
        size = tsri_text_utf8_next(text + i, n - i, &c);
        if ((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
            c == 0x9F) {
            t->moved |= i == 0;
            continue;
        }
        const bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                           c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
        TRY(space ? tsri_base_bytes_append(out, " ", 1)
                  : tsri_base_bytes_append(out, text + i, size));
    }
    return TSR_OK;
}

/* What the next bytes of a text become, and how many they are: a symbol that passes unchanged, a
 * string of the map, or one character; a byte that is not part of a character becomes U+FFFD. */
static size_t next_of(const step *s, const char *text, size_t n, const char **by, size_t *by_size) {
    int32_t symbol, c;
    size_t size = s->whole ? tsri_text_matcher_longest(s->whole, text, n, &symbol) : 0;
    if (size == 0 && s->map &&
        (size = tsri_text_charsmap_find(s->map, text, n, false, by, by_size)))
        return size;
    if (size == 0)
        size = tsri_text_utf8_next(text, n, &c);
    else
        c = 0;
    *by = c < 0 ? "\xEF\xBF\xBD" : text;
    *by_size = c < 0 ? 3 : size;
    return size;
}

/* Whether a space is added to a text, which has lost its leading spaces where the rules remove them. */
static bool adds_space(const step *s, const char *text, size_t n, const tally *t) {
    static const char space[] = "\xE2\x96\x81";
    const bool begins = text[0] == ' ' || (n >= 3 && memcmp(text, space, 3) == 0);
    return s->rules.add_prefix && (!s->rules.first_only || (t->first && !begins));
}

/* SentencePiece's Normalizer::Normalize. */
static tsr_status spaces(const step *s, const char *text, size_t n, tsri_bytes *out, tally *t) {
    const char *const space = s->rules.escape ? "\xE2\x96\x81" : " ", *by;
    const size_t space_size = strlen(space), start = out->size;
    size_t at = 0, by_size;
    while (s->rules.remove_extra && at < n) {
        const size_t size = next_of(s, text + at, n - at, &by, &by_size);
        if (by_size != 1 || by[0] != ' ')
            break;
        at += size;
    }
    if (at == n)
        return TSR_OK;
    const bool adds = adds_space(s, text + at, n - at, t);
    if (adds && !s->rules.suffix)
        TRY(tsri_base_bytes_append(out, space, space_size));
    bool after_space = s->rules.remove_extra;
    while (at < n) {
        at += next_of(s, text + at, n - at, &by, &by_size);
        size_t i = 0;
        while (after_space && i < by_size && by[i] == ' ')
            i++;
        after_space = i < by_size ? s->rules.remove_extra && by[by_size - 1] == ' ' : after_space;
        for (; i < by_size; i++)
            TRY(by[i] == ' ' ? tsri_base_bytes_append(out, space, space_size)
                             : tsri_base_bytes_append(out, by + i, 1));
    }
    while (s->rules.remove_extra && out->size - start >= space_size &&
           memcmp(out->data + out->size - space_size, space, space_size) == 0)
        out->size -= space_size;
    if (adds && s->rules.suffix)
        TRY(tsri_base_bytes_append(out, space, space_size));
    return TSR_OK;
}

static const step_row spaces_row = {"SentencePiece spaces", NULL, spaces};

static const step_row rows[] = {
    {"NFC", NULL, nfc},
    {"NFD", NULL, nfd},
    {"NFKC", NULL, nfkc},
    {"NFKD", NULL, nfkd},
    {"Lowercase", NULL, lowercase},
    {"ByteLevel", NULL, byte_level},
    {"StripAccents", NULL, strip_accents},
    {"Strip", load_strip, strip},
    {"BertNormalizer", load_bert, bert},
    {"Precompiled", load_precompiled, precompiled},
    {"Nmt", NULL, nmt},
    {"Prepend", load_prepend, prepend},
    {"Replace", load_replace, replace},
};

static tsr_status add_step(tsri_text_normalizer *normalizer, const step_row *row, step **out) {
    TRY(tsri_base_grow(&normalizer->steps, &normalizer->capacity, normalizer->count + 1,
                       sizeof *normalizer->steps));
    *out = &normalizer->steps[normalizer->count++];
    **out = (step){.row = row};
    return TSR_OK;
}

static const step_row *row_of(const char *type) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0)
            return &rows[i];
    return NULL;
}

static tsr_status add_json(const json_t *json, tsri_text_normalizer *normalizer) {
    const char *type = NULL;
    TRY(tsri_text_type_of(json, "normalizer", &type));
    if (strcmp(type, "Sequence") == 0) {
        const json_t *list = NULL;
        TRY(tsri_text_list_of(json, "normalizer Sequence", "normalizers", &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            TRY(add_json(json_array_get(list, i), normalizer));
        return TSR_OK;
    }
    const step_row *row = row_of(type);
    if (!row)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "normalizer \"%s\" is not supported", type);
    step *s;
    TRY(add_step(normalizer, row, &s));
    return row->load ? row->load(json, s) : TSR_OK;
}

tsr_status tsri_text_normalizer_load(const json_t *json, tsri_text_normalizer **out) {
    *out = NULL;
    if (!json || json_is_null(json))
        return TSR_OK;
    tsri_text_normalizer *normalizer = NULL;
    TRY(tsri_base_new(1, sizeof *normalizer, &normalizer));
    const tsr_status status = add_json(json, normalizer);
    if (status != TSR_OK)
        tsri_text_normalizer_destroy(&normalizer);
    *out = normalizer;
    return status;
}

tsr_status tsri_text_normalizer_spaces(tsri_text_space_rules rules, const tsri_text_matcher *whole,
                                       tsri_text_charsmap **map, tsri_text_normalizer **out) {
    *out = NULL;
    tsri_text_normalizer *normalizer = NULL;
    TRY(tsri_base_new(1, sizeof *normalizer, &normalizer));
    step *s;
    const tsr_status status = add_step(normalizer, &spaces_row, &s);
    if (status == TSR_OK) {
        s->rules = rules;
        s->whole = whole;
        s->map = *map;
        *map = NULL;
    } else {
        tsri_text_normalizer_destroy(&normalizer);
    }
    *out = normalizer;
    return status;
}

void tsri_text_normalizer_set_prefix(tsri_text_normalizer *normalizer, bool add, bool first_only) {
    for (size_t i = 0; normalizer && i < normalizer->count; i++)
        if (normalizer->steps[i].row == &spaces_row) {
            normalizer->steps[i].rules.add_prefix &= add;
            normalizer->steps[i].rules.first_only = first_only;
        }
}

tsr_status tsri_text_normalizer_bert(const tsri_text_bert_rules *rules,
                                     tsri_text_normalizer **out) {
    *out = NULL;
    tsri_text_normalizer *normalizer = NULL;
    TRY(tsri_base_new(1, sizeof *normalizer, &normalizer));
    step *s;
    const tsr_status status = add_step(normalizer, row_of("BertNormalizer"), &s);
    if (status == TSR_OK)
        s->bert = *rules;
    else
        tsri_text_normalizer_destroy(&normalizer);
    *out = normalizer;
    return status;
}

/* Appends the output of a step; *most becomes the largest output so far. */
static tsr_status apply(const step *s, const char *text, size_t n, tally *t, tsri_bytes *out,
                        size_t *most) {
    const size_t start = out->size;
    out->limit = start + t->allowance->normal;
    const tsr_status status = s->row->apply(s, text, n, out, t);
    out->limit = 0;
    if (status == TSR_E_FORMAT)
        return tsri_base_fail_within(status, "normalizer %s", s->row->type);
    *most = out->size - start > *most ? out->size - start : *most;
    return status;
}

tsr_status tsri_text_normalizer_apply(const tsri_text_normalizer *normalizer, const char *text,
                                      size_t n, bool first, tsri_text_allowance *allowance,
                                      tsri_bytes *out, bool *moved) {
    *moved = false;
    if (!normalizer || normalizer->count == 0)
        return tsri_base_bytes_append(out, text, n);
    tsri_bytes now = {0}, next = {0};
    tally t = {.first = first, .allowance = allowance};
    tsr_status status = TSR_OK;
    size_t most = 0;
    for (size_t i = 0; i < normalizer->count && status == TSR_OK; i++) {
        const bool last = i + 1 == normalizer->count;
        next.size = 0;
        status = apply(&normalizer->steps[i], i ? now.data : text, i ? now.size : n, &t,
                       last ? out : &next, &most);
        const tsri_bytes swap = now;
        now = next;
        next = swap;
    }
    *moved = t.moved;
    allowance->normal -= status == TSR_OK ? most : 0;
    tsri_base_bytes_clear(&now);
    tsri_base_bytes_clear(&next);
    return status;
}

tsr_status tsri_text_normalizer_describe(const tsri_text_normalizer *normalizer, tsri_bytes *out) {
    for (size_t i = 0; normalizer && i < normalizer->count; i++)
        TRY(tsri_base_bytes_printf(out, "%s%s", i ? ", " : "", normalizer->steps[i].row->type));
    return TSR_OK;
}

void tsri_text_normalizer_destroy(tsri_text_normalizer **normalizer) {
    if (!*normalizer)
        return;
    for (size_t i = 0; i < (*normalizer)->count; i++) {
        free((*normalizer)->steps[i].content);
        tsri_text_pattern_destroy(&(*normalizer)->steps[i].pattern);
        tsri_text_charsmap_destroy(&(*normalizer)->steps[i].map);
    }
    free((*normalizer)->steps);
    free(*normalizer);
    *normalizer = NULL;
}
