/* text/jinja/methods.c - methods of str, dict and loops. The sandbox is immutable: what would change
 * a list or dict is refused. */
#include "text/base/unicode.h"
#include "text/jinja/parts.h"

#include <utf8proc.h>

/* Methods that take the same. What changes a value is refused, whatever it is given. */
typedef struct methods {
    const char *names, *params;
} methods;

static const methods of_text[] = {{"upper, lower, title, capitalize", ""},
                                  {"isdigit, isalpha, isspace, isupper, islower, isalnum", ""},
                                  {"strip, lstrip, rstrip", "chars"},
                                  {"split, rsplit", "sep, maxsplit"},
                                  {"splitlines", "keepends"},
                                  {"startswith", "prefix, start, end"},
                                  {"endswith", "suffix, start, end"},
                                  {"find, rfind, count", "sub, start, end"},
                                  {"replace", "old, new, count"},
                                  {"removeprefix", "prefix"},
                                  {"removesuffix", "suffix"},
                                  {"join", "iterable"},
                                  {"format", "**"},
                                  {NULL, NULL}},
                     of_list[] = {{"index, count", "value"},
                                  {"append, extend, insert, pop, remove, reverse, sort, clear",
                                   "**"},
                                  {NULL, NULL}},
                     of_dict[] = {{"get", "key, default"},
                                  {"items, keys, values, copy", ""},
                                  {"pop, update, setdefault, clear, popitem", "**"},
                                  {NULL, NULL}},
                     of_loop[] = {{"index, index0, revindex, revindex0, first, last, length", ""},
                                  {"depth, depth0, previtem, nextitem", ""},
                                  {"cycle, changed", "*"},
                                  {NULL, NULL}},
                     of_cycler[] = {{"next, reset", ""}, {NULL, NULL}}, none[] = {{NULL, NULL}};

/* What a method takes; NULL: texts have no method of this name. */
static const char *params_of(const jinja_value *v, const char *name) {
    const methods *m = v->kind == J_TEXT                         ? of_text
                       : v->kind == J_LIST || v->kind == J_TUPLE ? of_list
                       : v->kind == J_DICT                       ? of_dict
                       : v->kind == J_LOOP                       ? of_loop
                       : v->kind == J_CYCLER                     ? of_cycler
                                                                 : none;
    while (name && m->names && !tsri_jinja_is_among(m->names, name))
        m++;
    return name ? m->params : NULL;
}

bool tsri_jinja_has_method(const jinja_value *v, const char *name) {
    return params_of(v, name) != NULL;
}

static tsr_status part(jinja_run *r, const jinja_text *t, size_t from, size_t to,
                       jinja_value *out) {
    return tsri_jinja_text(r, t->data + from, t->said ? t->said + from : NULL, to - from, out);
}

/* ---- case ---- */

static bool is_cased(int32_t c) {
    return c > 0 && (utf8proc_islower(c) || utf8proc_isupper(c) ||
                     utf8proc_category(c) == UTF8PROC_CATEGORY_LT);
}

/* Puts the upper case of a character that becomes several ("ŉ", "ﬁ"), and gives its size; 0: it becomes one. It is that of
 * each character of its case folding; in a title, of the first that has a case, and an iota behind that is
 * written below it. */
static size_t put_several(int32_t c, bool title, char *out) {
    enum { MOST = 4 };
    int32_t folded[MOST];
    int last = 0;
    size_t size = 0;
    bool begun = false;
    const utf8proc_category_t kind = utf8proc_category(c);
    const bool alone = kind == UTF8PROC_CATEGORY_LT || (utf8proc_totitle(c) != c && c != 0xDF);
    if (kind == UTF8PROC_CATEGORY_LU || (title && alone))
        return 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char(c, folded, MOST, UTF8PROC_CASEFOLD, &last);
    for (utf8proc_ssize_t i = 0; n > 1 && n <= MOST && i < n; i++) {
        int32_t to = folded[i];
        if (!title)
            to = utf8proc_toupper(to);
        else if (begun && to == 0x3B9)
            to = 0x345;
        else if (!begun && is_cased(to))
            to = utf8proc_totitle(to);
        begun = begun || is_cased(folded[i]);
        size += tsri_text_utf8_put(to, out + size);
    }
    return size;
}

