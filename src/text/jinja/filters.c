/* text/jinja/filters.c - filters by name. */
#include "base/numbers.h"
#include "text/jinja/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef tsr_status filter_fn(jinja_run *r, const jinja_args *a, jinja_value *out);

static const jinja_value *arg(const jinja_args *a, size_t at, const char *name) {
    return tsri_jinja_arg(a, at, name);
}

static bool flag(const jinja_args *a, size_t at, const char *name) {
    const jinja_value *v = arg(a, at, name);
    return v && tsri_jinja_truth(v);
}

/* The arguments without the first n. */
static jinja_args behind(const jinja_args *a, size_t n) {
    jinja_args rest = *a;
    rest.n = a->n > n ? a->n - n : 0;
    memmove(rest.at, rest.at + (a->n - rest.n), rest.n * sizeof *rest.at);
    return rest;
}

/* The arguments of another filter or test: a value, and those behind the first n. */
static jinja_args inner_args(const jinja_args *a, size_t n, jinja_value v) {
    jinja_args inner = behind(a, n - 1);
    inner.at[0] = v;
    inner.n = inner.n ? inner.n : 1;
    return inner;
}

/* A method of str on the value as text. */
static tsr_status as_text(jinja_run *r, const char *method, const jinja_args *a, jinja_value *out) {
    jinja_method m = {.name = method};
    const jinja_args rest = behind(a, 1);
    TRY(tsri_jinja_str(r, &a->at[0], &m.self));
    return tsri_jinja_method(r, &m, &rest, out);
}

static tsr_status f_string(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return tsri_jinja_str(r, &a->at[0], out);
}

static tsr_status f_length(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *v = &a->at[0];
    if (v->kind != J_UNDEFINED && v->kind != J_TEXT && v->kind != J_LIST && v->kind != J_TUPLE &&
        v->kind != J_DICT)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a %s has no length", tsri_jinja_kind(v));
    *out = INT(v->kind == J_UNDEFINED ? 0
               : v->kind == J_TEXT    ? tsri_jinja_length(v->text)
               : v->kind == J_DICT    ? v->dict->n
                                      : v->list->n);
    return TSR_OK;
}

static tsr_status f_default(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *v = arg(a, 1, "default_value");
    const bool keep =
        flag(a, 2, "boolean") ? tsri_jinja_truth(&a->at[0]) : a->at[0].kind != J_UNDEFINED;
    *out = a->at[0];
    return keep ? TSR_OK : v ? (*out = *v, TSR_OK) : tsri_jinja_literal(r, "", out);
}

static tsr_status f_abs(jinja_run *r, const jinja_args *a, jinja_value *out) {
    *out = a->at[0];
    if (out->kind == J_FLOAT)
        out->f = fabs(out->f);
    else if (out->kind == J_INT && out->i != INT64_MIN)
        out->i = out->i < 0 ? -out->i : out->i;
    else
        return tsri_jinja_fail(r, TSR_E_FORMAT, "abs wants a number");
    return TSR_OK;
}

static tsr_status number(jinja_run *r, const jinja_args *a, bool whole, jinja_value *out) {
    const jinja_value *v = &a->at[0], *def = arg(a, 1, "default"),
                      *b = whole ? arg(a, 2, "base") : NULL;
    const int64_t base = !b ? 10 : b->kind == J_INT ? b->i : -1;
    int64_t i;
    double f = v->kind == J_FLOAT ? v->f : 0;
    bool fine = v->kind == J_FLOAT;
    (void)r;
    if (v->kind == J_INT || v->kind == J_BOOL) {
        *out = whole ? INT(v->i) : FLOAT((double)v->i);
        return TSR_OK;
    }
    if (whole && v->kind == J_TEXT && tsri_jinja_whole(v->text, base, &i)) {
        *out = INT(i);
        return TSR_OK;
    }
    if (v->kind == J_TEXT && v->text->n < 60) {
        char text[64], *end = text;
        memcpy(text, v->text->data, v->text->n);
        text[v->text->n] = 0;
        f = tsri_base_read_number(text, &end);
        end += strspn(end, " \n\t\r");
        fine = end != text && !*end && !strpbrk(text, "xX");
    }
    fine = fine && (!whole || fabs(f) < 9e18);
    *out = !fine ? (def ? *def : whole ? INT(0) : FLOAT(0)) : whole ? INT(f) : FLOAT(f);
    return TSR_OK;
}
static tsr_status f_int(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return number(r, a, true, out);
}
static tsr_status f_float(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return number(r, a, false, out);
}

