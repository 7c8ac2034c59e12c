/* text/jinja/evaluate.c - what expressions give. */
#include "text/jinja/parts.h"

#include <math.h>
#include <stdlib.h>

static bool lookup(jinja_scope *s, const char *name, jinja_value *out) {
    for (; s; s = s->up)
        if (tsri_jinja_get(&s->vars, name, strlen(name), out))
            return true;
    return false;
}

static tsr_status undefined(const jinja_run *r, const jinja_value *v) {
    return tsri_jinja_fail(r, TSR_E_FORMAT, "%s is undefined", v->name ? v->name : "a value");
}

tsr_status tsri_jinja_attr(jinja_run *r, const jinja_value *v, const jinja_value *key, bool item,
                           jinja_value *out) {
    const char *name = key->kind == J_TEXT ? key->text->data : NULL;
    bool found = false;
    if (v->kind == J_UNDEFINED)
        return undefined(r, v);
    *out = UNDEFINED(item ? "an item" : name);
    if (v->kind == J_SPACE || (v->kind == J_DICT && (item || !tsri_jinja_has_method(v, name)))) {
        TRY(tsri_jinja_find(r, v->dict, *key, out, &found));
        if (found || v->kind == J_SPACE)
            return TSR_OK;
    }
    if ((key->kind == J_INT || key->kind == J_BOOL) &&
        (v->kind == J_TEXT || v->kind == J_LIST || v->kind == J_TUPLE)) {
        const int64_t n = (int64_t)(v->kind == J_TEXT ? tsri_jinja_length(v->text) : v->list->n);
        const int64_t i = key->i < 0 ? key->i + n : key->i;
        if (i < 0 || i >= n)
            return TSR_OK;
        if (v->kind != J_TEXT) {
            *out = v->list->items[i];
            return TSR_OK;
        }
        const size_t from = tsri_jinja_offset(v->text, (size_t)i),
                     to = tsri_jinja_offset(v->text, (size_t)i + 1);
        TRY(tsri_jinja_step(r, to / 64));
        return tsri_jinja_text(r, v->text->data + from, v->text->said ? v->text->said + from : NULL,
                               to - from, out);
    }
    if (!name || !tsri_jinja_has_method(v, name))
        return TSR_OK;
    if (v->kind == J_LOOP) {
        const jinja_loop *l = v->loop;
        const size_t n = l->items->n, at = l->at;
        const struct {
            const char *name;
            jinja_value v;
        } fields[] = {
            {"index", INT(at + 1)},
            {"index0", INT(at)},
            {"revindex", INT(n - at)},
            {"revindex0", INT(n - at - 1)},
            {"first", BOOL(at == 0)},
            {"last", BOOL(at + 1 == n)},
            {"length", INT(n)},
            {"depth", INT(l->depth)},
            {"depth0", INT(l->depth - 1)},
            {"previtem", at ? l->items->items[at - 1] : UNDEFINED("loop.previtem")},
            {"nextitem", at + 1 < n ? l->items->items[at + 1] : UNDEFINED("loop.nextitem")}};
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            if (IS(fields[i].name, name)) {
                *out = fields[i].v;
                return TSR_OK;
            }
    }
    jinja_method *m;
    TRY(tsri_jinja_alloc(&r->arena, sizeof *m, &m));
    *m = (jinja_method){*v, name};
    *out = (jinja_value){.kind = J_METHOD, .method = m};
    return TSR_OK;
}

static tsr_status bound(jinja_run *r, jinja_scope *s, const jinja_node *n, int64_t def,
                        int64_t size, int64_t low, int64_t high, int64_t *out) {
    jinja_value v;
    *out = def;
    if (!n)
        return TSR_OK;
    TRY(tsri_jinja_eval(r, s, n, &v));
    if (v.kind == J_NONE)
        return TSR_OK;
    if (v.kind != J_INT && v.kind != J_BOOL)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a slice wants whole numbers, not a %s",
                               tsri_jinja_kind(&v));
    *out = v.i < 0 ? (v.i < -size ? low : v.i + size) : v.i;
    *out = *out < low ? low : *out > high ? high : *out;
    return TSR_OK;
}

