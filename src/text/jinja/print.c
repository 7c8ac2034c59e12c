/* text/jinja/print.c - values as Python prints them, and as JSON. */
#include "base/numbers.h"
#include "text/base/unicode.h"
#include "text/jinja/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static tsr_status put(jinja_run *r, jinja_buffer *b, const char *s) {
    return tsri_jinja_put(r, b, s, NULL, strlen(s));
}

/* repr(float): the fewest digits that give the same number. */
static tsr_status put_float(jinja_run *r, jinja_buffer *b, double f, bool json) {
    char text[64], out[64];
    if (isnan(f) || isinf(f))
        return put(r, b,
                   isnan(f) ? (json ? "NaN" : "nan")
                   : f > 0  ? (json ? "Infinity" : "inf")
                   : json   ? "-Infinity"
                            : "-inf");
    int digits = 0;
    do
        tsri_base_print(text, sizeof text, "%.*e", digits, f);
    while (tsri_base_read_number(text, NULL) != f && digits++ < 17);
    const int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < -4 || exponent >= 16)
        tsri_base_print(out, sizeof out, "%.*e", digits, f);
    else
        tsri_base_print(out, sizeof out, "%.*f", digits - exponent > 1 ? digits - exponent : 1, f);
    return put(r, b, out);
}

/* repr(str): with ' unless it holds ' and no ". */
static tsr_status put_repr(jinja_run *r, jinja_buffer *b, const jinja_text *t) {
    const char quote = memchr(t->data, '\'', t->n) && !memchr(t->data, '"', t->n) ? '"' : '\'';
    TRY(tsri_jinja_put(r, b, &quote, NULL, 1));
    for (size_t i = 0; i < t->n;) {
        int32_t c;
        char out[16];
        const size_t n = tsri_text_utf8_next(t->data + i, t->n - i, &c);
        const char *said = t->said ? t->said + i : NULL;
        const char *name = c == '\n'   ? "\\n"
                           : c == '\r' ? "\\r"
                           : c == '\t' ? "\\t"
                           : c == '\\' ? "\\\\"
                                       : NULL;
        if (name)
            TRY(put(r, b, name));
        else if (c == quote)
            TRY((snprintf(out, sizeof out, "\\%c", quote), put(r, b, out)));
        else if (c >= 0 && !tsri_text_is_printable(c))
            TRY((snprintf(out, sizeof out,
                          c < 0x100     ? "\\x%02x"
                          : c < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                          (unsigned)c),
                 put(r, b, out)));
        else
            TRY(tsri_jinja_put(r, b, t->data + i, said, n));
        i += n;
    }
    return tsri_jinja_put(r, b, &quote, NULL, 1);
}

static tsr_status put_nested(jinja_run *r, jinja_buffer *b, const jinja_value *v) {
    const bool tuple = v->kind == J_TUPLE;
    if (v->kind == J_DICT) {
        TRY(put(r, b, "{"));
        for (size_t i = 0; i < v->dict->n; i++) {
            TRY(put(r, b, i ? ", " : ""));
            TRY(tsri_jinja_print(r, b, &v->dict->keys[i], true));
            TRY(put(r, b, ": "));
            TRY(tsri_jinja_print(r, b, &v->dict->values[i], true));
        }
        return put(r, b, "}");
    }
    TRY(put(r, b, tuple ? "(" : "["));
    for (size_t i = 0; i < v->list->n; i++) {
        TRY(put(r, b, i ? ", " : ""));
        TRY(tsri_jinja_print(r, b, &v->list->items[i], true));
    }
    return put(r, b, !tuple ? "]" : v->list->n == 1 ? ",)" : ")");
}

tsr_status tsri_jinja_print(jinja_run *r, jinja_buffer *b, const jinja_value *v, bool repr) {
    char text[32];
    TRY(tsri_jinja_step(r, 1));
    switch (v->kind) {
    case J_UNDEFINED:
        return repr ? put(r, b, "Undefined") : TSR_OK;
    case J_NONE:
        return put(r, b, "None");
    case J_BOOL:
        return put(r, b, v->i ? "True" : "False");
    case J_INT:
        snprintf(text, sizeof text, "%lld", (long long)v->i);
        return put(r, b, text);
    case J_FLOAT:
        return put_float(r, b, v->f, false);
    case J_TEXT:
        return repr ? put_repr(r, b, v->text) : tsri_jinja_put_text(r, b, v->text);
    case J_LIST:
    case J_TUPLE:
    case J_DICT: {
        TRY(tsri_jinja_enter(r));
        const tsr_status status = put_nested(r, b, v);
        r->depth--;
        return status;
    }
    default:
        return tsri_jinja_fail(r, TSR_E_UNSUPPORTED, "a %s can't be printed", tsri_jinja_kind(v));
    }
}

