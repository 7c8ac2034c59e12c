/* text/jinja/parse.c - expressions, by Jinja's order of operators. */
#include "base/numbers.h"
#include "text/jinja/parts.h"

#include <errno.h>
#include <stdlib.h>

static const jinja_token *now(const jinja_parser *p) {
    return &p->tokens[p->at];
}

bool tsri_jinja_is(const jinja_parser *p, const char *text) {
    const jinja_token *t = now(p);
    return (t->kind == 'o' || t->kind == 'n') && t->n == strlen(text) &&
           !memcmp(t->text, text, t->n);
}

bool tsri_jinja_skip(jinja_parser *p, const char *text) {
    const bool is = tsri_jinja_is(p, text);
    p->at += is;
    return is;
}

tsr_status tsri_jinja_wrong(const jinja_parser *p, const char *wanted) {
    const jinja_token *t = now(p);
    const bool end = t->kind != 'o' && t->kind != 'n';
    return tsri_base_fail(TSR_E_FORMAT, "chat template, line %d: %s is wanted where %.*s stands",
                          t->line, wanted, end ? 17 : (int)(t->n < 40 ? t->n : 40),
                          end ? "something else..." : t->text);
}

tsr_status tsri_jinja_expect(jinja_parser *p, const char *text) {
    return tsri_jinja_skip(p, text) ? TSR_OK : tsri_jinja_wrong(p, text);
}

tsr_status tsri_jinja_name(jinja_parser *p, const char **out) {
    const jinja_token *t = now(p);
    char *copy;
    if (t->kind != 'n')
        return tsri_jinja_wrong(p, "a name");
    TRY(tsri_jinja_alloc(p->arena, t->n + 1, &copy));
    memcpy(copy, t->text, t->n);
    copy[t->n] = 0;
    *out = copy;
    p->at++;
    return TSR_OK;
}

tsr_status tsri_jinja_new(jinja_parser *p, jinja_op op, jinja_node **out) {
    TRY(tsri_jinja_alloc(p->arena, sizeof **out, out));
    **out = (jinja_node){.op = op, .line = now(p)->line};
    return TSR_OK;
}

static tsr_status deeper(jinja_parser *p) {
    return ++p->depth <= TSRI_JINJA_DEPTH
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "chat template, line %d: it is nested more than %d deep",
                                now(p)->line, TSRI_JINJA_DEPTH);
}

static tsr_status joined(jinja_parser *p, jinja_op op, const char *name, jinja_node **left,
                         jinja_node *right) {
    jinja_node *n;
    TRY(tsri_jinja_new(p, op, &n));
    n->name = name;
    n->a = *left;
    n->b = right;
    *left = n;
    return TSR_OK;
}

/* Arguments up to ")": a node each, with a name where it has one. */
tsr_status tsri_jinja_arguments(jinja_parser *p, jinja_node **out) {
    jinja_node **end = out;
    size_t n = 0;
    while (!tsri_jinja_skip(p, ")")) {
        if (n)
            TRY(tsri_jinja_expect(p, ","));
        if (n && tsri_jinja_skip(p, ")"))
            break;
        if (tsri_jinja_is(p, "*") || tsri_jinja_is(p, "**") || ++n >= MOST_ARGS)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "chat template, line %d: * and ** in a call and more than %d "
                                  "arguments are not served",
                                  now(p)->line, MOST_ARGS - 1);
        jinja_node *arg;
        TRY(tsri_jinja_new(p, N_ARG, &arg));
        const jinja_token *t = &p->tokens[p->at];
        if (t->kind == 'n' && t[1].kind == 'o' && t[1].n == 1 && t[1].text[0] == '=') {
            TRY(tsri_jinja_name(p, &arg->name));
            p->at++;
        }
        TRY(tsri_jinja_expression(p, true, &arg->a));
        *end = arg;
        end = &arg->next;
    }
    return TSR_OK;
}

