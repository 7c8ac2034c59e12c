/* text/base/entries.c - reads the long lists of a tokenizer.json, from its text or from parsed JSON. */
#include "text/base/entries.h"

#include "base/error.h"
#include "text/base/json_scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where the lists are ---- */

typedef struct cutting {
    tsri_text_model_file *file;
    const char *end;
    int models;
    const char *cuts[2][2]; /* begin and end, in the order of the text */
    size_t n_cuts;
} cutting;

static bool see_model_member(void *data, const char *key, size_t n, const char **value) {
    cutting *c = data;
    const char *begin = *value;
    size_t count = 0;
    tsri_text_span *span = tsri_text_scan_is_key(key, n, "vocab")    ? &c->file->vocab
                           : tsri_text_scan_is_key(key, n, "merges") ? &c->file->merges
                                                                     : NULL;
    if (!(*value = tsri_text_scan_value(begin, c->end, &count)))
        return false;
    if (!span || (*begin != '[' && *begin != '{'))
        return true;
    if (span->text)
        return false;
    *span = (tsri_text_span){begin, (size_t)(*value - begin), count};
    c->cuts[c->n_cuts][0] = begin + 1;
    c->cuts[c->n_cuts++][1] = *value - 1;
    return true;
}

static bool see_member(void *data, const char *key, size_t n, const char **value) {
    cutting *c = data;
    size_t count;
    if (!tsri_text_scan_is_key(key, n, "model") || **value != '{')
        return (*value = tsri_text_scan_value(*value, c->end, &count)) != NULL;
    return c->models++ == 0 && tsri_text_scan_object(value, c->end, see_model_member, c);
}

tsr_status tsri_text_cut_lists(const char *text, size_t n, tsri_text_model_file *file,
                               tsri_bytes *rest) {
    cutting c = {.file = file, .end = text + n};
    const char *at = tsri_text_scan_space(text, c.end), *kept = text;
    if (at >= c.end || *at != '{' || !tsri_text_scan_object(&at, c.end, see_member, &c))
        return tsri_text_scan_unusual();
    for (size_t i = 0; i < c.n_cuts; i++) {
        TRY(tsri_base_bytes_append(rest, kept, (size_t)(c.cuts[i][0] - kept)));
        kept = c.cuts[i][1];
    }
    return tsri_base_bytes_append(rest, kept, (size_t)(c.end - kept));
}

/* ---- numbers ---- */

/* Where the reading of a list is: in parsed JSON, or in text. */
typedef struct entries {
    size_t at;
    tsri_text_item item;
    const json_t *parsed;
    void *member;
    const char *text, *end;
    tsri_bytes unescaped[2];
} entries;

/* The library reads a number as its digits, rounded to a double, times a power of ten: two
 * roundings where there are more than 15 digits. In a run of one character some cuts differ in
 * their sum by this last bit only. False where it takes another way. */
static bool scale(uint64_t digits, int exponent, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits == 0 || exponent > 0 || exponent < -22)
        return false;
    *out = (double)digits / powers[-exponent];
    return true;
}

/* The digits of a number in a text, "-12.5", up to what cannot be one of them; false where they are
 * more than 64 bits hold. */
static bool read_digits(const char **text, const char *end, uint64_t *digits, int *places) {
    const char *at = *text;
    bool behind = false;
    *digits = 0;
    *places = 0;
    for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !behind)); at++) {
        if (*at == '.') {
            behind = true;
            continue;
        }
        if (*digits > (UINT64_MAX - 9) / 10)
            return false;
        *digits = 10 * *digits + (uint64_t)(*at - '0');
        *places += behind;
    }
    *text = at;
    return true;
}

/* The fewest digits that give a parsed number back, as the library writes them. */
static double read_twice_rounded(double exact) {
    char text[40];
    uint64_t digits;
    int places;
    double rounded;
    for (int n = 15; n <= 17; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, fabs(exact));
        if (strtod(text, NULL) == fabs(exact))
            break;
    }
    char *e = strchr(text, 'e');
    const char *at = text;
    for (char *c = text; c < e; c++)
        if (*c < '0' || *c > '9')
            *c = '.'; /* the decimal point of any locale */
    if (!e || !read_digits(&at, e, &digits, &places))
        return exact;
    for (; digits && digits % 10 == 0; places--)
        digits /= 10;
    return scale(digits, atoi(e + 1) - places, &rounded) ? copysign(rounded, exact) : exact;
}