static tsr_status f_round(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *v = arg(a, 1, "precision"), *m = arg(a, 2, "method");
    const int digits = v && v->kind == J_INT && v->i > -300 && v->i < 300 ? (int)v->i : 0;
    jinja_value f;
    if (a->at[0].kind == J_INT && digits >= 0 && !m) {
        *out = a->at[0];
        return TSR_OK;
    }
    TRY(number(r, &(jinja_args){.n = 1, .at = {a->at[0]}}, false, &f));
    const double scale = pow(10, digits);
    char text[512];
    tsri_base_print(text, sizeof text, "%.*f", digits < 0 ? 0 : digits > 40 ? 40 : digits, f.f);
    const char how = m && m->kind == J_TEXT && m->text->n ? m->text->data[0] : 'c';
    *out = FLOAT(how == 'f'                                  ? floor(f.f * scale) / scale
                 : m && m->kind == J_TEXT && m->text->n == 4 ? ceil(f.f * scale) / scale
                 : digits < 0                                ? rint(f.f * scale) / scale
                                                             : tsri_base_read_number(text, NULL));
    return TSR_OK;
}

static tsr_status f_list(jinja_run *r, const jinja_args *a, jinja_value *out) {
    jinja_list *items;
    TRY(tsri_jinja_items(r, &a->at[0], &items));
    TRY(tsri_jinja_list(r, J_LIST, out));
    for (size_t i = 0, n = items->n; i < n; i++)
        TRY(tsri_jinja_push(r, out->list, items->items[i]));
    return TSR_OK;
}

static tsr_status f_reverse(jinja_run *r, const jinja_args *a, jinja_value *out) {
    jinja_list *items;
    if (a->at[0].kind == J_TEXT)
        return tsri_jinja_slice(r, a->at[0].text, (int64_t)tsri_jinja_length(a->at[0].text) - 1, -1,
                                -1, out);
    TRY(tsri_jinja_items(r, &a->at[0], &items));
    TRY(tsri_jinja_list(r, J_LIST, out));
    for (size_t i = items->n; i--;)
        TRY(tsri_jinja_push(r, out->list, items->items[i]));
    return TSR_OK;
}

static tsr_status ends(jinja_run *r, const jinja_args *a, bool last, jinja_value *out) {
    jinja_list *items;
    if (a->at[0].kind == J_TEXT)
        return tsri_jinja_attr(r, &a->at[0], &INT(last ? -1 : 0), true, out);
    TRY(tsri_jinja_items(r, &a->at[0], &items));
    *out = items->n ? items->items[last ? items->n - 1 : 0] : UNDEFINED("an item of an empty list");
    return TSR_OK;
}
static tsr_status f_first(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return ends(r, a, false, out);
}
static tsr_status f_last(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return ends(r, a, true, out);
}

/* An attribute "a.b.0" of a value. def: what stands for each part that is undefined; NULL, None: nothing. */
static tsr_status path(jinja_run *r, const jinja_value *v, const jinja_value *name,
                       const jinja_value *def, jinja_value *out) {
    const bool given = def && def->kind != J_NONE;
    *out = *v;
    if (!name || name->kind == J_NONE)
        return TSR_OK;
    if (name->kind != J_TEXT) {
        TRY(tsri_jinja_attr(r, v, name, true, out));
        *out = given && out->kind == J_UNDEFINED ? *def : *out;
        return TSR_OK;
    }
    for (size_t at = 0; at <= name->text->n;) {
        const char *s = name->text->data + at, *dot = memchr(s, '.', name->text->n - at);
        const size_t n = dot ? (size_t)(dot - s) : name->text->n - at;
        char *copy;
        jinja_value key, from = *out;
        TRY(tsri_jinja_alloc(&r->arena, n + 1, &copy));
        memcpy(copy, s, n);
        copy[n] = 0;
        TRY(tsri_jinja_text(r, copy, NULL, n, &key));
        if (n && strspn(copy, "0123456789") == n && n < 10)
            key = INT(atol(copy));
        TRY(tsri_jinja_attr(r, &from, &key, true, out));
        *out = given && out->kind == J_UNDEFINED ? *def : *out;
        at += n + 1;
    }
    return TSR_OK;
}