static tsr_status list(jinja_parser *p, const char *close, jinja_node **out) {
    for (size_t n = 0; !tsri_jinja_skip(p, close); n++) {
        if (n)
            TRY(tsri_jinja_expect(p, ","));
        if (n && tsri_jinja_skip(p, close))
            break;
        TRY(tsri_jinja_new(p, N_ARG, out));
        TRY(tsri_jinja_expression(p, true, &(*out)->a));
        if (*close == '}') {
            TRY(tsri_jinja_expect(p, ":"));
            TRY(tsri_jinja_expression(p, true, &(*out)->b));
        }
        out = &(*out)->next;
    }
    return TSR_OK;
}

static tsr_status constant(jinja_parser *p, jinja_value v, jinja_node **out) {
    TRY(tsri_jinja_new(p, N_CONST, out));
    (*out)->value = v;
    return TSR_OK;
}

static tsr_status text(jinja_parser *p, jinja_node **out) {
    size_t n = 0, used = 0;
    char *data;
    jinja_text *t;
    for (size_t i = p->at; p->tokens[i].kind == 's'; i++)
        n += p->tokens[i].n;
    TRY(tsri_jinja_alloc(p->arena, n + 1, &data));
    TRY(tsri_jinja_alloc(p->arena, sizeof *t, &t));
    for (; now(p)->kind == 's'; p->at++) {
        memcpy(data + used, now(p)->text, now(p)->n);
        used += now(p)->n;
    }
    *t = (jinja_text){.n = n, .data = data};
    return constant(p, (jinja_value){.kind = J_TEXT, .text = t}, out);
}