tsr_status tsri_jinja_str(jinja_run *r, const jinja_value *v, jinja_value *out) {
    jinja_buffer b = {0};
    if (v->kind == J_TEXT) {
        *out = *v;
        return TSR_OK;
    }
    TRY(tsri_jinja_print(r, &b, v, false));
    return tsri_jinja_take(r, &b, out);
}

/* ---- JSON ---- */

typedef struct style {
    const char *indent, *comma, *colon;
    size_t level;
    bool ascii, sort;
} style;

static tsr_status put_json_text(jinja_run *r, jinja_buffer *b, const style *s,
                                const jinja_text *t) {
    TRY(put(r, b, "\""));
    for (size_t i = 0; i < t->n;) {
        static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
        int32_t c;
        char out[16] = "";
        const size_t n = tsri_text_utf8_next(t->data + i, t->n - i, &c);
        const char *known = c > 0 && c < 0x80 ? strchr(from, (int)c) : NULL;
        if (known)
            snprintf(out, sizeof out, "\\%c", to[known - from]);
        else if (c >= 0x10000 && s->ascii)
            snprintf(out, sizeof out, "\\u%04x\\u%04x", 0xD800u + (((unsigned)c - 0x10000) >> 10),
                     0xDC00u + (((unsigned)c - 0x10000) & 0x3FF));
        else if ((c >= 0 && c < 32) || (c >= 0x7F && s->ascii))
            snprintf(out, sizeof out, "\\u%04x", (unsigned)c);
        TRY(*out ? put(r, b, out)
                 : tsri_jinja_put(r, b, t->data + i, t->said ? t->said + i : NULL, n));
        i += n;
    }
    return put(r, b, "\"");
}

static tsr_status put_json(jinja_run *r, jinja_buffer *b, style *s, const jinja_value *v);

static tsr_status new_line(jinja_run *r, jinja_buffer *b, const style *s) {
    if (!s->indent)
        return TSR_OK;
    TRY(put(r, b, "\n"));
    for (size_t i = 0; i < s->level; i++)
        TRY(put(r, b, s->indent));
    return TSR_OK;
}

static tsr_status put_key(jinja_run *r, jinja_buffer *b, const style *s, const jinja_value *key) {
    jinja_buffer text = {0};
    jinja_value v = *key;
    style plain = *s;
    if (key->kind != J_TEXT) {
        TRY(put_json(r, &text, &plain, key));
        TRY(tsri_jinja_take(r, &text, &v));
    }
    TRY(put_json_text(r, b, s, v.text));
    return put(r, b, s->colon);
}

static tsr_status put_json_nested(jinja_run *r, jinja_buffer *b, style *s, const jinja_value *v) {
    const bool dict = v->kind == J_DICT;
    const size_t n = dict ? v->dict->n : v->list->n;
    jinja_value sorted = *v;
    if (!n)
        return put(r, b, dict ? "{}" : "[]");
    if (dict && s->sort) {
        const jinja_args a = {.n = 2, .at = {*v, BOOL(1)}}; /* with regard to case */
        jinja_value pairs;
        TRY(tsri_jinja_filter(r, "dictsort", &a, &pairs));
        TRY(tsri_jinja_dict(r, J_DICT, &sorted));
        for (size_t i = 0; i < n; i++)
            TRY(tsri_jinja_set(r, sorted.dict, pairs.list->items[i].list->items[0],
                               pairs.list->items[i].list->items[1]));
    }
    TRY(put(r, b, dict ? "{" : "["));
    s->level++;
    for (size_t i = 0; i < n; i++) {
        TRY(put(r, b, i ? s->comma : ""));
        TRY(new_line(r, b, s));
        if (dict)
            TRY(put_key(r, b, s, &sorted.dict->keys[i]));
        TRY(put_json(r, b, s, dict ? &sorted.dict->values[i] : &v->list->items[i]));
    }
    s->level--;
    TRY(new_line(r, b, s));
    return put(r, b, dict ? "}" : "]");
}

static tsr_status put_json(jinja_run *r, jinja_buffer *b, style *s, const jinja_value *v) {
    TRY(tsri_jinja_step(r, 1));
    switch (v->kind) {
    case J_NONE:
        return put(r, b, "null");
    case J_BOOL:
        return put(r, b, v->i ? "true" : "false");
    case J_INT:
        return tsri_jinja_print(r, b, v, false);
    case J_FLOAT:
        return put_float(r, b, v->f, true);
    case J_TEXT:
        return put_json_text(r, b, s, v->text);
    case J_LIST:
    case J_TUPLE:
    case J_DICT: {
        TRY(tsri_jinja_enter(r));
        const tsr_status status = put_json_nested(r, b, s, v);
        r->depth--;
        return status;
    }
    default:
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a %s can't be written as JSON",
                               tsri_jinja_kind(v));
    }
}