static tsr_status f_attr(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *name = arg(a, 1, "name");
    return name ? tsri_jinja_attr(r, &a->at[0], name, false, out)
                : tsri_jinja_fail(r, TSR_E_FORMAT, "attr wants one name");
}

static tsr_status f_join(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *by = arg(a, 1, "d"), *name = arg(a, 2, "attribute");
    jinja_list *items;
    jinja_buffer b = {0};
    jinja_value v;
    TRY(tsri_jinja_items(r, &a->at[0], &items));
    for (size_t i = 0; i < items->n; i++) {
        if (i && by)
            TRY(tsri_jinja_print(r, &b, by, false));
        TRY(path(r, &items->items[i], name, NULL, &v));
        TRY(tsri_jinja_print(r, &b, &v, false));
    }
    return tsri_jinja_take(r, &b, out);
}

static tsr_status f_map(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const bool filter = a->n > 1; /* then the names are those of its arguments */
    const jinja_value *name = filter ? NULL : arg(a, MOST_ARGS, "attribute"),
                      *def = filter ? NULL : arg(a, MOST_ARGS, "default");
    jinja_list *items;
    jinja_value v;
    TRY(tsri_jinja_list(r, J_LIST, out));
    if (!tsri_jinja_truth(&a->at[0]))
        return TSR_OK;
    if (name)
        TRY(tsri_jinja_fits(r, "map", "attribute, default", 1, a));
    TRY(tsri_jinja_items(r, &a->at[0], &items));
    if (!name && (a->n < 2 || a->at[1].kind != J_TEXT))
        return tsri_jinja_fail(r, TSR_E_FORMAT, "map wants a filter's name or attribute=");
    for (size_t i = 0; i < items->n; i++) {
        const jinja_args inner = inner_args(a, 2, items->items[i]);
        TRY(name ? path(r, &items->items[i], name, def, &v)
                 : tsri_jinja_filter(r, a->at[1].text->data, &inner, &v));
        TRY(tsri_jinja_push(r, out->list, v));
    }
    return TSR_OK;
}

static tsr_status choose(jinja_run *r, const jinja_args *a, bool attribute, bool want,
                         jinja_value *out) {
    const size_t at = attribute ? 2 : 1;
    jinja_list *items;
    jinja_value v;
    TRY(tsri_jinja_list(r, J_LIST, out));
    if (!tsri_jinja_truth(&a->at[0]))
        return TSR_OK;
    TRY(tsri_jinja_items(r, &a->at[0], &items));
    if (a->n < at || (a->n > at && a->at[at].kind != J_TEXT))
        return tsri_jinja_fail(r, TSR_E_FORMAT, "select and reject want the name of a test");
    for (size_t i = 0; i < items->n; i++) {
        bool is;
        TRY(path(r, &items->items[i], attribute ? &a->at[1] : NULL, NULL, &v));
        const jinja_args inner = inner_args(a, at + 1, v);
        is = tsri_jinja_truth(&v);
        if (a->n > at)
            TRY(tsri_jinja_test(r, a->at[at].text->data, &inner, &is));
        if (is == want)
            TRY(tsri_jinja_push(r, out->list, items->items[i]));
    }
    return TSR_OK;
}
static tsr_status f_select(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return choose(r, a, false, true, out);
}
static tsr_status f_reject(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return choose(r, a, false, false, out);
}
static tsr_status f_selectattr(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return choose(r, a, true, true, out);
}
static tsr_status f_rejectattr(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return choose(r, a, true, false, out);
}

/* What sorting compares: an attribute, in lower case unless case counts. */
static tsr_status sort_key(jinja_run *r, const jinja_value *v, const jinja_value *name, bool cased,
                           jinja_value *out) {
    TRY(path(r, v, name, NULL, out));
    if (cased || out->kind != J_TEXT)
        return TSR_OK;
    const jinja_args a = {.n = 1, .at = {*out}};
    return as_text(r, "lower", &a, out);
}

