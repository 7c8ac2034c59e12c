/* text/jinja/execute.c - tags, macros and global functions; and a render from its context. */
#include "text/base/unicode.h"
#include "text/jinja/parts.h"

#include <stdio.h>

tsr_status tsri_jinja_scope(jinja_run *r, jinja_scope *up, jinja_scope **out) {
    TRY(tsri_jinja_alloc(&r->arena, sizeof **out, out));
    **out = (jinja_scope){.up = up};
    return TSR_OK;
}

tsr_status tsri_jinja_bind(jinja_run *r, jinja_scope *s, const char *name, jinja_value v) {
    jinja_value key;
    TRY(tsri_jinja_literal(r, name, &key));
    return tsri_jinja_set(r, &s->vars, key, v);
}

tsr_status tsri_jinja_eval_args(jinja_run *r, jinja_scope *s, const jinja_node *list,
                                jinja_args *a) {
    for (; list; list = list->next) {
        if (list->name) {
            a->names[a->named] = list->name;
            TRY(tsri_jinja_eval(r, s, list->a, &a->of[a->named++]));
        } else {
            TRY(tsri_jinja_eval(r, s, list->a, &a->at[a->n++]));
        }
    }
    return TSR_OK;
}

const jinja_value *tsri_jinja_arg(const jinja_args *a, size_t at, const char *name) {
    for (size_t i = 0; i < a->named; i++)
        if (IS(a->names[i], name))
            return &a->of[i];
    return at < a->n ? &a->at[at] : NULL;
}

/* The place of a name in a list; behind the last: it is not there. An empty name: their number. */
static size_t place_of(const char *list, const char *name) {
    size_t at = 0;
    for (const char *p = list; *p; at++) {
        const size_t n = strcspn(p, ",");
        if (strlen(name) == n && !memcmp(p, name, n))
            break;
        p += n + strspn(p + n, ", ");
    }
    return at;
}

bool tsri_jinja_is_among(const char *list, const char *name) {
    return place_of(list, name) < place_of(list, "");
}

tsr_status tsri_jinja_fits(const jinja_run *r, const char *what, const char *params, size_t first,
                           const jinja_args *a) {
    const size_t count = *params == '*' ? MOST_ARGS : place_of(params, "");
    if (a->n > first + count)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "%.40s(%s) is given %zu arguments", what, params,
                               a->n - first);
    for (size_t i = 0; i < a->named && !IS(params, "**"); i++) {
        const size_t at = place_of(params, a->names[i]);
        bool twice = first + at < a->n;
        if (!tsri_jinja_is_among(params, a->names[i]))
            return tsri_jinja_fail(r, TSR_E_FORMAT, "%.40s(%s) does not take the argument %.40s",
                                   what, params, a->names[i]);
        for (size_t k = 0; k < i; k++)
            twice = twice || IS(a->names[k], a->names[i]);
        if (twice)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "%.40s(%s) is given %.40s twice", what, params,
                                   a->names[i]);
    }
    return TSR_OK;
}

tsr_status tsri_jinja_placed(const jinja_run *r, const char *what, const char *params,
                             const jinja_args *a, jinja_args *out) {
    *out = *a;
    TRY(tsri_jinja_fits(r, what, params, 0, a));
    if (*params == '*')
        return TSR_OK;
    for (size_t i = 0; i < a->named; i++) {
        const size_t at = place_of(params, a->names[i]);
        while (out->n <= at)
            out->at[out->n++] = NONE;
        out->at[at] = a->of[i];
    }
    out->named = 0;
    return TSR_OK;
}

static tsr_status assign(jinja_run *r, jinja_scope *s, const jinja_node *target, jinja_value v) {
    jinja_list *items;
    if (target->op == N_NAME)
        return tsri_jinja_bind(r, s, target->name, v);
    if (target->op == N_ATTR) {
        jinja_value space, key;
        TRY(tsri_jinja_eval(r, s, target->a, &space));
        if (space.kind != J_SPACE)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "only attributes of a namespace can be set");
        TRY(tsri_jinja_literal(r, target->name, &key));
        return tsri_jinja_set(r, space.dict, key, v);
    }
    TRY(tsri_jinja_items(r, &v, &items));
    const jinja_node *t = target->args;
    for (size_t i = 0; i < items->n && t; i++, t = t->next) {
        TRY(assign(r, s, t->a, items->items[i]));
        if (i + 1 == items->n && !t->next)
            return TSR_OK;
    }
    return tsri_jinja_fail(r, TSR_E_FORMAT, "%zu values are given to another number of names",
                           items->n);
}

