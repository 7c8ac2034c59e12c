/* text/jinja/values.c - memory, and what values are: texts with their marks, lists, dicts. */
#include "text/base/unicode.h"
#include "text/jinja/parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct jinja_chunk {
    jinja_chunk *before;
    size_t used, room;
    char data[];
};
enum { CHUNK = 1 << 14, ALIGN = 16 };

tsr_status tsri_jinja_alloc(jinja_arena *a, size_t n, void *out) {
    if (n > a->limit || a->used > a->limit - n)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "the template needs more than %zu MiB of memory",
                              a->limit >> 20);
    n = (n + ALIGN) & ~(size_t)(ALIGN - 1);
    a->used += n;
    jinja_chunk *c = a->last;
    if (!c || c->room - c->used < n) {
        const size_t room = n > CHUNK ? n : CHUNK;
        TRY(tsri_base_new(1, sizeof *c + room, &c));
        c->before = a->last;
        c->room = room;
        a->last = c;
    }
    *(void **)out = c->data + c->used;
    c->used += n;
    return TSR_OK;
}

void tsri_jinja_free(jinja_arena *a) {
    while (a->last) {
        jinja_chunk *c = a->last;
        a->last = c->before;
        free(c);
    }
}

tsr_status tsri_jinja_fail(const jinja_run *r, tsr_status s, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return tsri_base_fail(s, "chat template, line %d: %s", r->line, text);
}

tsr_status tsri_jinja_step(jinja_run *r, size_t n) {
    r->steps += n;
    return r->steps <= TSRI_JINJA_STEPS
               ? TSR_OK
               : tsri_jinja_fail(r, TSR_E_UNSUPPORTED, "the template takes more than %d steps",
                                 TSRI_JINJA_STEPS);
}

tsr_status tsri_jinja_enter(jinja_run *r) {
    if (r->depth >= TSRI_JINJA_DEPTH)
        return tsri_jinja_fail(r, TSR_E_UNSUPPORTED, "calls or values are nested more than %d deep",
                               TSRI_JINJA_DEPTH);
    r->depth++;
    return TSR_OK;
}

tsr_status tsri_jinja_nest(jinja_run *r) {
    if (r->chain >= TSRI_JINJA_CHAIN)
        return tsri_jinja_fail(r, TSR_E_UNSUPPORTED,
                               "operators, filters or attributes are nested more than %d deep: "
                               "give parts of the chain names with {%% set %%}",
                               TSRI_JINJA_CHAIN);
    r->chain++;
    return TSR_OK;
}

/* ---- texts ---- */

tsr_status tsri_jinja_put(jinja_run *r, jinja_buffer *b, const char *data, const char *said,
                          size_t n) {
    if (!n)
        return TSR_OK;
    if (b->room - b->n < n) {
        const size_t room = 2 * b->n + n + 64;
        char *grown, *marks;
        TRY(tsri_jinja_alloc(&r->arena, room, &grown));
        TRY(tsri_jinja_alloc(&r->arena, room, &marks));
        if (b->n) {
            memcpy(grown, b->data, b->n);
            memcpy(marks, b->said, b->n);
        }
        b->data = grown;
        b->said = marks;
        b->room = room;
    }
    memcpy(b->data + b->n, data, n);
    if (said)
        memcpy(b->said + b->n, said, n);
    else
        memset(b->said + b->n, 0, n);
    b->n += n;
    return tsri_jinja_step(r, n / 64);
}

tsr_status tsri_jinja_put_text(jinja_run *r, jinja_buffer *b, const jinja_text *t) {
    return tsri_jinja_put(r, b, t->data, t->said, t->n);
}

tsr_status tsri_jinja_text(jinja_run *r, const char *data, const char *said, size_t n,
                           jinja_value *out) {
    jinja_text *t;
    TRY(tsri_jinja_alloc(&r->arena, sizeof *t, &t));
    *t = (jinja_text){.n = n, .data = n ? data : "", .said = said};
    *out = (jinja_value){.kind = J_TEXT, .text = t};
    return TSR_OK;
}

tsr_status tsri_jinja_take(jinja_run *r, const jinja_buffer *b, jinja_value *out) {
    return tsri_jinja_text(r, b->data, b->said, b->n, out);
}

tsr_status tsri_jinja_literal(jinja_run *r, const char *s, jinja_value *out) {
    return tsri_jinja_text(r, s, NULL, strlen(s), out);
}