/* Stable, by merging neighbours of growing runs. */
static tsr_status sort(jinja_run *r, jinja_list *l, const jinja_value *name, bool cased,
                       bool back) {
    jinja_value *keys, *to;
    TRY(tsri_jinja_alloc(&r->arena, (l->n + 1) * 4 * sizeof *keys, &keys));
    to = keys + 2 * l->n;
    for (size_t i = 0; i < l->n; i++) {
        TRY(sort_key(r, &l->items[i], name, cased, &keys[2 * i]));
        keys[2 * i + 1] = l->items[i];
    }
    for (size_t run = 1; run < l->n; run *= 2) {
        for (size_t at = 0; at < l->n; at += 2 * run) {
            const size_t middle = at + run < l->n ? at + run : l->n,
                         end = at + 2 * run < l->n ? at + 2 * run : l->n;
            for (size_t i = at, j = middle, k = at; k < end; k++) {
                int order = 0;
                if (i < middle && j < end)
                    TRY(tsri_jinja_compare(r, &keys[2 * i], &keys[2 * j], &order));
                const bool left = j >= end || (i < middle && (back ? order >= 0 : order <= 0));
                memcpy(&to[2 * k], &keys[2 * (left ? i++ : j++)], 2 * sizeof *keys);
            }
        }
        jinja_value *swap = keys;
        keys = to;
        to = swap;
    }
    for (size_t i = 0; i < l->n; i++)
        l->items[i] = keys[2 * i + 1];
    return TSR_OK;
}

static tsr_status f_sort(jinja_run *r, const jinja_args *a, jinja_value *out) {
    TRY(f_list(r, a, out));
    return sort(r, out->list, arg(a, 3, "attribute"), flag(a, 2, "case_sensitive"),
                flag(a, 1, "reverse"));
}

static tsr_status f_items(jinja_run *r, const jinja_args *a, jinja_value *out) {
    jinja_method m = {.self = a->at[0], .name = "items"};
    const jinja_args nothing = {0};
    if (m.self.kind == J_UNDEFINED)
        return tsri_jinja_list(r, J_LIST, out);
    return m.self.kind == J_DICT ? tsri_jinja_method(r, &m, &nothing, out)
                                 : tsri_jinja_fail(r, TSR_E_FORMAT, "items wants a dict");
}

static tsr_status f_dictsort(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *by = arg(a, 2, "by");
    TRY(f_items(r, a, out));
    return sort(r, out->list, &INT(by && by->kind == J_TEXT && IS(by->text->data, "value")),
                flag(a, 1, "case_sensitive"), flag(a, 3, "reverse"));
}

static tsr_status f_unique(jinja_run *r, const jinja_args *a, jinja_value *out) {
    jinja_list *items;
    jinja_value seen, key, v;
    bool found;
    TRY(tsri_jinja_items(r, &a->at[0], &items));
    TRY(tsri_jinja_list(r, J_LIST, out));
    TRY(tsri_jinja_dict(r, J_DICT, &seen));
    for (size_t i = 0; i < items->n; i++) {
        TRY(sort_key(r, &items->items[i], arg(a, 2, "attribute"), flag(a, 1, "case_sensitive"),
                     &key));
        TRY(tsri_jinja_find(r, seen.dict, key, &v, &found));
        if (found)
            continue;
        TRY(tsri_jinja_set(r, seen.dict, key, NONE));
        TRY(tsri_jinja_push(r, out->list, items->items[i]));
    }
    return TSR_OK;
}

static tsr_status extreme(jinja_run *r, const jinja_args *a, bool most, jinja_value *out) {
    TRY(f_list(r, a, out));
    TRY(sort(r, out->list, arg(a, 2, "attribute"), flag(a, 1, "case_sensitive"), most));
    const jinja_args sorted = {.n = 1, .at = {*out}};
    return f_first(r, &sorted, out);
}
static tsr_status f_min(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return extreme(r, a, false, out);
}
static tsr_status f_max(jinja_run *r, const jinja_args *a, jinja_value *out) {
    return extreme(r, a, true, out);
}