/* 'u', 'l': each character; 'c': the first as in a title, the rest lower; 't': so each word of letters; 'w':
 * each word between white space and brackets begins with upper case, as the filter title has it. */
static tsr_status change_case(jinja_run *r, const jinja_text *t, char how, jinja_value *out) {
    jinja_buffer b = {0};
    bool start = true;
    for (size_t i = 0; i < t->n;) {
        int32_t c;
        char bytes[16], marks[16];
        const size_t n = tsri_text_utf8_next(t->data + i, t->n - i, &c);
        const bool up = how == 'u' || (how != 'l' && start), title = how == 't' || how == 'c';
        size_t size = up && c >= 0x80 ? put_several(c, title, bytes) : 0;
        if (c < 0)
            memcpy(bytes, t->data + i, size = n);
        else if (c == 0x130 && !up)
            memcpy(bytes, "i\xCC\x87", size = 3);
        else if (!size)
            size = tsri_text_utf8_put(!up     ? utf8proc_tolower(c)
                                      : title ? utf8proc_totitle(c)
                                              : utf8proc_toupper(c),
                                      bytes);
        start = how == 't' ? !is_cased(c)
                : how == 'w'
                    ? c == '-' || tsri_jinja_space(c) || (c > 0 && c < 128 && strchr("({[<", c))
                    : false;
        memset(marks, t->said ? t->said[i] : 0, sizeof marks);
        TRY(tsri_jinja_put(r, &b, bytes, marks, size));
        i += n;
    }
    return tsri_jinja_take(r, &b, out);
}

static tsr_status ask(const jinja_text *t, char what, jinja_value *out) {
    bool all = t->n > 0, any = false;
    for (size_t i = 0; i < t->n;) {
        int32_t c;
        i += tsri_text_utf8_next(t->data + i, t->n - i, &c);
        const bool digit = c >= 0 && utf8proc_category(c) == UTF8PROC_CATEGORY_ND,
                   letter = c >= 0 && tsri_text_is_letter(c);
        if (what == 'u' || what == 'l') {
            any = any || is_cased(c);
            all =
                all && !(is_cased(c) && !(what == 'u' ? utf8proc_isupper(c) : utf8proc_islower(c)));
        } else {
            any = true;
            all = all && (what == 'd'   ? digit
                          : what == 'a' ? letter
                          : what == 's' ? tsri_jinja_space(c)
                                        : digit || letter || tsri_text_is_number(c));
        }
    }
    *out = BOOL(all && any);
    return TSR_OK;
}

/* ---- searching and cutting ---- */

static bool in_set(const jinja_text *set, const char *c, size_t n) {
    if (!set) {
        int32_t code;
        tsri_text_utf8_next(c, n, &code);
        return tsri_jinja_space(code);
    }
    return memmem(set->data, set->n, c, n) != NULL;
}

static tsr_status strip(jinja_run *r, const jinja_text *t, const jinja_text *set, bool left,
                        bool right, jinja_value *out) {
    size_t from = 0, to = t->n;
    int32_t c;
    for (size_t n; left && from < to; from += n) {
        n = tsri_text_utf8_next(t->data + from, to - from, &c);
        if (!in_set(set, t->data + from, n))
            break;
    }
    while (right && to > from) {
        const size_t at = tsri_text_utf8_before(t->data, to);
        if (!in_set(set, t->data + at, to - at))
            break;
        to = at;
    }
    return part(r, t, from, to, out);
}