static tsr_status slice(jinja_run *r, jinja_scope *s, const jinja_node *n, const jinja_value *v,
                        jinja_value *out) {
    jinja_value step = INT(1);
    int64_t from, to;
    if (v->kind == J_UNDEFINED)
        return undefined(r, v);
    if (v->kind != J_TEXT && v->kind != J_LIST && v->kind != J_TUPLE) {
        *out = UNDEFINED("a slice");
        return TSR_OK;
    }
    if (n->args)
        TRY(tsri_jinja_eval(r, s, n->args, &step));
    if (step.kind == J_NONE)
        step = INT(1);
    if (step.kind != J_INT || !step.i || step.i > 1 << 30 || step.i < -(1 << 30))
        return tsri_jinja_fail(r, TSR_E_FORMAT, "the step of a slice is a whole number but 0");
    const int64_t size = (int64_t)(v->kind == J_TEXT ? tsri_jinja_length(v->text) : v->list->n);
    const bool up = step.i > 0;
    TRY(bound(r, s, n->b, up ? 0 : size - 1, size, up ? 0 : -1, up ? size : size - 1, &from));
    TRY(bound(r, s, n->c, up ? size : -1, size, up ? 0 : -1, up ? size : size - 1, &to));
    if (v->kind == J_TEXT)
        return tsri_jinja_slice(r, v->text, from, to, step.i, out);
    TRY(tsri_jinja_list(r, v->kind, out));
    for (int64_t i = from; up ? i < to : i > to; i += step.i)
        TRY(tsri_jinja_push(r, out->list, v->list->items[i]));
    return TSR_OK;
}

static tsr_status contains(jinja_run *r, const jinja_value *x, const jinja_value *in, bool *out) {
    *out = false;
    if (in->kind == J_TEXT) {
        if (x->kind != J_TEXT)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "a %s can't be searched in a str",
                                   tsri_jinja_kind(x));
        *out = !x->text->n || memmem(in->text->data, in->text->n, x->text->data, x->text->n);
        return tsri_jinja_step(r, in->text->n / 64);
    }
    jinja_value v;
    if (in->kind == J_DICT)
        return tsri_jinja_find(r, in->dict, *x, &v, out);
    jinja_list *items;
    TRY(tsri_jinja_items(r, in, &items));
    for (size_t i = 0; i < items->n && !*out; i++)
        TRY(tsri_jinja_equal(r, &items->items[i], x, out));
    return TSR_OK;
}

static tsr_status compare(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_value *out) {
    jinja_value left, right;
    bool is = true;
    TRY(tsri_jinja_eval(r, s, n->a, &left));
    for (const jinja_node *c = n->args; c && is; c = c->next, left = right) {
        int order = 0;
        const char *op = c->name;
        TRY(tsri_jinja_eval(r, s, c->a, &right));
        if (IS(op, "in") || IS(op, "not in")) {
            TRY(contains(r, &left, &right, &is));
            is = is == IS(op, "in");
        } else if (IS(op, "==") || IS(op, "!=")) {
            TRY(tsri_jinja_equal(r, &left, &right, &is));
            is = is == IS(op, "==");
        } else {
            if (left.kind == J_UNDEFINED || right.kind == J_UNDEFINED)
                return undefined(r, left.kind == J_UNDEFINED ? &left : &right);
            TRY(tsri_jinja_compare(r, &left, &right, &order));
            is = *op == '<' ? order < 0 : order > 0;
            is = is || (op[1] == '=' && order == 0);
        }
    }
    *out = BOOL(is);
    return TSR_OK;
}

static tsr_status overflow(const jinja_run *r) {
    return tsri_jinja_fail(r, TSR_E_UNSUPPORTED, "a number is above what 64 bits hold");
}

static tsr_status whole(const jinja_run *r, char op, bool two, int64_t a, int64_t b,
                        jinja_value *out) {
    int64_t x = 1;
    if ((op == '/' || op == '%') && !b)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a division by zero");
    if ((op == '/' || op == '%') && b == -1) {
        if (a == INT64_MIN)
            return overflow(r);
        *out = op == '%' ? INT(0) : two ? INT(-a) : FLOAT(-(double)a);
        return TSR_OK;
    }
    bool over = false;
    if (op == '*' && two) {
        if (b < 0) {
            *out = FLOAT(pow((double)a, (double)b));
            return TSR_OK;
        }
        if (b > 64 && (a > 1 || a < -1))
            return overflow(r);
        b = b > 64 ? 2 + b % 2 : b;
        for (; b > 0 && !over; b--)
            over = __builtin_mul_overflow(x, a, &x);
    } else if (op == '+') {
        over = __builtin_add_overflow(a, b, &x);
    } else if (op == '-') {
        over = __builtin_sub_overflow(a, b, &x);
    } else if (op == '*') {
        over = __builtin_mul_overflow(a, b, &x);
    } else if (op == '%') {
        x = a % b;
        x += x && (x < 0) != (b < 0) ? b : 0;
    } else if (two) {
        x = a / b - (a % b && (a < 0) != (b < 0));
    } else {
        *out = FLOAT((double)a / (double)b);
        return TSR_OK;
    }
    *out = INT(x);
    return over ? overflow(r) : TSR_OK;
}