tsr_status tsri_jinja_loop(jinja_run *r, jinja_scope *s, const jinja_node *n,
                           const jinja_value *over, size_t depth, jinja_buffer *b) {
    jinja_list *items;
    jinja_scope *inner;
    jinja_loop *l;
    TRY(tsri_jinja_items(r, over, &items));
    if (n->args->a) {
        jinja_value kept, v;
        TRY(tsri_jinja_list(r, J_LIST, &kept));
        for (size_t i = 0; i < items->n; i++) {
            TRY(tsri_jinja_scope(r, s, &inner));
            TRY(assign(r, inner, n->a, items->items[i]));
            TRY(tsri_jinja_eval(r, inner, n->args->a, &v));
            if (tsri_jinja_truth(&v))
                TRY(tsri_jinja_push(r, kept.list, items->items[i]));
        }
        items = kept.list;
    }
    TRY(tsri_jinja_alloc(&r->arena, sizeof *l, &l));
    *l = (jinja_loop){.items = items, .depth = depth, .body = n->flag ? n : NULL, .scope = s};
    for (; l->at < items->n && r->flow != FLOW_BREAK; l->at++) {
        r->flow = FLOW_ON;
        TRY(tsri_jinja_scope(r, s, &inner));
        TRY(tsri_jinja_bind(r, inner, "loop", (jinja_value){.kind = J_LOOP, .loop = l}));
        TRY(assign(r, inner, n->a, items->items[l->at]));
        TRY(tsri_jinja_exec(r, inner, n->c, b));
    }
    r->flow = FLOW_ON;
    return !items->n && n->args->b ? tsri_jinja_exec(r, s, n->args->b, b) : TSR_OK;
}

/* ---- calls ---- */

/* Binds `varargs`: the arguments behind the first n. A body that doesn't read it must not be given any. */
static tsr_status bind_varargs(jinja_run *r, jinja_scope *s, const jinja_macro *m,
                               const jinja_args *a, size_t n) {
    jinja_value rest;
    if (!m->node->reads.varargs)
        return a->n <= n ? TSR_OK
                         : tsri_jinja_fail(r, TSR_E_FORMAT,
                                           "macro %s takes %zu arguments, but %zu are given",
                                           m->node->name, n, a->n);
    TRY(tsri_jinja_list(r, J_TUPLE, &rest));
    for (size_t i = n; i < a->n; i++)
        TRY(tsri_jinja_push(r, rest.list, a->at[i]));
    return tsri_jinja_bind(r, s, "varargs", rest);
}

/* Binds `kwargs`: the arguments with names that no parameter takes. A body that doesn't read it must not be given any. */
static tsr_status bind_kwargs(jinja_run *r, jinja_scope *s, const jinja_macro *m,
                              const jinja_args *a) {
    jinja_value rest, key;
    TRY(tsri_jinja_dict(r, J_DICT, &rest));
    for (size_t k = 0; k < a->named; k++) {
        bool taken = IS(a->names[k], "caller");
        size_t i = 0;
        for (const jinja_node *p = m->node->args; p; p = p->next, i++)
            taken = taken || (i >= a->n && IS(p->name, a->names[k]));
        if (taken)
            continue;
        if (!m->node->reads.kwargs)
            return tsri_jinja_fail(r, TSR_E_FORMAT,
                                   "macro %s has no argument %s, or is given it twice",
                                   m->node->name, a->names[k]);
        TRY(tsri_jinja_literal(r, a->names[k], &key));
        TRY(tsri_jinja_set(r, rest.dict, key, a->of[k]));
    }
    return m->node->reads.kwargs ? tsri_jinja_bind(r, s, "kwargs", rest) : TSR_OK;
}