static tsr_status split_space(jinja_run *r, const jinja_text *t, int64_t most, jinja_list *l) {
    size_t i = 0;
    int32_t c;
    for (;;) {
        jinja_value v;
        for (size_t n;
             i < t->n && (n = tsri_text_utf8_next(t->data + i, t->n - i, &c), tsri_jinja_space(c));
             i += n) {
        }
        if (i >= t->n)
            return TSR_OK;
        size_t end = i;
        for (size_t n; end < t->n && (n = tsri_text_utf8_next(t->data + end, t->n - end, &c),
                                     !tsri_jinja_space(c));
             end += n) {
        }
        if (most == 0) {
            TRY(part(r, t, i, t->n, &v));
            return tsri_jinja_push(r, l, v);
        }
        most -= most > 0;
        TRY(part(r, t, i, end, &v));
        TRY(tsri_jinja_push(r, l, v));
        i = end;
    }
}

static tsr_status split(jinja_run *r, const jinja_text *t, const jinja_args *a, bool right,
                        jinja_value *out) {
    const jinja_value *by = tsri_jinja_arg(a, 0, "sep"), *max = tsri_jinja_arg(a, 1, "maxsplit");
    const int64_t most = max && max->kind == J_INT ? max->i : -1;
    size_t at = 0, skip = 0;
    jinja_value v;
    TRY(tsri_jinja_list(r, J_LIST, out));
    TRY(tsri_jinja_step(r, t->n / 16));
    if (!by || by->kind == J_NONE) {
        if (right && most >= 0)
            return tsri_jinja_fail(r, TSR_E_UNSUPPORTED, "rsplit with maxsplit wants a separator");
        return split_space(r, t, most, out->list);
    }
    if (by->kind != J_TEXT || !by->text->n)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "split wants a separator that is not empty");
    const jinja_text *s = by->text;
    if (right && most >= 0) { /* the first cuts are left out */
        const char *p = t->data, *end = t->data + t->n;
        while ((p = memmem(p, (size_t)(end - p), s->data, s->n)) != NULL) {
            p += s->n;
            skip++;
        }
        skip = skip > (size_t)most ? skip - (size_t)most : 0;
    }
    size_t from = 0, cuts = 0;
    for (const char *p; (right || most < 0 || cuts < (size_t)most) &&
                        (p = memmem(t->data + at, t->n - at, s->data, s->n)) != NULL;) {
        const size_t end = (size_t)(p - t->data);
        at = end + s->n;
        if (skip) {
            skip--;
            continue;
        }
        cuts++;
        TRY(part(r, t, from, end, &v));
        TRY(tsri_jinja_push(r, out->list, v));
        from = at;
    }
    TRY(part(r, t, from, t->n, &v));
    return tsri_jinja_push(r, out->list, v);
}