static tsr_status f_indent(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *w = arg(a, 1, "width");
    const bool first = flag(a, 2, "first"), blank = flag(a, 3, "blank");
    const jinja_args keep = {.n = 1, .at = {BOOL(true)}}, cut = {0};
    jinja_value by = w ? *w : INT(4), space, whole, lines;
    jinja_method split = {.name = "splitlines"};
    jinja_buffer ended = {0}, b = {0};
    if (by.kind != J_INT && by.kind != J_BOOL && by.kind != J_TEXT)
        return tsri_jinja_fail(r, TSR_E_FORMAT,
                               "indent wants a number of spaces or a text, not a %s",
                               tsri_jinja_kind(&by));
    if (by.kind != J_TEXT) {
        const jinja_value width = by;
        TRY(tsri_jinja_literal(r, " ", &space));
        TRY(tsri_jinja_arithmetic(r, "*", &space, &width, &by));
    }
    TRY(tsri_jinja_str(r, &a->at[0], &split.self));
    TRY(tsri_jinja_put_text(r, &ended, split.self.text));
    TRY(tsri_jinja_put(r, &ended, "\n", NULL, 1)); /* so that a last line that is empty counts */
    TRY(tsri_jinja_take(r, &ended, &split.self));
    TRY(tsri_jinja_method(r, &split, &keep, &whole));
    TRY(tsri_jinja_method(r, &split, &cut, &lines));
    for (size_t i = 0; i < lines.list->n; i++) {
        const jinja_text *line = lines.list->items[i].text;
        if (i ? line->n || blank : first)
            TRY(tsri_jinja_put_text(r, &b, by.text));
        TRY(tsri_jinja_put_text(r, &b, line));
        const char *said = whole.list->items[i].text->said; /* a line's end has its own mark */
        if (i + 1 < lines.list->n)
            TRY(tsri_jinja_put(r, &b, "\n", said ? said + line->n : NULL, 1));
    }
    return tsri_jinja_take(r, &b, out);
}

/* str.replace, of what the value and the arguments print. */
static tsr_status f_replace(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *old = arg(a, 1, "old"), *new = arg(a, 2, "new"), *count = arg(a, 3, "count");
    jinja_args texts = {.n = 3, .at = {a->at[0]}};
    if (!old || !new)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "replace wants an old and a new text");
    TRY(tsri_jinja_str(r, old, &texts.at[1]));
    TRY(tsri_jinja_str(r, new, &texts.at[2]));
    if (count && count->kind != J_NONE)
        texts.at[texts.n++] = *count;
    return as_text(r, "replace", &texts, out);
}

static tsr_status f_escape(jinja_run *r, const jinja_args *a, jinja_value *out) {
    static const char from[] = "&<>'\"", *const to[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    jinja_value v;
    jinja_buffer b = {0};
    TRY(tsri_jinja_str(r, &a->at[0], &v));
    for (size_t i = 0; i < v.text->n; i++) {
        const char *c = v.text->data + i, *k = *c ? strchr(from, *c) : NULL;
        TRY(k ? tsri_jinja_put(r, &b, to[k - from], NULL, strlen(to[k - from]))
              : tsri_jinja_put(r, &b, c, v.text->said ? v.text->said + i : NULL, 1));
    }
    return tsri_jinja_take(r, &b, out);
}

static tsr_status f_format(jinja_run *r, const jinja_args *a, jinja_value *out) {
    jinja_value v;
    jinja_buffer b = {0};
    TRY(tsri_jinja_str(r, &a->at[0], &v));
    const bool tuple = a->n == 2 && a->at[1].kind == J_TUPLE;
    const jinja_value *values = tuple ? a->at[1].list->items : a->at + 1;
    const size_t n = tuple ? a->at[1].list->n : a->n - 1;
    for (size_t i = 0, k = 0; i < v.text->n; i++) {
        const char *c = v.text->data + i, kind = i + 1 < v.text->n ? c[1] : 0;
        if (*c != '%') {
            TRY(tsri_jinja_put(r, &b, c, v.text->said ? v.text->said + i : NULL, 1));
            continue;
        }
        i++;
        if (kind == '%')
            TRY(tsri_jinja_put(r, &b, "%", NULL, 1));
        else if ((kind != 's' && kind != 'd' && kind != 'r') || k >= n)
            return tsri_jinja_fail(r, TSR_E_UNSUPPORTED,
                                   "format serves %%s, %%d and %%r, with a value each");
        else
            TRY(tsri_jinja_print(r, &b, &values[k++], kind == 'r'));
    }
    return tsri_jinja_take(r, &b, out);
}

static tsr_status f_sum(jinja_run *r, const jinja_args *a, jinja_value *out) {
    const jinja_value *start = arg(a, 2, "start");
    jinja_list *items;
    jinja_value v, sum = start ? *start : INT(0);
    TRY(tsri_jinja_items(r, &a->at[0], &items));
    if (sum.kind == J_TEXT)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "sum wants numbers or lists; join adds up texts");
    for (size_t i = 0; i < items->n; i++) {
        const jinja_value before = sum;
        TRY(path(r, &items->items[i], arg(a, 1, "attribute"), NULL, &v));
        TRY(tsri_jinja_arithmetic(r, "+", &before, &v, &sum));
    }
    *out = sum;
    return TSR_OK;
}