static tsr_status call_macro(jinja_run *r, const jinja_macro *m, const jinja_args *a,
                             jinja_value *out) {
    jinja_scope *s;
    jinja_buffer b = {0};
    size_t i = 0;
    TRY(tsri_jinja_scope(r, m->scope, &s));
    for (const jinja_node *p = m->node->args; p; p = p->next, i++) {
        const jinja_value *given = i < a->n ? &a->at[i] : tsri_jinja_arg(a, MOST_ARGS, p->name);
        jinja_value v = UNDEFINED(p->name);
        if (given)
            v = *given;
        else if (p->a)
            TRY(tsri_jinja_eval(r, s, p->a, &v));
        TRY(tsri_jinja_bind(r, s, p->name, v));
    }
    TRY(bind_varargs(r, s, m, a, i));
    TRY(bind_kwargs(r, s, m, a));
    const jinja_value *caller = tsri_jinja_arg(a, MOST_ARGS, "caller");
    if (caller)
        TRY(tsri_jinja_bind(r, s, "caller", *caller));
    TRY(tsri_jinja_exec(r, s, m->node->c, &b));
    r->flow = FLOW_ON;
    return tsri_jinja_take(r, &b, out);
}

enum { G_RANGE, G_DICT, G_NAMESPACE, G_CYCLER, G_JOINER, G_RAISE, G_NOW, GLOBALS };
static const struct {
    const char *name, *params;
} globals[GLOBALS] = {{"range", "*"},
                      {"dict", "**"},
                      {"namespace", "**"},
                      {"cycler", "*"},
                      {"joiner", "sep"},
                      {"raise_exception", "message"},
                      {"strftime_now", "format"}};

static tsr_status range(jinja_run *r, const jinja_args *a, jinja_value *out) {
    int64_t v[3] = {0, 0, 1};
    for (size_t i = 0; i < a->n && i < 3; i++) {
        if (a->at[i].kind != J_INT && a->at[i].kind != J_BOOL)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "range wants whole numbers");
        v[a->n == 1 ? 1 : i] = a->at[i].i;
    }
    if (!a->n || a->n > 3 || !v[2])
        return tsri_jinja_fail(r, TSR_E_FORMAT, "range wants 1 to 3 numbers, and a step but 0");
    TRY(tsri_jinja_list(r, J_LIST, out));
    for (int64_t i = v[0]; v[2] > 0 ? i < v[1] : i > v[1];) {
        TRY(tsri_jinja_push(r, out->list, INT(i)));
        if (out->list->n > 100000)
            return tsri_jinja_fail(r, TSR_E_UNSUPPORTED, "range has more than 100000 numbers");
        if (__builtin_add_overflow(i, v[2], &i))
            break;
    }
    return TSR_OK;
}

static tsr_status strftime_now(jinja_run *r, const jinja_args *a, jinja_value *out) {
    struct tm day = {0};
    char format[256], *text;
    const time_t now = r->now ? r->now : time(NULL);
    if (a->n != 1 || a->at[0].kind != J_TEXT || a->at[0].text->n >= sizeof format)
        return tsri_jinja_fail(r, TSR_E_FORMAT, "strftime_now wants one format");
    memcpy(format, a->at[0].text->data, a->at[0].text->n);
    format[a->at[0].text->n] = 0;
    localtime_r(&now, &day);
    TRY(tsri_jinja_alloc(&r->arena, 1024, &text));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return tsri_jinja_text(r, text, NULL, strftime(text, 1024, format, &day), out);
#pragma GCC diagnostic pop
}

static tsr_status make_dict(jinja_run *r, jinja_kind kind, const jinja_args *a, jinja_value *out) {
    TRY(tsri_jinja_dict(r, kind, out));
    for (size_t i = 0; i < a->n; i++) {
        if (a->at[i].kind != J_DICT)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "dict and namespace take a dict or names");
        for (size_t k = 0; k < a->at[i].dict->n; k++)
            TRY(tsri_jinja_set(r, out->dict, a->at[i].dict->keys[k], a->at[i].dict->values[k]));
    }
    for (size_t i = 0; i < a->named; i++) {
        jinja_value key;
        TRY(tsri_jinja_literal(r, a->names[i], &key));
        TRY(tsri_jinja_set(r, out->dict, key, a->of[i]));
    }
    return TSR_OK;
}