static tsr_status c_text(jinja_run *r, const jinja_value *v, const char **out) {
    char *s;
    if (v->kind != J_TEXT)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "tojson: a str is wanted, not a %s",
                               tsri_jinja_kind(v));
    TRY(tsri_jinja_alloc(&r->arena, v->text->n + 1, &s));
    memcpy(s, v->text->data, v->text->n);
    s[v->text->n] = 0;
    *out = s;
    return TSR_OK;
}

/* tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False), as transformers has it */
tsr_status tsri_jinja_to_json(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *ascii = tsri_jinja_arg(a, 1, "ensure_ascii"),
                      *indent = tsri_jinja_arg(a, 2, "indent"),
                      *separators = tsri_jinja_arg(a, 3, "separators"),
                      *sort = tsri_jinja_arg(a, 4, "sort_keys");
    jinja_buffer b = {0};
    style s = {.comma = ", ", .colon = ": "};
    s.ascii = ascii && tsri_jinja_truth(ascii);
    s.sort = sort && tsri_jinja_truth(sort);
    if (indent && indent->kind == J_TEXT) {
        TRY(c_text(r, indent, &s.indent));
    } else if (indent && (indent->kind == J_INT || indent->kind == J_BOOL)) {
        const size_t n = indent->i < 0 ? 0 : indent->i > 64 ? 64 : (size_t)indent->i;
        char *spaces;
        TRY(tsri_jinja_alloc(&r->arena, 65, &spaces));
        memset(spaces, ' ', n);
        spaces[n] = 0;
        s.indent = spaces;
    }
    if (s.indent)
        s.comma = ",";
    if (separators && separators->kind != J_NONE) {
        if ((separators->kind != J_TUPLE && separators->kind != J_LIST) || separators->list->n != 2)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "tojson: separators are two texts");
        TRY(c_text(r, &separators->list->items[0], &s.comma));
        TRY(c_text(r, &separators->list->items[1], &s.colon));
    }
    TRY(put_json(r, &b, &s, &a->at[0]));
    return tsri_jinja_take(r, &b, out);
}

/* ---- the context ---- */

static bool is_role(const char *s, size_t n) {
    static const char *const roles[] = {"system",  "user",      "assistant",
                                        "tool",    "developer", "function",
                                        "ipython", "model",     "observation"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strlen(roles[i]) == n && !memcmp(roles[i], s, n))
            return true;
    return false;
}

static tsr_status context_text(jinja_run *r, const char *s, size_t n, bool said, jinja_value *out) {
    char *data, *marks = NULL;
    TRY(tsri_jinja_alloc(&r->arena, n + 1, &data));
    memcpy(data, s, n);
    data[n] = 0;
    if (said) {
        TRY(tsri_jinja_alloc(&r->arena, n + 1, &marks));
        memset(marks, 1, n);
    }
    return tsri_jinja_text(r, data, marks, n, out);
}

static tsr_status members(jinja_run *r, const json_t *json, jinja_value *out) {
    const char *key;
    const json_t *item;
    size_t i;
    jinja_value v, k;
    TRY(json_is_array(json) ? tsri_jinja_list(r, J_LIST, out) : tsri_jinja_dict(r, J_DICT, out));
    json_array_foreach(json, i, item) {
        TRY(tsri_jinja_of_json(r, item, true, "", &v));
        TRY(tsri_jinja_push(r, out->list, v));
    }
    json_object_foreach((json_t *)json, key, item) {
        TRY(context_text(r, key, strlen(key), true, &k));
        TRY(tsri_jinja_of_json(r, item, true, key, &v));
        TRY(tsri_jinja_set(r, out->dict, k, v));
    }
    return TSR_OK;
}

tsr_status tsri_jinja_of_json(jinja_run *r, const json_t *json, bool said, const char *key,
                              jinja_value *out) {
    if (json_is_string(json)) {
        const char *s = json_string_value(json);
        const size_t n = json_string_length(json);
        return context_text(r, s, n, said && !(IS(key, "role") && is_role(s, n)), out);
    }
    if (json_is_array(json) || json_is_object(json)) {
        TRY(tsri_jinja_enter(r));
        const tsr_status status = members(r, json, out);
        r->depth--;
        return status;
    }
    *out = json_is_boolean(json)   ? BOOL(json_is_true(json))
           : json_is_integer(json) ? INT(json_integer_value(json))
           : json_is_real(json)    ? FLOAT(json_real_value(json))
                                   : NONE;
    return TSR_OK;
}