static tsr_status named(jinja_parser *p, jinja_node **out) {
    static const struct {
        const char *name;
        jinja_value v;
    } known[] = {{"true", {.kind = J_BOOL, .i = 1}}, {"True", {.kind = J_BOOL, .i = 1}},
                 {"false", {.kind = J_BOOL}},        {"False", {.kind = J_BOOL}},
                 {"none", {.kind = J_NONE}},         {"None", {.kind = J_NONE}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (tsri_jinja_skip(p, known[i].name))
            return constant(p, known[i].v, out);
    TRY(tsri_jinja_new(p, N_NAME, out));
    TRY(tsri_jinja_name(p, &(*out)->name));
    p->reads.varargs |= IS((*out)->name, "varargs");
    p->reads.kwargs |= IS((*out)->name, "kwargs");
    return TSR_OK;
}

static tsr_status primary(jinja_parser *p, jinja_node **out) {
    const jinja_token *t = now(p);
    if (t->kind == 'n')
        return named(p, out);
    if (t->kind == 's')
        return text(p, out);
    if (t->kind == 'i' || t->kind == 'f') {
        errno = 0;
        p->at++;
        if (t->kind == 'f')
            return constant(p, FLOAT(tsri_base_read_number(t->text, NULL)), out);
        const long long i = strtoll(t->text, NULL, 10);
        return errno ? tsri_base_fail(TSR_E_UNSUPPORTED,
                                      "chat template, line %d: %.40s is above what 64 bits hold",
                                      t->line, t->text)
                     : constant(p, INT(i), out);
    }
    if (tsri_jinja_skip(p, "(")) {
        TRY(tsri_jinja_tuple(p, true, false, out));
        return tsri_jinja_expect(p, ")");
    }
    const bool dict = tsri_jinja_is(p, "{");
    if (!dict && !tsri_jinja_is(p, "["))
        return tsri_jinja_wrong(p, "an expression");
    p->at++;
    TRY(tsri_jinja_new(p, dict ? N_DICT : N_LIST, out));
    return list(p, dict ? "}" : "]", &(*out)->args);
}

static tsr_status subscript(jinja_parser *p, jinja_node **node) {
    jinja_node *n;
    TRY(tsri_jinja_new(p, N_ITEM, &n));
    n->a = *node;
    if (!tsri_jinja_is(p, ":"))
        TRY(tsri_jinja_expression(p, true, &n->b));
    if (tsri_jinja_skip(p, ":")) {
        n->op = N_SLICE;
        if (!tsri_jinja_is(p, ":") && !tsri_jinja_is(p, "]"))
            TRY(tsri_jinja_expression(p, true, &n->c));
        if (tsri_jinja_skip(p, ":") && !tsri_jinja_is(p, "]"))
            TRY(tsri_jinja_expression(p, true, &n->args));
    }
    *node = n;
    return tsri_jinja_expect(p, "]");
}

static tsr_status postfix(jinja_parser *p, jinja_node **node) {
    for (;;) {
        if (tsri_jinja_skip(p, ".")) {
            TRY(joined(p, N_ATTR, NULL, node, NULL));
            if (now(p)->kind == 'i') {
                (*node)->op = N_ITEM;
                TRY(primary(p, &(*node)->b));
            } else {
                TRY(tsri_jinja_name(p, &(*node)->name));
            }
        } else if (tsri_jinja_skip(p, "[")) {
            TRY(subscript(p, node));
        } else if (tsri_jinja_skip(p, "(")) {
            TRY(joined(p, N_CALL, NULL, node, NULL));
            TRY(tsri_jinja_arguments(p, &(*node)->args));
        } else {
            return TSR_OK;
        }
    }
}

static tsr_status test(jinja_parser *p, jinja_node **node) {
    TRY(joined(p, N_TEST, NULL, node, NULL));
    jinja_node *n = *node;
    n->flag = tsri_jinja_skip(p, "not");
    TRY(tsri_jinja_name(p, &n->name));
    if (tsri_jinja_skip(p, "("))
        return tsri_jinja_arguments(p, &n->args);
    const jinja_token *t = now(p);
    const bool begins =
        (t->kind == 'n' && !tsri_jinja_is(p, "else") && !tsri_jinja_is(p, "or") &&
         !tsri_jinja_is(p, "and") && !tsri_jinja_is(p, "is") && !tsri_jinja_is(p, "if")) ||
        strchr("sif", t->kind) || tsri_jinja_is(p, "[") || tsri_jinja_is(p, "{");
    if (!begins)
        return TSR_OK;
    TRY(tsri_jinja_new(p, N_ARG, &n->args));
    TRY(primary(p, &n->args->a));
    return postfix(p, &n->args->a);
}

/* "| name(...)" again and again; with `first` a filter's name stands here at once. */
tsr_status tsri_jinja_filters(jinja_parser *p, jinja_node **node, bool first) {
    while (first || tsri_jinja_skip(p, "|")) {
        first = false;
        TRY(joined(p, N_FILTER, NULL, node, NULL));
        TRY(tsri_jinja_name(p, &(*node)->name));
        if (tsri_jinja_skip(p, "("))
            TRY(tsri_jinja_arguments(p, &(*node)->args));
    }
    return TSR_OK;
}

static tsr_status unary(jinja_parser *p, bool filters, jinja_node **out) {
    const bool minus = tsri_jinja_is(p, "-");
    TRY(deeper(p));
    if (minus || tsri_jinja_is(p, "+")) {
        p->at++;
        TRY(tsri_jinja_new(p, minus ? N_NEG : N_POS, out));
        TRY(unary(p, false, &(*out)->a));
    } else {
        TRY(primary(p, out));
    }
    TRY(postfix(p, out));
    while (filters) {
        if (tsri_jinja_is(p, "|")) {
            TRY(tsri_jinja_filters(p, out, false));
        } else if (tsri_jinja_skip(p, "is")) {
            TRY(test(p, out));
        } else if (tsri_jinja_is(p, "(")) {
            TRY(postfix(p, out));
        } else {
            break;
        }
    }
    p->depth--;
    return TSR_OK;
}

/* Binary operators, from those that bind least. */
static tsr_status binary(jinja_parser *p, size_t level, jinja_node **out) {
    static const char *const levels[4][5] = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
    if (level == 4)
        return unary(p, true, out);
    TRY(binary(p, level + 1, out));
    for (;;) {
        const char *op = NULL;
        for (size_t i = 0; levels[level][i]; i++)
            if (tsri_jinja_is(p, levels[level][i]))
                op = levels[level][i];
        if (!op)
            return TSR_OK;
        p->at++;
        jinja_node *right;
        TRY(binary(p, level + 1, &right));
        TRY(joined(p, N_BINARY, op, out, right));
    }
}

static tsr_status comparison(jinja_parser *p, jinja_node **out) {
    static const char *const ops[] = {"==", "!=", "<=", ">=", "<", ">", "in", NULL};
    TRY(binary(p, 0, out));
    jinja_node **end = NULL, *right;
    for (;;) {
        const char *op = NULL;
        const jinja_token *t = now(p);
        for (size_t i = 0; ops[i] && !op; i++)
            op = tsri_jinja_skip(p, ops[i]) ? ops[i] : NULL;
        if (!op && tsri_jinja_is(p, "not") && t[1].kind == 'n' && t[1].n == 2 &&
            !memcmp(t[1].text, "in", 2)) {
            p->at += 2;
            op = "not in";
        }
        if (!op)
            return TSR_OK;
        if (!end) {
            TRY(joined(p, N_COMPARE, NULL, out, NULL));
            end = &(*out)->args;
        }
        TRY(binary(p, 0, &right));
        TRY(tsri_jinja_new(p, N_ARG, end));
        (*end)->name = op;
        (*end)->a = right;
        end = &(*end)->next;
    }
}

static tsr_status negation(jinja_parser *p, jinja_node **out) {
    if (!tsri_jinja_skip(p, "not"))
        return comparison(p, out);
    TRY(deeper(p));
    TRY(tsri_jinja_new(p, N_NOT, out));
    TRY(negation(p, &(*out)->a));
    p->depth--;
    return TSR_OK;
}

static tsr_status conjunction(jinja_parser *p, jinja_node **out) {
    jinja_node *right;
    TRY(negation(p, out));
    while (tsri_jinja_skip(p, "and")) {
        TRY(negation(p, &right));
        TRY(joined(p, N_AND, NULL, out, right));
    }
    return TSR_OK;
}

static tsr_status disjunction(jinja_parser *p, jinja_node **out) {
    jinja_node *right;
    TRY(conjunction(p, out));
    while (tsri_jinja_skip(p, "or")) {
        TRY(conjunction(p, &right));
        TRY(joined(p, N_OR, NULL, out, right));
    }
    return TSR_OK;
}

tsr_status tsri_jinja_expression(jinja_parser *p, bool conditional, jinja_node **out) {
    jinja_node *condition;
    TRY(deeper(p));
    TRY(disjunction(p, out));
    while (conditional && tsri_jinja_skip(p, "if")) {
        TRY(disjunction(p, &condition));
        TRY(joined(p, N_IF_ELSE, NULL, out, condition));
        if (tsri_jinja_skip(p, "else"))
            TRY(tsri_jinja_expression(p, true, &(*out)->c));
    }
    p->depth--;
    return TSR_OK;
}

/* One expression, or several with commas between them as a tuple; targets are names. */
tsr_status tsri_jinja_tuple(jinja_parser *p, bool conditional, bool target, jinja_node **out) {
    jinja_node *made = NULL, **end = NULL;
    if (tsri_jinja_is(p, ")"))
        return tsri_jinja_new(p, N_TUPLE, out);
    for (;;) {
        jinja_node *one;
        const jinja_extras read = p->reads;
        TRY(deeper(p));
        if (target && tsri_jinja_skip(p, "(")) {
            TRY(tsri_jinja_tuple(p, false, true, &one));
            TRY(tsri_jinja_expect(p, ")"));
        } else {
            TRY(target ? primary(p, &one) : tsri_jinja_expression(p, conditional, &one));
        }
        p->depth--;
        if (target)
            p->reads = read; /* a name that is assigned is not read */
        if (target && one->op != N_NAME && one->op != N_TUPLE)
            return tsri_jinja_wrong(p, "a name to assign to");
        const bool more = tsri_jinja_skip(p, ",");
        if (!made && !more) {
            *out = one;
            return TSR_OK;
        }
        if (!made) {
            TRY(tsri_jinja_new(p, N_TUPLE, &made));
            end = &made->args;
        }
        TRY(tsri_jinja_new(p, N_ARG, end));
        (*end)->a = one;
        end = &(*end)->next;
        const char kind = now(p)->kind;
        if (!more || kind == '>' || kind == '}' || tsri_jinja_is(p, ")") || tsri_jinja_is(p, "=") ||
            (target && tsri_jinja_is(p, "in")))
            break;
    }
    *out = made;
    return TSR_OK;
}
