/* text/stages/pre_tokenize.c - cuts a normalized text into words by Hugging Face's
 * pre-tokenizers. */
#include "text/stages/pre_tokenize.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/byte_level.h"
#include "text/base/pattern_json.h"
#include "text/base/unicode.h"
#include "text/stages/bert.h"

#include <stdlib.h>
#include <string.h>

typedef struct step step;

typedef struct scratch {
    tsri_text_ranges cover; /* empty */
    uint64_t *steps;        /* what regular expressions may still take */
} scratch;

/* Cuts one piece: appends its parts to `out`. */
typedef tsr_status (*step_apply)(const step *s, const char *text, size_t n, bool first,
                                 scratch *with, tsri_text_splits *out);

typedef struct step_row {
    const char *type;
    tsr_status (*load)(const json_t *json, step *s); /* NULL: the type has no settings */
    step_apply apply;
} step_row;

typedef enum prepend { NEVER, FIRST, ALWAYS } prepend;

struct step {
    const step_row *row;
    tsri_text_pattern *pattern;
    tsri_text_behavior behavior;
    bool invert;         /* Split */
    prepend prefix;      /* ByteLevel, Metaspace */
    bool split;          /* Metaspace; ByteLevel's use_regex */
    char replacement[4]; /* Metaspace */
    size_t replacement_size;
    int64_t length; /* FixedLength: characters of a word */
};

struct tsri_text_pre_tokenizer {
    step *steps;
    size_t count, capacity;
};

static tsr_status load_byte_level(const json_t *json, step *s) {
    bool add_prefix = true;
    s->split = true;
    TRY(tsri_base_json_bool(json, "pre_tokenizer ByteLevel", "add_prefix_space", &add_prefix));
    TRY(tsri_base_json_bool(json, "pre_tokenizer ByteLevel", "use_regex", &s->split));
    s->prefix = add_prefix ? ALWAYS : NEVER;
    return s->split ? tsri_text_pattern_new(tsri_text_pattern_gpt2, strlen(tsri_text_pattern_gpt2),
                                            TSRI_TEXT_PCRE2, &s->pattern)
                    : TSR_OK;
}

static tsr_status byte_level(const step *s, const char *text, size_t n, bool first, scratch *with,
                             tsri_text_splits *out) {
    tsri_bytes prefixed = {0};
    tsr_status status = TSR_OK;
    if (s->prefix != NEVER && text[0] != ' ') {
        status = tsri_base_bytes_append(&prefixed, " ", 1);
        if (status == TSR_OK)
            status = tsri_base_bytes_append(&prefixed, text, n);
        text = prefixed.data;
        n = prefixed.size;
    }
    if (status == TSR_OK)
        status = s->split ? tsri_text_pattern_cover(s->pattern, text, n, with->steps, &with->cover)
                          : tsri_text_ranges_add(&with->cover, 0, n, true);
    for (size_t i = 0; i < with->cover.count && status == TSR_OK; i++) {
        const tsri_text_range range = with->cover.items[i];
        const size_t start = out->text.size;
        status =
            tsri_text_bytes_to_characters(text + range.start, range.end - range.start, &out->text);
        if (status == TSR_OK)
            status = tsri_text_splits_close(out, start, first && i == 0);
    }
    tsri_base_bytes_clear(&prefixed);
    return status;
}

static tsr_status load_behavior(const json_t *json, const char *what, step *s) {
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    const char *name = NULL;
    TRY(tsri_base_json_text(json, what, "behavior", &name));
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            s->behavior = (tsri_text_behavior)i;
            return TSR_OK;
        }
    }
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: \"behavior\" is \"%s\"; Removed, Isolated, MergedWithPrevious, "
                          "MergedWithNext and Contiguous are known",
                          what, name ? name : "");
}

static tsr_status load_split(const json_t *json, step *s) {
    TRY(load_behavior(json, "pre_tokenizer Split", s));
    TRY(tsri_base_json_bool(json, "pre_tokenizer Split", "invert", &s->invert));
    return tsri_text_pattern_from_json(json, "pre_tokenizer Split", &s->pattern);
}

static tsr_status split(const step *s, const char *text, size_t n, bool first, scratch *with,
                        tsri_text_splits *out) {
    TRY(tsri_text_pattern_cover(s->pattern, text, n, with->steps, &with->cover));
    for (size_t i = 0; s->invert && i < with->cover.count; i++)
        with->cover.items[i].match = !with->cover.items[i].match;
    return tsri_text_cut(text, &with->cover, s->behavior, first, out);
}