size_t tsri_jinja_length(const jinja_text *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        n += ((unsigned char)t->data[i] & 0xC0) != 0x80;
    return n;
}

/* The byte at which code point `at` starts. */
size_t tsri_jinja_offset(const jinja_text *t, size_t at) {
    size_t i = 0;
    for (; i < t->n; i++)
        if (((unsigned char)t->data[i] & 0xC0) != 0x80 && at-- == 0)
            break;
    return i;
}

tsr_status tsri_jinja_slice(jinja_run *r, const jinja_text *t, int64_t from, int64_t to,
                            int64_t step, jinja_value *out) {
    const bool up = step > 0;
    size_t used = 0, at = up ? 0 : t->n;
    char *data, *said = NULL;
    TRY(tsri_jinja_step(r, t->n / 16));
    if (step == 1) {
        const size_t begin = tsri_jinja_offset(t, (size_t)from),
                     end = to > from ? tsri_jinja_offset(t, (size_t)to) : begin;
        return tsri_jinja_text(r, t->data + begin, t->said ? t->said + begin : NULL, end - begin,
                               out);
    }
    TRY(tsri_jinja_alloc(&r->arena, t->n + 1, &data));
    if (t->said)
        TRY(tsri_jinja_alloc(&r->arena, t->n + 1, &said));
    for (int64_t i = up ? 0 : (int64_t)tsri_jinja_length(t) - 1; up ? i < to : i > to;
         i += up ? 1 : -1) {
        int32_t c;
        const size_t start = up ? at : tsri_text_utf8_before(t->data, at),
                     n = up ? tsri_text_utf8_next(t->data + at, t->n - at, &c) : at - start;
        at = up ? at + n : start;
        if ((up ? i < from : i > from) || (i - from) % step != 0)
            continue;
        memcpy(data + used, t->data + start, n);
        if (said)
            memcpy(said + used, t->said + start, n);
        used += n;
    }
    return tsri_jinja_text(r, data, said, used, out);
}

/* The digits of a whole number, with single underscores between them; false: something else, or above 64 bits. */
static bool read_digits(const char *at, const char *end, int64_t base, int64_t *out) {
    bool digit = false;
    *out = 0;
    for (; at < end; at++) {
        const char c = *at;
        if (c == '_' && digit && at + 1 < end) {
            digit = false;
            continue;
        }
        const int64_t value = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'z' ? c - 'a' + 10
                              : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                                     : 36;
        digit = true;
        if (value >= base || __builtin_mul_overflow(*out, base, out) ||
            __builtin_add_overflow(*out, value, out))
            return false;
    }
    return digit;
}

bool tsri_jinja_whole(const jinja_text *t, int64_t base, int64_t *out) {
    static const char letters[] = "xXoObB";
    static const int64_t bases[] = {16, 16, 8, 8, 2, 2};
    static const char space[] = " \n\t\r\v\f";
    const char *at = t->data, *end = at + t->n;
    while (at < end && *at && strchr(space, *at))
        at++;
    while (end > at && end[-1] && strchr(space, end[-1]))
        end--;
    const bool minus = at < end && *at == '-';
    at += minus || (at < end && *at == '+');
    const char *letter = end - at > 2 && *at == '0' && at[1] ? strchr(letters, at[1]) : NULL;
    if (letter && (!base || base == bases[letter - letters])) {
        base = bases[letter - letters];
        at += 2;
        at += *at == '_';
    }
    if (base < 0 || base == 1 || base > 36 || !read_digits(at, end, base ? base : 10, out))
        return false;
    *out = minus ? -*out : *out;
    return true;
}