/* Those of Python's str.splitlines. */
static bool ends_line(int32_t c) {
    return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

static tsr_status split_lines(jinja_run *r, const jinja_text *t, bool keep, jinja_value *out) {
    TRY(tsri_jinja_list(r, J_LIST, out));
    for (size_t from = 0, i = 0; from < t->n;) {
        int32_t c;
        size_t next = i;
        for (; i < t->n; i = next) {
            next = i + tsri_text_utf8_next(t->data + i, t->n - i, &c);
            if (ends_line(c))
                break;
        }
        next += next < t->n && t->data[i] == '\r' && t->data[next] == '\n';
        jinja_value v;
        TRY(part(r, t, from, keep ? next : i, &v));
        TRY(tsri_jinja_push(r, out->list, v));
        from = i = next;
    }
    return TSR_OK;
}

static tsr_status replace(jinja_run *r, const jinja_text *t, const jinja_text *old,
                          const jinja_text *new, int64_t most, jinja_value *out) {
    jinja_buffer b = {0};
    size_t at = 0;
    TRY(tsri_jinja_step(r, t->n / 16));
    for (; most && at <= t->n; most--) {
        const char *p = memmem(t->data + at, t->n - at, old->data, old->n);
        if (!p)
            break;
        size_t end = (size_t)(p - t->data);
        TRY(tsri_jinja_put(r, &b, t->data + at, t->said ? t->said + at : NULL, end - at));
        TRY(tsri_jinja_put_text(r, &b, new));
        TRY(tsri_jinja_step(r, 1));
        at = end + old->n;
        if (!old->n) {
            if (at >= t->n)
                return tsri_jinja_take(r, &b, out);
            int32_t c;
            const size_t n = tsri_text_utf8_next(t->data + at, t->n - at, &c);
            TRY(tsri_jinja_put(r, &b, t->data + at, t->said ? t->said + at : NULL, n));
            at += n;
        }
    }
    TRY(tsri_jinja_put(r, &b, t->data + at, t->said ? t->said + at : NULL, t->n - at));
    return tsri_jinja_take(r, &b, out);
}

static tsr_status format(jinja_run *r, const jinja_text *t, const jinja_args *a, jinja_value *out) {
    jinja_buffer b = {0};
    size_t next = 0;
    for (size_t i = 0; i < t->n; i++) {
        const char c = t->data[i], after = i + 1 < t->n ? t->data[i + 1] : 0;
        if ((c == '{' || c == '}') && after == c) {
            TRY(tsri_jinja_put(r, &b, &c, NULL, 1));
            i++;
            continue;
        }
        if (c != '{') {
            TRY(tsri_jinja_put(r, &b, t->data + i, t->said ? t->said + i : NULL, 1));
            continue;
        }
        char name[64];
        size_t n = 0;
        while (i + 1 + n < t->n && t->data[i + 1 + n] != '}' && n + 1 < sizeof name) {
            name[n] = t->data[i + 1 + n];
            n++;
        }
        name[n] = 0;
        i += n + 1;
        const jinja_value *v = !n ? tsri_jinja_arg(a, next++, "")
                               : name[0] >= '0' && name[0] <= '9' && n == 1
                                   ? tsri_jinja_arg(a, (size_t)(name[0] - '0'), "")
                                   : tsri_jinja_arg(a, MOST_ARGS, name);
        if (!v)
            return tsri_jinja_fail(r, TSR_E_UNSUPPORTED, "format has no value for {%s}", name);
        TRY(tsri_jinja_print(r, &b, v, false));
    }
    return tsri_jinja_take(r, &b, out);
}

static tsr_status find(jinja_run *r, const jinja_text *t, const jinja_text *s, char how,
                       jinja_value *out) {
    int64_t found = -1, n = 0;
    TRY(tsri_jinja_step(r, t->n / 16));
    for (size_t at = 0; at <= t->n;) {
        const char *p = memmem(t->data + at, t->n - at, s->data, s->n);
        if (!p)
            break;
        const jinja_text before = {.n = (size_t)(p - t->data), .data = t->data};
        n++;
        if (how == 'f' || how == 'r')
            found = (int64_t)tsri_jinja_length(&before);
        if (how == 'f')
            break;
        TRY(tsri_jinja_step(r, 1 + (how == 'r' ? before.n / 64 : 0)));
        at = before.n + (how == 'c' && s->n ? s->n : 1);
    }
    *out = INT(how == 'c' ? n : found);
    return TSR_OK;
}

static tsr_status affix(jinja_run *r, const jinja_text *t, const jinja_value *v, bool end,
                        bool *out) {
    *out = false;
    if (v->kind == J_TUPLE) {
        for (size_t i = 0; i < v->list->n && !*out; i++)
            if (v->list->items[i].kind == J_TEXT)
                TRY(affix(r, t, &v->list->items[i], end, out));
        return TSR_OK;
    }
    if (v->kind != J_TEXT)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a str is wanted, not a %s", tsri_jinja_kind(v));
    const jinja_text *s = v->text;
    *out = t->n >= s->n && !memcmp(t->data + (end ? t->n - s->n : 0), s->data, s->n);
    return TSR_OK;
}

/* The part of a text from code point a->at[1] to a->at[2], each None or left out, as str.find has them; *inside: `start`
 * is not behind it. */
static tsr_status window(jinja_run *r, const jinja_text *t, const jinja_args *a, jinja_text *out,
                         int64_t *start, bool *inside) {
    *start = 0;
    *inside = true;
    *out = *t;
    if (a->n < 2)
        return TSR_OK;
    const int64_t size = (int64_t)tsri_jinja_length(t);
    int64_t bounds[2] = {0, size};
    TRY(tsri_jinja_step(r, t->n / 16));
    for (size_t i = 0; i < 2 && i + 1 < a->n; i++) {
        const jinja_value *v = &a->at[i + 1];
        if (v->kind == J_NONE)
            continue;
        if (v->kind != J_INT && v->kind != J_BOOL)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "a bound is a whole number, not a %s",
                                   tsri_jinja_kind(v));
        bounds[i] = v->i >= 0 ? v->i : v->i < -size ? 0 : v->i + size;
    }
    bounds[1] = bounds[1] < size ? bounds[1] : size;
    *start = bounds[0];
    *inside = bounds[0] <= bounds[1];
    if (!*inside)
        return TSR_OK;
    const size_t from = tsri_jinja_offset(t, (size_t)bounds[0]),
                 to = tsri_jinja_offset(t, (size_t)bounds[1]);
    *out = (jinja_text){.n = to - from, .data = t->data + from};
    return TSR_OK;
}