static tsr_status real(const jinja_run *r, char op, bool two, double a, double b,
                       jinja_value *out) {
    if ((op == '/' || op == '%') && b == 0)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a division by zero");
    const double m = op == '%' ? fmod(a, b) : 0;
    *out = FLOAT(op == '+'   ? a + b
                 : op == '-' ? a - b
                 : op == '*' ? (two ? pow(a, b) : a * b)
                 : op == '%' ? m + (m != 0 && (m < 0) != (b < 0) ? b : 0)
                 : two       ? floor(a / b)
                             : a / b);
    return TSR_OK;
}

static tsr_status repeat(jinja_run *r, const jinja_value *v, int64_t n, jinja_value *out) {
    jinja_buffer b = {0};
    if (v->kind != J_TEXT)
        TRY(tsri_jinja_list(r, v->kind, out));
    for (int64_t i = 0; i < n; i++) {
        TRY(tsri_jinja_step(r, 1));
        if (v->kind == J_TEXT)
            TRY(tsri_jinja_put_text(r, &b, v->text));
        else
            for (size_t k = 0, size = v->list->n; k < size; k++)
                TRY(tsri_jinja_push(r, out->list, v->list->items[k]));
    }
    return v->kind == J_TEXT ? tsri_jinja_take(r, &b, out) : TSR_OK;
}

static bool is_whole(const jinja_value *v) {
    return v->kind == J_INT || v->kind == J_BOOL;
}

tsr_status tsri_jinja_arithmetic(jinja_run *r, const char *op, const jinja_value *a,
                                 const jinja_value *b, jinja_value *out) {
    const bool two = op[1] != 0, seq = a->kind == J_TEXT || a->kind == J_LIST || a->kind == J_TUPLE;
    if (a->kind == J_UNDEFINED || b->kind == J_UNDEFINED)
        return undefined(r, a->kind == J_UNDEFINED ? a : b);
    if (is_whole(a) && is_whole(b))
        return whole(r, *op, two, a->i, b->i, out);
    if ((is_whole(a) || a->kind == J_FLOAT) && (is_whole(b) || b->kind == J_FLOAT))
        return real(r, *op, two, a->kind == J_FLOAT ? a->f : (double)a->i,
                    b->kind == J_FLOAT ? b->f : (double)b->i, out);
    if (IS(op, "*") && seq && is_whole(b))
        return repeat(r, a, b->i, out);
    if (IS(op, "*") && is_whole(a) && (b->kind == J_TEXT || b->kind == J_LIST))
        return repeat(r, b, a->i, out);
    if (IS(op, "%") && a->kind == J_TEXT) {
        const jinja_args args = {.n = 2, .at = {*a, *b}};
        return tsri_jinja_filter(r, "format", &args, out);
    }
    if (IS(op, "+") && seq && a->kind == b->kind) {
        jinja_buffer text = {0};
        if (a->kind == J_TEXT) {
            TRY(tsri_jinja_put_text(r, &text, a->text));
            TRY(tsri_jinja_put_text(r, &text, b->text));
            return tsri_jinja_take(r, &text, out);
        }
        TRY(tsri_jinja_list(r, a->kind, out));
        for (size_t i = 0; i < a->list->n; i++)
            TRY(tsri_jinja_push(r, out->list, a->list->items[i]));
        for (size_t i = 0; i < b->list->n; i++)
            TRY(tsri_jinja_push(r, out->list, b->list->items[i]));
        return TSR_OK;
    }
    return tsri_jinja_fail(r, TSR_E_FORMAT, "%s does not go with a %s and a %s", op,
                           tsri_jinja_kind(a), tsri_jinja_kind(b));
}

static tsr_status binary(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_value *out) {
    jinja_value a, b;
    TRY(tsri_jinja_eval(r, s, n->a, &a));
    TRY(tsri_jinja_eval(r, s, n->b, &b));
    r->line = n->line;
    if (!IS(n->name, "~"))
        return tsri_jinja_arithmetic(r, n->name, &a, &b, out);
    jinja_buffer text = {0};
    TRY(tsri_jinja_print(r, &text, &a, false));
    TRY(tsri_jinja_print(r, &text, &b, false));
    return tsri_jinja_take(r, &text, out);
}