static tsr_status call_global(jinja_run *r, int64_t which, const jinja_args *given,
                              jinja_value *out) {
    jinja_args placed, *const a = &placed;
    const jinja_value *v;
    TRY(tsri_jinja_placed(r, globals[which].name, globals[which].params, given, a));
    switch (which) {
    case G_RANGE:
        return range(r, a, out);
    case G_DICT:
        return make_dict(r, J_DICT, a, out);
    case G_NAMESPACE:
        return make_dict(r, J_SPACE, a, out);
    case G_CYCLER: /* the first item is the next place */
        TRY(tsri_jinja_list(r, J_CYCLER, out));
        TRY(tsri_jinja_push(r, out->list, INT(1)));
        for (size_t i = 0; i < a->n; i++)
            TRY(tsri_jinja_push(r, out->list, a->at[i]));
        return TSR_OK;
    case G_JOINER:
        TRY(tsri_jinja_list(r, J_JOINER, out));
        TRY(tsri_jinja_push(r, out->list, BOOL(0)));
        v = tsri_jinja_arg(a, 0, "sep");
        TRY(v ? TSR_OK : tsri_jinja_literal(r, ", ", &out->list->items[0]));
        TRY(tsri_jinja_push(r, out->list, v ? *v : out->list->items[0]));
        out->list->items[0] = BOOL(0);
        return TSR_OK;
    case G_RAISE: {
        jinja_value text = {0};
        TRY(tsri_jinja_str(r, a->n ? &a->at[0] : &UNDEFINED(""), &text));
        return tsri_base_fail(TSR_E_ARGUMENT, "the chat template says: %.*s",
                              (int)(text.text->n < 400 ? text.text->n : 400), text.text->data);
    }
    default:
        return strftime_now(r, a, out);
    }
}

static tsr_status called(jinja_run *r, jinja_scope *s, const jinja_value *f, const jinja_args *a,
                         jinja_value *out) {
    jinja_buffer b = {0};
    jinja_list *l = f->list;
    (void)s;
    switch (f->kind) {
    case J_MACRO:
        return call_macro(r, f->macro, a, out);
    case J_METHOD:
        return tsri_jinja_method(r, f->method, a, out);
    case J_GLOBAL:
        return call_global(r, f->i, a, out);
    case J_JOINER:
        if (!l->items[0].i) {
            l->items[0].i = 1;
            return tsri_jinja_literal(r, "", out);
        }
        *out = l->items[1];
        return TSR_OK;
    case J_LOOP:
        if (!f->loop->body || a->n != 1)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "loop() wants a recursive loop and one list");
        TRY(tsri_jinja_loop(r, f->loop->scope, f->loop->body, &a->at[0], f->loop->depth + 1, &b));
        return tsri_jinja_take(r, &b, out);
    case J_UNDEFINED:
        return tsri_jinja_fail(r, TSR_E_FORMAT, "%s is undefined, and can't be called",
                               f->name ? f->name : "a value");
    default:
        return tsri_jinja_fail(r, TSR_E_FORMAT, "a %s can't be called", tsri_jinja_kind(f));
    }
}

tsr_status tsri_jinja_call(jinja_run *r, jinja_scope *s, const jinja_value *f, const jinja_args *a,
                           jinja_value *out) {
    TRY(tsri_jinja_enter(r));
    const tsr_status status = called(r, s, f, a, out);
    r->depth--;
    return status;
}

/* ---- tags ---- */

static tsr_status macro_of(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_value *out) {
    jinja_macro *m;
    TRY(tsri_jinja_alloc(&r->arena, sizeof *m, &m));
    *m = (jinja_macro){.node = n, .scope = s};
    *out = (jinja_value){.kind = J_MACRO, .macro = m};
    return TSR_OK;
}

/* A body's text, through the filters of its tag, whose innermost one has no operand. */
static tsr_status filtered(jinja_run *r, jinja_scope *s, const jinja_node *pipe, jinja_value *v) {
    if (!pipe)
        return TSR_OK;
    TRY(tsri_jinja_nest(r));
    TRY(filtered(r, s, pipe->a, v));
    r->chain--;
    jinja_args a = {.n = 1, .at = {*v}};
    TRY(tsri_jinja_eval_args(r, s, pipe->args, &a));
    return tsri_jinja_filter(r, pipe->name, &a, v);
}