/* startswith, endswith, find, rfind and count, within bounds. */
static tsr_status search(jinja_run *r, const jinja_text *t, const char *m, const jinja_args *a,
                         jinja_value *out) {
    const bool affixes = IS(m, "startswith") || IS(m, "endswith");
    const jinja_value *x = &a->at[0];
    jinja_text within;
    int64_t start;
    bool inside, is = false;
    TRY(window(r, t, a, &within, &start, &inside));
    if (affixes) {
        if (inside)
            TRY(affix(r, &within, x, *m == 'e', &is));
        *out = BOOL(is);
        return TSR_OK;
    }
    *out = INT(*m == 'c' ? 0 : -1);
    if (x->kind != J_TEXT)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a str is wanted, not a %s", tsri_jinja_kind(x));
    if (inside)
        TRY(find(r, &within, x->text, *m, out));
    if (*m != 'c' && out->i >= 0)
        out->i += start;
    return TSR_OK;
}

/* ---- by name ---- */

static tsr_status text_method(jinja_run *r, const jinja_text *t, const char *m, const jinja_args *a,
                              jinja_value *out) {
    static const char *const questions[] = {"isdigit", "isalpha", "isspace",
                                            "isupper", "islower", "isalnum"},
                             *const searches[] = {"startswith", "endswith", "find", "rfind",
                                                  "count"};
    const jinja_value *x = a->n ? &a->at[0] : NULL;
    const jinja_text *s = x && x->kind == J_TEXT ? x->text : NULL;
    bool is;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (IS(m, questions[i]))
            return ask(t, "dasuln"[i], out);
    if (IS(m, "upper") || IS(m, "lower") || IS(m, "title") || IS(m, "capitalize"))
        return change_case(r, t, *m, out);
    if (IS(m, "title filter"))
        return change_case(r, t, 'w', out);
    if (IS(m, "strip") || IS(m, "lstrip") || IS(m, "rstrip"))
        return strip(r, t, s, *m != 'r', *m != 'l', out);
    if (IS(m, "split") || IS(m, "rsplit"))
        return split(r, t, a, *m == 'r', out);
    if (IS(m, "splitlines"))
        return split_lines(r, t, x && tsri_jinja_truth(x), out);
    if (IS(m, "format"))
        return format(r, t, a, out);
    if (IS(m, "join") && x) {
        const jinja_args args = {.n = 2, .at = {*x, {.kind = J_TEXT, .text = t}}};
        return tsri_jinja_filter(r, "join", &args, out);
    }
    for (size_t i = 0; x && i < sizeof searches / sizeof *searches; i++)
        if (IS(m, searches[i]))
            return search(r, t, m, a, out);
    if (IS(m, "replace") && s && a->n >= 2 && a->at[1].kind == J_TEXT)
        return replace(r, t, s, a->at[1].text, a->n > 2 && a->at[2].kind == J_INT ? a->at[2].i : -1,
                       out);
    if (!s || a->n != 1)
        return tsri_jinja_fail(r, TSR_E_UNSUPPORTED, "str.%s does not take these arguments", m);
    TRY(affix(r, t, x, IS(m, "removesuffix"), &is));
    const size_t cut = is ? s->n : 0;
    return IS(m, "removesuffix") ? part(r, t, 0, t->n - cut, out) : part(r, t, cut, t->n, out);
}