/* A cover in which every character of a class is a match of its own. */
static tsr_status cover_class(bool (*in_class)(int32_t), const char *text, size_t n,
                              tsri_text_ranges *cover) {
    size_t done = 0;
    for (size_t i = 0; i < n;) {
        int32_t c;
        const size_t size = tsri_text_utf8_next(text + i, n - i, &c);
        if (in_class(c)) {
            if (i > done)
                TRY(tsri_text_ranges_add(cover, done, i, false));
            done = i + size;
            TRY(tsri_text_ranges_add(cover, i, done, true));
        }
        i += size;
    }
    return done < n ? tsri_text_ranges_add(cover, done, n, false) : TSR_OK;
}

/* \w+|[^\w\s]+ : runs of word characters and runs of other characters are kept, spaces are
 * dropped. */
static tsr_status whitespace(const step *s, const char *text, size_t n, bool first, scratch *with,
                             tsri_text_splits *out) {
    (void)s;
    for (size_t i = 0; i < n;) {
        int32_t c;
        const size_t size = tsri_text_utf8_next(text + i, n - i, &c);
        const int kind = tsri_text_is_word(c) ? 1 : tsri_text_is_space(c) ? 0 : 2;
        size_t end = i + size;
        while (end < n) {
            const size_t more = tsri_text_utf8_next(text + end, n - end, &c);
            if ((tsri_text_is_word(c) ? 1 : tsri_text_is_space(c) ? 0 : 2) != kind)
                break;
            end += more;
        }
        TRY(tsri_text_ranges_add(&with->cover, i, end, kind == 0));
        i = end;
    }
    return tsri_text_cut(text, &with->cover, TSRI_TEXT_REMOVED, first, out);
}

static tsr_status whitespace_split(const step *s, const char *text, size_t n, bool first,
                                   scratch *with, tsri_text_splits *out) {
    (void)s;
    TRY(cover_class(tsri_text_is_space, text, n, &with->cover));
    return tsri_text_cut(text, &with->cover, TSRI_TEXT_REMOVED, first, out);
}

/* Words between white space; each punctuation character is a word. */
static tsr_status bert(const step *s, const char *text, size_t n, bool first, scratch *with,
                       tsri_text_splits *out) {
    (void)s, (void)with;
    size_t done = 0;
    for (size_t i = 0, size; i < n; i += size) {
        int32_t c;
        size = tsri_text_utf8_next(text + i, n - i, &c);
        const bool space = tsri_text_is_space(c);
        if (!space && !tsri_text_bert_is_punctuation(c))
            continue;
        TRY(tsri_text_splits_add(out, text + done, i - done, -1, first && done == 0));
        if (!space)
            TRY(tsri_text_splits_add(out, text + i, size, -1, first && i == 0));
        done = i + size;
    }
    return tsri_text_splits_add(out, text + done, n - done, -1, first && done == 0);
}

static tsr_status load_punctuation(const json_t *json, step *s) {
    s->behavior = TSRI_TEXT_ISOLATED;
    return json_object_get(json, "behavior") ? load_behavior(json, "pre_tokenizer Punctuation", s)
                                             : TSR_OK;
}

static tsr_status punctuation(const step *s, const char *text, size_t n, bool first, scratch *with,
                              tsri_text_splits *out) {
    TRY(cover_class(tsri_text_bert_is_punctuation, text, n, &with->cover));
    return tsri_text_cut(text, &with->cover, s->behavior, first, out);
}

static tsr_status load_digits(const json_t *json, step *s) {
    bool individual = false;
    TRY(tsri_base_json_bool(json, "pre_tokenizer Digits", "individual_digits", &individual));
    s->behavior = individual ? TSRI_TEXT_ISOLATED : TSRI_TEXT_CONTIGUOUS;
    return TSR_OK;
}

static tsr_status digits(const step *s, const char *text, size_t n, bool first, scratch *with,
                         tsri_text_splits *out) {
    TRY(cover_class(tsri_text_is_number, text, n, &with->cover));
    return tsri_text_cut(text, &with->cover, s->behavior, first, out);
}

static tsr_status load_metaspace(const json_t *json, step *s) {
    static const char what[] = "pre_tokenizer Metaspace";
    const char *scheme = NULL;
    bool add_prefix = true;
    int32_t replacement = 0x2581;
    s->split = true;
    TRY(tsri_text_character_from_json(json, what, "replacement", &replacement));
    TRY(tsri_base_json_text(json, what, "prepend_scheme", &scheme));
    TRY(tsri_base_json_bool(json, what, "add_prefix_space",
                            &add_prefix)); /* older files have no prepend_scheme */
    TRY(tsri_base_json_bool(json, what, "split", &s->split));
    s->replacement_size = tsri_text_utf8_put(replacement, s->replacement);
    if (!scheme)
        s->prefix = add_prefix ? ALWAYS : NEVER;
    else if (strcmp(scheme, "always") == 0)
        s->prefix = ALWAYS;
    else if (strcmp(scheme, "first") == 0)
        s->prefix = FIRST;
    else if (strcmp(scheme, "never") == 0)
        s->prefix = NEVER;
    else
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"prepend_scheme\" is \"%s\"; always, first and never are known",
                              what, scheme);
    return tsri_text_pattern_new(s->replacement, s->replacement_size, TSRI_TEXT_LITERAL,
                                 &s->pattern);
}