static tsr_status block(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_buffer *b) {
    jinja_scope *inner;
    jinja_buffer text = {0};
    jinja_value v, f;
    jinja_args a = {0};
    TRY(tsri_jinja_scope(r, s, &inner));
    if (n->op == N_CALL_BLOCK) {
        TRY(tsri_jinja_eval(r, s, n->a->a, &f));
        TRY(tsri_jinja_eval_args(r, s, n->a->args, &a));
        TRY(macro_of(r, s, n, &a.of[a.named]));
        a.names[a.named++] = "caller";
        TRY(tsri_jinja_call(r, s, &f, &a, &v));
        return tsri_jinja_print(r, b, &v, false);
    }
    for (const jinja_node *i = n->op == N_WITH ? n->args : NULL; i; i = i->next) {
        TRY(tsri_jinja_eval(r, s, i->a, &v));
        TRY(tsri_jinja_bind(r, inner, i->name, v));
    }
    if (n->op == N_WITH || n->op == N_BLOCK)
        return tsri_jinja_exec(r, inner, n->c, b);
    TRY(tsri_jinja_exec(r, inner, n->c, &text));
    TRY(tsri_jinja_take(r, &text, &v));
    TRY(filtered(r, inner, n->b, &v));
    return n->op == N_SET_BLOCK ? assign(r, s, n->a, v) : tsri_jinja_print(r, b, &v, false);
}

/* Whether what an "if" does otherwise is another "if" alone. */
static bool is_elif(const jinja_node *n) {
    return n && n->op == N_IF && !n->next;
}

static tsr_status one(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_buffer *b) {
    jinja_value v;
    switch (n->op) {
    case N_TEXT:
        return tsri_jinja_put_text(r, b, n->value.text);
    case N_PRINT:
        TRY(tsri_jinja_eval(r, s, n->a, &v));
        return tsri_jinja_print(r, b, &v, false);
    case N_IF:
        TRY(tsri_jinja_eval(r, s, n->a, &v));
        while (!tsri_jinja_truth(&v) && is_elif(n->c)) {
            n = n->c;
            TRY(tsri_jinja_eval(r, s, n->a, &v));
        }
        return tsri_jinja_exec(r, s, tsri_jinja_truth(&v) ? n->b : n->c, b);
    case N_FOR:
        TRY(tsri_jinja_eval(r, s, n->b, &v));
        return tsri_jinja_loop(r, s, n, &v, 1, b);
    case N_SET:
        TRY(tsri_jinja_eval(r, s, n->b, &v));
        return assign(r, s, n->a, v);
    case N_MACRO:
        TRY(macro_of(r, s, n, &v));
        return tsri_jinja_bind(r, s, n->name, v);
    case N_BREAK:
        r->flow = FLOW_BREAK;
        return TSR_OK;
    case N_CONTINUE:
        r->flow = FLOW_CONTINUE;
        return TSR_OK;
    default:
        return block(r, s, n, b);
    }
}

tsr_status tsri_jinja_exec(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_buffer *b) {
    TRY(tsri_jinja_enter(r));
    for (; n && r->flow == FLOW_ON; n = n->next) {
        TRY(tsri_jinja_step(r, 1));
        r->line = n->line;
        TRY(one(r, s, n, b));
    }
    r->depth--;
    return TSR_OK;
}

static tsr_status bind_members(jinja_run *r, const json_t *object, bool said) {
    const char *key;
    const json_t *value;
    jinja_value v;
    json_object_foreach((json_t *)object, key, value) {
        TRY(tsri_jinja_of_json(r, value, said, key, &v));
        TRY(tsri_jinja_bind(r, r->globals, key, v));
    }
    return TSR_OK;
}

static tsr_status render(jinja_run *r, const tsri_jinja *t, const json_t *context,
                         const json_t *words, jinja_buffer *b) {
    jinja_scope *top;
    TRY(tsri_jinja_scope(r, NULL, &r->globals));
    for (int i = 0; i < GLOBALS; i++)
        TRY(tsri_jinja_bind(r, r->globals, globals[i].name,
                            (jinja_value){.kind = J_GLOBAL, .i = i}));
    TRY(bind_members(r, context, false));
    TRY(bind_members(r, words, true));
    TRY(tsri_jinja_scope(r, r->globals, &top));
    return tsri_jinja_exec(r, top, t->root, b);
}

tsr_status tsri_jinja_render(const tsri_jinja *t, const json_t *context, const json_t *words,
                             time_t now, tsri_bytes *text, tsri_bytes *said) {
    jinja_run r = {.arena = {.limit = TSRI_JINJA_MEMORY}, .now = now};
    jinja_buffer b = {0};
    tsr_status status = render(&r, t, context, words, &b);
    if (status == TSR_OK && b.n)
        status = tsri_base_bytes_append(text, b.data, b.n);
    if (status == TSR_OK && b.n)
        status = tsri_base_bytes_append(said, b.said, b.n);
    tsri_jinja_free(&r.arena);
    return status;
}