static tsr_status dict_method(jinja_run *r, const jinja_value *self, const char *m,
                              const jinja_args *a, jinja_value *out) {
    const jinja_dict *d = self->dict;
    bool found;
    if (IS(m, "get") && a->n) {
        TRY(tsri_jinja_find(r, d, a->at[0], out, &found));
        if (!found)
            *out = a->n > 1 ? a->at[1] : NONE;
        return TSR_OK;
    }
    if (IS(m, "copy")) {
        *out = *self;
        return TSR_OK;
    }
    TRY(tsri_jinja_list(r, J_LIST, out));
    for (size_t i = 0; i < d->n; i++) {
        jinja_value pair = IS(m, "keys") ? d->keys[i] : d->values[i];
        if (IS(m, "items")) {
            TRY(tsri_jinja_list(r, J_TUPLE, &pair));
            TRY(tsri_jinja_push(r, pair.list, d->keys[i]));
            TRY(tsri_jinja_push(r, pair.list, d->values[i]));
        }
        TRY(tsri_jinja_push(r, out->list, pair));
    }
    return TSR_OK;
}

static tsr_status loop_method(jinja_run *r, jinja_loop *l, const char *m, const jinja_args *a,
                              jinja_value *out) {
    if (IS(m, "cycle") && a->n) {
        *out = a->at[l->at % a->n];
        return TSR_OK;
    }
    if (!IS(m, "changed"))
        return tsri_jinja_fail(r, TSR_E_FORMAT, "loop.%s can't be called so", m);
    jinja_value now;
    bool same;
    TRY(tsri_jinja_list(r, J_TUPLE, &now));
    for (size_t i = 0; i < a->n; i++)
        TRY(tsri_jinja_push(r, now.list, a->at[i]));
    TRY(tsri_jinja_equal(r, &now, &l->changed, &same));
    l->changed = now;
    *out = BOOL(!same);
    return TSR_OK;
}

tsr_status tsri_jinja_method(jinja_run *r, const jinja_method *called, const jinja_args *given,
                             jinja_value *out) {
    const jinja_value *self = &called->self;
    const char *m = called->name, *params = params_of(self, m);
    jinja_args placed, *const a = &placed;
    TRY(tsri_jinja_placed(r, m, params ? params : "", given, a));
    if (self->kind == J_TEXT)
        return text_method(r, self->text, m, a, out);
    if (self->kind == J_LOOP)
        return loop_method(r, self->loop, m, a, out);
    if (self->kind == J_CYCLER && self->list->n > 1) {
        int64_t *at = &self->list->items[0].i;
        *out = IS(m, "next") ? self->list->items[*at] : NONE;
        *at = IS(m, "next") && *at + 1 < (int64_t)self->list->n ? *at + 1 : 1;
        return TSR_OK;
    }
    if (self->kind == J_DICT &&
        (IS(m, "get") || IS(m, "items") || IS(m, "keys") || IS(m, "values") || IS(m, "copy")))
        return dict_method(r, self, m, a, out);
    if ((IS(m, "index") || IS(m, "count")) && self->kind != J_DICT && a->n == 1) {
        int64_t n = 0;
        for (size_t i = 0; i < self->list->n; i++) {
            bool same;
            TRY(tsri_jinja_equal(r, &self->list->items[i], &a->at[0], &same));
            n += same;
            if (same && *m == 'i') {
                *out = INT(i);
                return TSR_OK;
            }
        }
        *out = INT(n);
        return *m == 'c' ? TSR_OK : tsri_jinja_fail(r, TSR_E_FORMAT, "the list has no such item");
    }
    return tsri_jinja_fail(r, TSR_E_FORMAT,
                           "%s.%s would change a value, which the sandbox forbids, or has wrong "
                           "arguments",
                           tsri_jinja_kind(self), m);
}