/* str.isspace of Python. */
bool tsri_jinja_space(int32_t c) {
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

/* ---- lists and dicts ---- */

tsr_status tsri_jinja_list(jinja_run *r, jinja_kind kind, jinja_value *out) {
    jinja_list *l;
    TRY(tsri_jinja_alloc(&r->arena, sizeof *l, &l));
    *l = (jinja_list){0};
    *out = (jinja_value){.kind = kind, .list = l};
    return TSR_OK;
}

tsr_status tsri_jinja_push(jinja_run *r, jinja_list *l, jinja_value v) {
    if (l->n == l->room) {
        const size_t room = 2 * l->n + 4;
        jinja_value *items;
        TRY(tsri_jinja_alloc(&r->arena, room * sizeof *items, &items));
        if (l->n)
            memcpy(items, l->items, l->n * sizeof *items);
        l->items = items;
        l->room = room;
    }
    l->items[l->n++] = v;
    return tsri_jinja_step(r, 1);
}

tsr_status tsri_jinja_dict(jinja_run *r, jinja_kind kind, jinja_value *out) {
    jinja_dict *d;
    TRY(tsri_jinja_alloc(&r->arena, sizeof *d, &d));
    *d = (jinja_dict){0};
    *out = (jinja_value){.kind = kind, .dict = d};
    return TSR_OK;
}

tsr_status tsri_jinja_find(jinja_run *r, const jinja_dict *d, jinja_value key, jinja_value *out,
                           bool *found) {
    *found = false;
    TRY(tsri_jinja_step(r, d->n / 8));
    if (key.kind == J_LIST || key.kind == J_DICT)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a %s can't be a key", tsri_jinja_kind(&key));
    for (size_t i = 0; i < d->n && !*found; i++) {
        TRY(tsri_jinja_equal(r, &d->keys[i], &key, found));
        if (*found)
            *out = d->values[i];
    }
    return TSR_OK;
}

bool tsri_jinja_get(const jinja_dict *d, const char *key, size_t n, jinja_value *out) {
    for (size_t i = 0; i < d->n; i++)
        if (d->keys[i].kind == J_TEXT && d->keys[i].text->n == n &&
            !memcmp(d->keys[i].text->data, key, n)) {
            *out = d->values[i];
            return true;
        }
    return false;
}

tsr_status tsri_jinja_set(jinja_run *r, jinja_dict *d, jinja_value key, jinja_value v) {
    bool same = false;
    if (key.kind == J_LIST || key.kind == J_DICT)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a %s can't be a key", tsri_jinja_kind(&key));
    TRY(tsri_jinja_step(r, 1 + d->n / 8));
    for (size_t i = 0; i < d->n; i++) {
        TRY(tsri_jinja_equal(r, &d->keys[i], &key, &same));
        if (same) {
            d->values[i] = v;
            return TSR_OK;
        }
    }
    if (d->n == d->room) {
        const size_t room = 2 * d->n + 4;
        jinja_value *keys;
        TRY(tsri_jinja_alloc(&r->arena, 2 * room * sizeof *keys, &keys));
        if (d->n) {
            memcpy(keys, d->keys, d->n * sizeof *keys);
            memcpy(keys + room, d->values, d->n * sizeof *keys);
        }
        d->keys = keys;
        d->values = keys + room;
        d->room = room;
    }
    d->keys[d->n] = key;
    d->values[d->n++] = v;
    return TSR_OK;
}

/* What iterating gives: items, keys, code points; nothing for what is undefined. */
tsr_status tsri_jinja_items(jinja_run *r, const jinja_value *v, jinja_list **out) {
    jinja_value made;
    if (v->kind == J_LIST || v->kind == J_TUPLE) {
        *out = v->list;
        return TSR_OK;
    }
    TRY(tsri_jinja_list(r, J_LIST, &made));
    *out = made.list;
    if (v->kind == J_UNDEFINED)
        return TSR_OK;
    if (v->kind == J_DICT) {
        for (size_t i = 0; i < v->dict->n; i++)
            TRY(tsri_jinja_push(r, made.list, v->dict->keys[i]));
        return TSR_OK;
    }
    if (v->kind != J_TEXT)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a %s has no items", tsri_jinja_kind(v));
    for (size_t i = 0; i < v->text->n;) {
        int32_t c;
        const size_t n = tsri_text_utf8_next(v->text->data + i, v->text->n - i, &c);
        jinja_value one;
        TRY(tsri_jinja_text(r, v->text->data + i, v->text->said ? v->text->said + i : NULL, n,
                            &one));
        TRY(tsri_jinja_push(r, made.list, one));
        i += n;
    }
    return TSR_OK;
}

const char *tsri_jinja_kind(const jinja_value *v) {
    static const char *const names[] = {"value that is undefined",
                                        "None",
                                        "bool",
                                        "int",
                                        "float",
                                        "str",
                                        "list",
                                        "tuple",
                                        "dict",
                                        "namespace",
                                        "macro",
                                        "method",
                                        "function",
                                        "loop",
                                        "cycler",
                                        "joiner"};
    return names[v->kind];
}

bool tsri_jinja_truth(const jinja_value *v) {
    switch (v->kind) {
    case J_UNDEFINED:
    case J_NONE:
        return false;
    case J_BOOL:
    case J_INT:
        return v->i != 0;
    case J_FLOAT:
        return v->f != 0;
    case J_TEXT:
        return v->text->n != 0;
    case J_LIST:
    case J_TUPLE:
        return v->list->n != 0;
    case J_DICT:
        return v->dict->n != 0;
    default:
        return true;
    }
}

static bool is_number(const jinja_value *v) {
    return v->kind == J_BOOL || v->kind == J_INT || v->kind == J_FLOAT;
}

static double as_float(const jinja_value *v) {
    return v->kind == J_FLOAT ? v->f : (double)v->i;
}

static tsr_status equal_dicts(jinja_run *r, const jinja_dict *a, const jinja_dict *b, bool *out) {
    *out = a->n == b->n;
    for (size_t i = 0; i < a->n && *out; i++) {
        jinja_value other;
        TRY(tsri_jinja_find(r, b, a->keys[i], &other, out));
        if (*out)
            TRY(tsri_jinja_equal(r, &a->values[i], &other, out));
    }
    return TSR_OK;
}

tsr_status tsri_jinja_equal(jinja_run *r, const jinja_value *a, const jinja_value *b, bool *out) {
    TRY(tsri_jinja_step(r, 1));
    if (is_number(a) && is_number(b)) {
        *out = a->kind == J_FLOAT || b->kind == J_FLOAT ? as_float(a) == as_float(b) : a->i == b->i;
        return TSR_OK;
    }
    *out = a->kind == b->kind;
    if (!*out || a->kind <= J_NONE)
        return TSR_OK;
    if (a->kind == J_TEXT) {
        *out = a->text->n == b->text->n && !memcmp(a->text->data, b->text->data, a->text->n);
        return tsri_jinja_step(r, *out ? a->text->n / 256 : 0);
    }
    if (a->kind != J_LIST && a->kind != J_TUPLE && a->kind != J_DICT) {
        *out = a->dict == b->dict;
        return TSR_OK;
    }
    TRY(tsri_jinja_enter(r));
    tsr_status status = TSR_OK;
    if (a->kind == J_DICT)
        status = equal_dicts(r, a->dict, b->dict, out);
    else {
        *out = a->list->n == b->list->n;
        for (size_t i = 0; i < a->list->n && *out && status == TSR_OK; i++)
            status = tsri_jinja_equal(r, &a->list->items[i], &b->list->items[i], out);
    }
    r->depth--;
    return status;
}

tsr_status tsri_jinja_compare(jinja_run *r, const jinja_value *a, const jinja_value *b, int *out) {
    TRY(tsri_jinja_step(r, 1));
    if (is_number(a) && is_number(b)) {
        const double x = as_float(a), y = as_float(b);
        *out = a->kind == J_FLOAT || b->kind == J_FLOAT ? (x > y) - (x < y)
                                                        : (a->i > b->i) - (a->i < b->i);
        return TSR_OK;
    }
    if (a->kind == J_TEXT && b->kind == J_TEXT) {
        const size_t n = a->text->n < b->text->n ? a->text->n : b->text->n;
        const int c = memcmp(a->text->data, b->text->data, n);
        *out = c ? c : (a->text->n > b->text->n) - (a->text->n < b->text->n);
        return tsri_jinja_step(r, n / 256);
    }
    if (a->kind == b->kind && (a->kind == J_LIST || a->kind == J_TUPLE)) {
        TRY(tsri_jinja_enter(r));
        const jinja_list *x = a->list, *y = b->list;
        for (size_t i = 0; i < x->n && i < y->n; i++) {
            bool same;
            TRY(tsri_jinja_equal(r, &x->items[i], &y->items[i], &same));
            if (!same) {
                TRY(tsri_jinja_compare(r, &x->items[i], &y->items[i], out));
                r->depth--;
                return TSR_OK;
            }
        }
        *out = (x->n > y->n) - (x->n < y->n);
        r->depth--;
        return TSR_OK;
    }
    return tsri_jinja_fail(r, TSR_E_FORMAT, "a %s can't be compared with a %s", tsri_jinja_kind(a),
                           tsri_jinja_kind(b));
}