static tsr_status metaspace(const step *s, const char *text, size_t n, bool first, scratch *with,
                            tsri_text_splits *out) {
    tsri_bytes spaced = {0};
    tsr_status status = TSR_OK;
    const bool starts = text[0] == ' ' || (n >= s->replacement_size &&
                                           memcmp(text, s->replacement, s->replacement_size) == 0);
    if (!starts && (s->prefix == ALWAYS || (s->prefix == FIRST && first)))
        status = tsri_base_bytes_append(&spaced, s->replacement, s->replacement_size);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = text[i] == ' '
                     ? tsri_base_bytes_append(&spaced, s->replacement, s->replacement_size)
                     : tsri_base_bytes_append(&spaced, text + i, 1);
    if (status == TSR_OK)
        status = s->split ? tsri_text_pattern_cover(s->pattern, spaced.data, spaced.size,
                                                    with->steps, &with->cover)
                          : tsri_text_ranges_add(&with->cover, 0, spaced.size, false);
    if (status == TSR_OK)
        status = tsri_text_cut(spaced.data, &with->cover, TSRI_TEXT_MERGED_WITH_NEXT, first, out);
    tsri_base_bytes_clear(&spaced);
    return status;
}

static tsr_status load_delimiter(const json_t *json, step *s) {
    static const char what[] = "pre_tokenizer CharDelimiterSplit";
    int32_t delimiter = -1;
    char bytes[4];
    TRY(tsri_text_character_from_json(json, what, "delimiter", &delimiter));
    if (delimiter < 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"delimiter\" is missing", what);
    s->behavior = TSRI_TEXT_REMOVED;
    return tsri_text_pattern_new(bytes, tsri_text_utf8_put(delimiter, bytes), TSRI_TEXT_LITERAL,
                                 &s->pattern);
}

static tsr_status load_fixed_length(const json_t *json, step *s) {
    s->length = 5;
    return tsri_base_json_int(json, "pre_tokenizer FixedLength", "length", 1, INT32_MAX,
                              &s->length);
}

static tsr_status fixed_length(const step *s, const char *text, size_t n, bool first, scratch *with,
                               tsri_text_splits *out) {
    (void)with;
    for (size_t start = 0, end = 0; start < n; start = end) {
        int32_t c;
        for (int64_t i = 0; i < s->length && end < n; i++)
            end += tsri_text_utf8_next(text + end, n - end, &c);
        TRY(tsri_text_splits_add(out, text + start, end - start, -1, first && start == 0));
    }
    return TSR_OK;
}

static const step_row rows[] = {
    {"ByteLevel", load_byte_level, byte_level},
    {"CharDelimiterSplit", load_delimiter, split},
    {"FixedLength", load_fixed_length, fixed_length},
    {"Split", load_split, split},
    {"BertPreTokenizer", NULL, bert},
    {"Whitespace", NULL, whitespace},
    {"WhitespaceSplit", NULL, whitespace_split},
    {"Punctuation", load_punctuation, punctuation},
    {"Digits", load_digits, digits},
    {"Metaspace", load_metaspace, metaspace},
};

static const step_row *row_of(const char *type) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0)
            return &rows[i];
    return NULL;
}

static tsr_status add_step(tsri_text_pre_tokenizer *p, const step_row *row, step **out) {
    TRY(tsri_base_grow(&p->steps, &p->capacity, p->count + 1, sizeof *p->steps));
    *out = &p->steps[p->count++];
    **out = (step){.row = row};
    return TSR_OK;
}