tsr_status tsri_jinja_filter(jinja_run *r, const char *name, const jinja_args *a,
                             jinja_value *out) {
    static const struct {
        const char *name;
        filter_fn *call;
        const char *method; /* NULL call: this method of str, of the value as text */
        const char *params; /* behind the value */
    } filters[] = {
        {"abs", f_abs, NULL, ""},
        {"attr", f_attr, NULL, "name"},
        {"capitalize", NULL, "capitalize", ""},
        {"count", f_length, NULL, ""},
        {"d", f_default, NULL, "default_value, boolean"},
        {"default", f_default, NULL, "default_value, boolean"},
        {"dictsort", f_dictsort, NULL, "case_sensitive, by, reverse"},
        {"e", f_escape, NULL, ""},
        {"escape", f_escape, NULL, ""},
        {"first", f_first, NULL, ""},
        {"float", f_float, NULL, "default"},
        {"format", f_format, NULL, "*"},
        {"indent", f_indent, NULL, "width, first, blank"},
        {"int", f_int, NULL, "default, base"},
        {"items", f_items, NULL, ""},
        {"join", f_join, NULL, "d, attribute"},
        {"last", f_last, NULL, ""},
        {"length", f_length, NULL, ""},
        {"list", f_list, NULL, ""},
        {"lower", NULL, "lower", ""},
        {"map", f_map, NULL, "**"},
        {"max", f_max, NULL, "case_sensitive, attribute"},
        {"min", f_min, NULL, "case_sensitive, attribute"},
        {"reject", f_reject, NULL, "**"},
        {"rejectattr", f_rejectattr, NULL, "**"},
        {"replace", f_replace, NULL, "old, new, count"},
        {"reverse", f_reverse, NULL, ""},
        {"round", f_round, NULL, "precision, method"},
        {"safe", f_string, NULL, ""},
        {"select", f_select, NULL, "**"},
        {"selectattr", f_selectattr, NULL, "**"},
        {"sort", f_sort, NULL, "reverse, case_sensitive, attribute"},
        {"string", f_string, NULL, ""},
        {"sum", f_sum, NULL, "attribute, start"},
        {"title", NULL, "title filter", ""},
        {"tojson", tsri_jinja_to_json, NULL, "ensure_ascii, indent, separators, sort_keys"},
        {"trim", NULL, "strip", "chars"},
        {"unique", f_unique, NULL, "case_sensitive, attribute"},
        {"upper", NULL, "upper", ""}};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (IS(filters[i].name, name)) {
            TRY(tsri_jinja_fits(r, name, filters[i].params, 1, a));
            TRY(tsri_jinja_enter(r));
            const jinja_args given = *a; /* *out may be the value itself */
            const tsr_status status = filters[i].call ? filters[i].call(r, &given, out)
                                                      : as_text(r, filters[i].method, &given, out);
            r->depth--;
            return status;
        }
    return tsri_jinja_fail(r, TSR_E_UNSUPPORTED, "the filter %.40s is not served", name);
}