/* A number without an exponent, as these lists have them. */
static tsr_status read_number(entries *e) {
    const char *begin = e->text;
    const bool negative = *begin == '-';
    uint64_t digits;
    int places;
    e->text += negative;
    const char *first = e->text;
    if (!read_digits(&e->text, e->end, &digits, &places) || e->text == first ||
        (*first == '0' && e->text - first > 1 && first[1] != '.') || *first == '.' ||
        e->text[-1] == '.')
        return tsri_text_scan_unusual();
    e->item.number = true;
    e->item.whole = !memchr(first, '.', (size_t)(e->text - first));
    if (e->item.whole && digits > INT64_MAX)
        return tsri_text_scan_unusual();
    e->item.integer = e->item.whole ? negative ? -(int64_t)digits : (int64_t)digits : 0;
    e->item.real = 0;
    if (digits && !scale(digits, -places, &e->item.real))
        return tsri_text_scan_unusual();
    e->item.real = negative ? -e->item.real : e->item.real;
    return TSR_OK;
}

/* ---- entries ---- */

/* The character `c`, and white space before and behind it. */
static tsr_status read_mark(entries *e, char c) {
    e->text = tsri_text_scan_space(e->text, e->end);
    if (e->text >= e->end || *e->text != c)
        return tsri_text_scan_unusual();
    e->text = tsri_text_scan_space(e->text + 1, e->end);
    return e->text < e->end || c == ']' || c == '}' ? TSR_OK : tsri_text_scan_unusual();
}

static tsr_status read_part(entries *e, int i) {
    if (*e->text == '"')
        return tsri_text_scan_text(&e->text, e->end, &e->unescaped[i], &e->item.text[i],
                                   &e->item.size[i]);
    return i ? read_number(e) : tsri_text_scan_unusual();
}

static tsr_status next_of_text(entries *e, bool object) {
    if (e->at)
        TRY(read_mark(e, ','));
    const bool pair = *e->text == '[';
    if (pair && object)
        return tsri_text_scan_unusual();
    if (pair)
        TRY(read_mark(e, '['));
    TRY(read_part(e, 0));
    if (object || pair) {
        TRY(read_mark(e, object ? ':' : ','));
        TRY(object ? read_number(e) : read_part(e, 1));
    }
    return pair ? read_mark(e, ']') : TSR_OK;
}

static void take_text(tsri_text_item *item, int i, const json_t *value) {
    item->text[i] = json_string_value(value);
    item->size[i] = json_string_length(value);
}

static void take_number(tsri_text_item *item, const json_t *value) {
    item->number = json_is_number(value);
    item->whole = json_is_integer(value);
    item->integer = json_integer_value(value);
    item->real =
        json_is_real(value) ? read_twice_rounded(json_real_value(value)) : (double)item->integer;
}

static void next_of_parsed(entries *e) {
    if (json_is_object(e->parsed)) {
        json_t *object = (json_t *)(uintptr_t)e->parsed; /* it is only read */
        e->member = e->at ? json_object_iter_next(object, e->member) : json_object_iter(object);
        e->item.text[0] = json_object_iter_key(e->member);
        e->item.size[0] = strlen(e->item.text[0]);
        take_number(&e->item, json_object_iter_value(e->member));
        return;
    }
    const json_t *value = json_array_get(e->parsed, e->at), *first = json_array_get(value, 0),
                 *second = json_array_get(value, 1);
    if (json_is_string(value)) {
        take_text(&e->item, 0, value);
    } else if (json_array_size(value) == 2 && json_is_string(first)) {
        take_text(&e->item, 0, first);
        if (json_is_string(second))
            take_text(&e->item, 1, second);
        else
            take_number(&e->item, second);
    }
}

static const tsri_text_span *span_of(const tsri_text_model_file *file, const char *key) {
    return strcmp(key, "vocab") == 0 ? &file->vocab : &file->merges;
}

size_t tsri_text_count_entries(const tsri_text_model_file *file, const char *key) {
    const tsri_text_span *span = span_of(file, key);
    const json_t *parsed = json_object_get(file->json, key);
    return span->text               ? span->count
           : json_is_object(parsed) ? json_object_size(parsed)
                                    : json_array_size(parsed);
}

tsr_status tsri_text_each_entry(const tsri_text_model_file *file, const char *key,
                                tsr_status (*take)(void *data, size_t number,
                                                   const tsri_text_item *item),
                                void *data) {
    const tsri_text_span *span = span_of(file, key);
    const size_t count = tsri_text_count_entries(file, key);
    entries e = {.parsed = json_object_get(file->json, key)};
    const bool direct = span->text != NULL, object = direct && *span->text == '{';
    tsr_status status = TSR_OK;
    if (direct) {
        e.text = span->text;
        e.end = span->text + span->size;
        status = read_mark(&e, *span->text);
    }
    for (; e.at < count && status == TSR_OK; e.at++) {
        e.item = (tsri_text_item){0};
        if (direct)
            status = next_of_text(&e, object);
        else
            next_of_parsed(&e);
        if (status == TSR_OK)
            status = take(data, e.at, &e.item);
    }
    if (status == TSR_OK && direct)
        status = read_mark(&e, object ? '}' : ']');
    for (int i = 0; i < 2; i++)
        tsri_base_bytes_clear(&e.unescaped[i]);
    return status;
}