static tsr_status add_json(const json_t *json, tsri_text_pre_tokenizer *p) {
    const char *type = NULL;
    TRY(tsri_text_type_of(json, "pre_tokenizer", &type));
    if (strcmp(type, "Sequence") == 0) {
        const json_t *list = NULL;
        TRY(tsri_text_list_of(json, "pre_tokenizer Sequence", "pretokenizers", &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            TRY(add_json(json_array_get(list, i), p));
        return TSR_OK;
    }
    const step_row *row = row_of(type);
    if (!row)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "pre_tokenizer \"%s\" is not supported", type);
    step *s;
    TRY(add_step(p, row, &s));
    return row->load ? row->load(json, s) : TSR_OK;
}

tsr_status tsri_text_pre_tokenizer_load(const json_t *json, tsri_text_pre_tokenizer **out) {
    *out = NULL;
    if (!json || json_is_null(json))
        return TSR_OK;
    tsri_text_pre_tokenizer *p = NULL;
    TRY(tsri_base_new(1, sizeof *p, &p));
    const tsr_status status = add_json(json, p);
    if (status != TSR_OK)
        tsri_text_pre_tokenizer_destroy(&p);
    *out = p;
    return status;
}

tsr_status tsri_text_pre_tokenizer_patterns(const char *const *patterns, size_t count,
                                            tsri_text_pre_tokenizer **out) {
    *out = NULL;
    tsri_text_pre_tokenizer *p = NULL;
    TRY(tsri_base_new(1, sizeof *p, &p));
    tsr_status status = TSR_OK;
    step *s;
    for (size_t i = 0; i < count && status == TSR_OK; i++) {
        status = add_step(p, row_of("Split"), &s);
        if (status != TSR_OK)
            break;
        s->behavior = TSRI_TEXT_ISOLATED;
        status =
            tsri_text_pattern_new(patterns[i], strlen(patterns[i]), TSRI_TEXT_PCRE2, &s->pattern);
    }
    if (status == TSR_OK)
        status = add_step(p, row_of("ByteLevel"), &s);
    if (status != TSR_OK)
        tsri_text_pre_tokenizer_destroy(&p);
    *out = p;
    return status;
}

static tsr_status one_step(const char *type, tsri_text_pre_tokenizer **out) {
    *out = NULL;
    tsri_text_pre_tokenizer *p = NULL;
    TRY(tsri_base_new(1, sizeof *p, &p));
    step *s;
    const tsr_status status = add_step(p, row_of(type), &s);
    if (status != TSR_OK)
        tsri_text_pre_tokenizer_destroy(&p);
    *out = p;
    return status;
}

tsr_status tsri_text_pre_tokenizer_bert(tsri_text_pre_tokenizer **out) {
    return one_step("BertPreTokenizer", out);
}

tsr_status tsri_text_pre_tokenizer_spaces(tsri_text_pre_tokenizer **out) {
    TRY(one_step("Split", out));
    const tsr_status status =
        tsri_text_pattern_new(" ", 1, TSRI_TEXT_LITERAL, &(*out)->steps[0].pattern);
    if (status != TSR_OK)
        tsri_text_pre_tokenizer_destroy(out);
    return status;
}

static tsr_status apply(const step *s, const tsri_text_splits *splits, scratch *with,
                        tsri_text_splits *out) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < splits->count && status == TSR_OK; i++) {
        const tsri_text_split piece = splits->items[i];
        const char *text = splits->text.data + piece.start;
        with->cover.count = 0;
        status = piece.id >= 0 ? tsri_text_splits_add(out, text, piece.size, piece.id, piece.first)
                               : s->row->apply(s, text, piece.size, piece.first, with, out);
    }
    return status == TSR_E_FORMAT ? tsri_base_fail_within(status, "pre_tokenizer %s", s->row->type)
                                  : status;
}

tsr_status tsri_text_pre_tokenizer_apply(const tsri_text_pre_tokenizer *p,
                                         tsri_text_allowance *allowance, tsri_text_splits *splits,
                                         tsri_text_splits *spare) {
    scratch with = {.steps = &allowance->steps};
    tsr_status status = TSR_OK;
    for (size_t k = 0; p && k < p->count && status == TSR_OK; k++) {
        tsri_text_splits_empty(spare);
        spare->text.limit = allowance->most;
        status = apply(&p->steps[k], splits, &with, spare);
        const tsri_text_splits swap = *splits;
        *splits = *spare;
        *spare = swap;
    }
    tsri_text_ranges_clear(&with.cover);
    return status;
}

tsr_status tsri_text_pre_tokenizer_describe(const tsri_text_pre_tokenizer *p, tsri_bytes *out) {
    for (size_t i = 0; p && i < p->count; i++) {
        TRY(tsri_base_bytes_printf(out, "%s%s", i ? ", " : "", p->steps[i].row->type));
        if (p->steps[i].pattern && p->steps[i].row->apply != metaspace)
            TRY(tsri_base_bytes_printf(out, " (%s)", tsri_text_pattern_kind(p->steps[i].pattern)));
    }
    return TSR_OK;
}

void tsri_text_pre_tokenizer_destroy(tsri_text_pre_tokenizer **p) {
    if (!*p)
        return;
    for (size_t i = 0; i < (*p)->count; i++)
        tsri_text_pattern_destroy(&(*p)->steps[i].pattern);
    free((*p)->steps);
    free(*p);
    *p = NULL;
}