static tsr_status made(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_value *out) {
    jinja_value key, v;
    if (n->op == N_DICT) {
        TRY(tsri_jinja_dict(r, J_DICT, out));
        for (const jinja_node *i = n->args; i; i = i->next) {
            TRY(tsri_jinja_eval(r, s, i->a, &key));
            TRY(tsri_jinja_eval(r, s, i->b, &v));
            TRY(tsri_jinja_set(r, out->dict, key, v));
        }
        return TSR_OK;
    }
    TRY(tsri_jinja_list(r, n->op == N_LIST ? J_LIST : J_TUPLE, out));
    for (const jinja_node *i = n->args; i; i = i->next) {
        TRY(tsri_jinja_eval(r, s, i->a, &v));
        TRY(tsri_jinja_push(r, out->list, v));
    }
    return TSR_OK;
}

/* The value before a "|" or "is", and the arguments after it. */
static tsr_status piped(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_args *a) {
    *a = (jinja_args){.n = 1};
    if (n->a)
        TRY(tsri_jinja_eval(r, s, n->a, &a->at[0]));
    return tsri_jinja_eval_args(r, s, n->args, a);
}

static tsr_status eval(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_value *out) {
    jinja_value v, key;
    jinja_args args;
    bool is;
    switch (n->op) {
    case N_CONST:
        *out = n->value;
        return TSR_OK;
    case N_NAME:
        if (!lookup(s, n->name, out))
            *out = UNDEFINED(n->name);
        return TSR_OK;
    case N_LIST:
    case N_TUPLE:
    case N_DICT:
        return made(r, s, n, out);
    case N_ATTR:
        TRY(tsri_jinja_eval(r, s, n->a, &v));
        TRY(tsri_jinja_literal(r, n->name, &key));
        return tsri_jinja_attr(r, &v, &key, false, out);
    case N_ITEM:
        TRY(tsri_jinja_eval(r, s, n->a, &v));
        TRY(tsri_jinja_eval(r, s, n->b, &key));
        if (key.kind == J_TEXT) { /* names end with a 0 byte */
            char *name;
            TRY(tsri_jinja_alloc(&r->arena, key.text->n + 1, &name));
            memcpy(name, key.text->data, key.text->n);
            name[key.text->n] = 0;
            TRY(tsri_jinja_text(r, name, key.text->said, key.text->n, &key));
        }
        return tsri_jinja_attr(r, &v, &key, true, out);
    case N_SLICE:
        TRY(tsri_jinja_eval(r, s, n->a, &v));
        return slice(r, s, n, &v, out);
    case N_CALL:
        args = (jinja_args){0};
        TRY(tsri_jinja_eval(r, s, n->a, &v));
        TRY(tsri_jinja_eval_args(r, s, n->args, &args));
        r->line = n->line;
        return tsri_jinja_call(r, s, &v, &args, out);
    case N_FILTER:
        TRY(piped(r, s, n, &args));
        return tsri_jinja_filter(r, n->name, &args, out);
    case N_TEST:
        TRY(piped(r, s, n, &args));
        TRY(tsri_jinja_test(r, n->name, &args, &is));
        *out = BOOL(is != n->flag);
        return TSR_OK;
    case N_AND:
    case N_OR:
        TRY(tsri_jinja_eval(r, s, n->a, out));
        return tsri_jinja_truth(out) == (n->op == N_AND) ? tsri_jinja_eval(r, s, n->b, out)
                                                         : TSR_OK;
    case N_NOT:
        TRY(tsri_jinja_eval(r, s, n->a, &v));
        *out = BOOL(!tsri_jinja_truth(&v));
        return TSR_OK;
    case N_NEG:
    case N_POS:
        TRY(tsri_jinja_eval(r, s, n->a, &v));
        if (v.kind == J_FLOAT)
            *out = FLOAT(n->op == N_NEG ? -v.f : v.f);
        else
            TRY(tsri_jinja_arithmetic(r, n->op == N_NEG ? "-" : "+", &INT(0), &v, out));
        return TSR_OK;
    case N_COMPARE:
        return compare(r, s, n, out);
    case N_BINARY:
        return binary(r, s, n, out);
    case N_IF_ELSE:
        TRY(tsri_jinja_eval(r, s, n->b, &v));
        *out = UNDEFINED("a condition without else");
        return tsri_jinja_truth(&v) ? tsri_jinja_eval(r, s, n->a, out)
               : n->c               ? tsri_jinja_eval(r, s, n->c, out)
                                    : TSR_OK;
    default:
        return tsri_jinja_fail(r, TSR_E_INTERNAL, "a tag stands as an expression");
    }
}

tsr_status tsri_jinja_eval(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_value *out) {
    r->line = n->line;
    TRY(tsri_jinja_step(r, 1));
    TRY(tsri_jinja_nest(r));
    const tsr_status status = eval(r, s, n, out);
    r->chain--;
    return status;
}
