/* text/jinja/statements.c - tags and what they hold, as nodes. */
#include "text/base/unicode.h"
#include "text/jinja/parts.h"

#include <stdlib.h>

static tsr_status end_tag(jinja_parser *p) {
    if (p->tokens[p->at].kind != '>')
        return tsri_jinja_wrong(p, "%}");
    p->at++;
    return TSR_OK;
}

/* The body up to one of these tags, whose name is left as the next token. */
static tsr_status held(jinja_parser *p, const char *const *ends, jinja_node **out) {
    TRY(end_tag(p));
    return tsri_jinja_body(p, ends, out);
}

static tsr_status closed(jinja_parser *p, const char *end, jinja_node **out) {
    const char *const ends[] = {end, NULL};
    TRY(held(p, ends, out));
    p->at++;
    return end_tag(p);
}

static tsr_status parse_if(jinja_parser *p, jinja_node **out) {
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    TRY(tsri_jinja_new(p, N_IF, out));
    TRY(tsri_jinja_tuple(p, true, false, &(*out)->a));
    TRY(held(p, ends, &(*out)->b));
    for (jinja_node **at = &(*out)->c; tsri_jinja_skip(p, "elif"); at = &(*at)->c) {
        TRY(tsri_jinja_new(p, N_IF, at));
        TRY(tsri_jinja_tuple(p, true, false, &(*at)->a));
        TRY(held(p, ends, &(*at)->b));
        out = at;
    }
    if (tsri_jinja_skip(p, "else"))
        return closed(p, "endif", &(*out)->c);
    TRY(tsri_jinja_expect(p, "endif"));
    return end_tag(p);
}

static tsr_status parse_for(jinja_parser *p, jinja_node **out) {
    static const char *const ends[] = {"else", "endfor", NULL};
    jinja_node *n, *filter = NULL;
    TRY(tsri_jinja_new(p, N_FOR, &n));
    TRY(tsri_jinja_tuple(p, false, true, &n->a));
    TRY(tsri_jinja_expect(p, "in"));
    TRY(tsri_jinja_tuple(p, false, false, &n->b));
    if (tsri_jinja_skip(p, "if"))
        TRY(tsri_jinja_expression(p, true, &filter));
    n->flag = tsri_jinja_skip(p, "recursive");
    TRY(held(p, ends, &n->c));
    TRY(tsri_jinja_new(p, N_ARG, &n->args)); /* the condition, and the body of "else" */
    n->args->a = filter;
    if (tsri_jinja_skip(p, "else")) {
        TRY(closed(p, "endfor", &n->args->b));
    } else {
        p->at++;
        TRY(end_tag(p));
    }
    *out = n;
    return TSR_OK;
}

static tsr_status parse_set(jinja_parser *p, jinja_node **out) {
    jinja_node *n, *pipe = NULL;
    const jinja_token *t = &p->tokens[p->at];
    TRY(tsri_jinja_new(p, N_SET, &n));
    if (t->kind == 'n' && t[1].kind == 'o' && t[1].n == 1 && t[1].text[0] == '.') {
        TRY(tsri_jinja_new(p, N_ATTR, &n->a));
        TRY(tsri_jinja_name(p, &n->a->name));
        p->at++;
        const char *attribute;
        TRY(tsri_jinja_name(p, &attribute));
        TRY(tsri_jinja_new(p, N_NAME, &n->a->a));
        n->a->a->name = n->a->name;
        n->a->name = attribute;
    } else {
        TRY(tsri_jinja_tuple(p, false, true, &n->a));
    }
    *out = n;
    if (tsri_jinja_skip(p, "=")) {
        TRY(tsri_jinja_tuple(p, true, false, &n->b));
        return end_tag(p);
    }
    n->op = N_SET_BLOCK;
    TRY(tsri_jinja_filters(p, &pipe, false));
    n->b = pipe;
    return closed(p, "endset", &n->c);
}

/* "(a, b=1)": names with their defaults. */
static tsr_status parameters(jinja_parser *p, jinja_node **out) {
    TRY(tsri_jinja_expect(p, "("));
    size_t n = 0;
    for (; !tsri_jinja_skip(p, ")"); n++) {
        if (n)
            TRY(tsri_jinja_expect(p, ","));
        if (n + 1 >= MOST_ARGS)
            return tsri_jinja_wrong(p, "an end of the parameters");
        TRY(tsri_jinja_new(p, N_ARG, out));
        TRY(tsri_jinja_name(p, &(*out)->name));
        if (tsri_jinja_skip(p, "="))
            TRY(tsri_jinja_expression(p, true, &(*out)->a));
        out = &(*out)->next;
    }
    return TSR_OK;
}

/* The body of a macro or call block, and which extras it reads whose names its parameters don't have. A macro around it
 * reads them, too. */
static tsr_status macro_body(jinja_parser *p, const char *end, jinja_node *macro) {
    const jinja_extras before = p->reads;
    p->reads = (jinja_extras){0};
    TRY(closed(p, end, &macro->c));
    macro->reads = p->reads;
    for (const jinja_node *i = macro->args; i; i = i->next) {
        macro->reads.varargs &= !IS(i->name, "varargs");
        macro->reads.kwargs &= !IS(i->name, "kwargs");
    }
    p->reads.varargs |= before.varargs;
    p->reads.kwargs |= before.kwargs;
    return TSR_OK;
}

static tsr_status parse_macro(jinja_parser *p, jinja_node **out) {
    TRY(tsri_jinja_new(p, N_MACRO, out));
    TRY(tsri_jinja_name(p, &(*out)->name));
    TRY(parameters(p, &(*out)->args));
    return macro_body(p, "endmacro", *out);
}

static tsr_status parse_call(jinja_parser *p, jinja_node **out) {
    TRY(tsri_jinja_new(p, N_CALL_BLOCK, out));
    (*out)->name = "caller";
    if (tsri_jinja_is(p, "("))
        TRY(parameters(p, &(*out)->args));
    TRY(tsri_jinja_expression(p, true, &(*out)->a));
    if ((*out)->a->op != N_CALL)
        return tsri_jinja_wrong(p, "a call");
    return macro_body(p, "endcall", *out);
}

static tsr_status parse_filter(jinja_parser *p, jinja_node **out) {
    jinja_node *pipe = NULL;
    TRY(tsri_jinja_new(p, N_FILTER_BLOCK, out));
    TRY(tsri_jinja_filters(p, &pipe, true));
    (*out)->b = pipe;
    return closed(p, "endfilter", &(*out)->c);
}

static tsr_status parse_with(jinja_parser *p, jinja_node **out) {
    TRY(tsri_jinja_new(p, N_WITH, out));
    jinja_node **end = &(*out)->args;
    while (p->tokens[p->at].kind != '>') {
        if (end != &(*out)->args)
            TRY(tsri_jinja_expect(p, ","));
        TRY(tsri_jinja_new(p, N_ARG, end));
        TRY(tsri_jinja_name(p, &(*end)->name));
        TRY(tsri_jinja_expect(p, "="));
        TRY(tsri_jinja_expression(p, true, &(*end)->a));
        end = &(*end)->next;
    }
    return closed(p, "endwith", &(*out)->c);
}

static tsr_status parse_generation(jinja_parser *p, jinja_node **out) {
    TRY(tsri_jinja_new(p, N_BLOCK, out));
    return closed(p, "endgeneration", &(*out)->c);
}

static tsr_status parse_break(jinja_parser *p, jinja_node **out) {
    TRY(tsri_jinja_new(p, N_BREAK, out));
    return end_tag(p);
}

static tsr_status parse_continue(jinja_parser *p, jinja_node **out) {
    TRY(tsri_jinja_new(p, N_CONTINUE, out));
    return end_tag(p);
}

static tsr_status tag(jinja_parser *p, jinja_node **out) {
    static const struct {
        const char *name;
        tsr_status (*parse)(jinja_parser *p, jinja_node **out);
    } tags[] = {{"if", parse_if},       {"for", parse_for},
                {"set", parse_set},     {"macro", parse_macro},
                {"call", parse_call},   {"filter", parse_filter},
                {"with", parse_with},   {"generation", parse_generation},
                {"break", parse_break}, {"continue", parse_continue}};
    const jinja_token *t = &p->tokens[p->at];
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (tsri_jinja_skip(p, tags[i].name))
            return tags[i].parse(p, out);
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "chat template, line %d: the tag %.*s is not served, or stands where no "
                          "block is open",
                          t->line, (int)(t->n < 40 ? t->n : 40), t->text);
}

tsr_status tsri_jinja_body(jinja_parser *p, const char *const *ends, jinja_node **out) {
    jinja_node **end = out;
    if (++p->depth > TSRI_JINJA_DEPTH)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "chat template, line %d: it is nested more than %d deep",
                              p->tokens[p->at].line, TSRI_JINJA_DEPTH);
    *out = NULL;
    for (;;) {
        const jinja_token *t = &p->tokens[p->at];
        if (t->kind == 'e') {
            if (ends)
                return tsri_base_fail(TSR_E_FORMAT, "chat template: a block has no %s",
                                      ends[1] ? ends[ends[2] ? 2 : 1] : ends[0]);
            break;
        }
        p->at++;
        if (t->kind == 't') {
            jinja_text *text;
            TRY(tsri_jinja_alloc(p->arena, sizeof *text, &text));
            *text = (jinja_text){.n = t->n, .data = t->text};
            TRY(tsri_jinja_new(p, N_TEXT, end));
            (*end)->value = (jinja_value){.kind = J_TEXT, .text = text};
        } else if (t->kind == '{') {
            TRY(tsri_jinja_new(p, N_PRINT, end));
            TRY(tsri_jinja_tuple(p, true, false, &(*end)->a));
            if (p->tokens[p->at].kind != '}')
                return tsri_jinja_wrong(p, "}}");
            p->at++;
        } else {
            bool done = false;
            for (size_t i = 0; ends && ends[i]; i++)
                done = done || tsri_jinja_is(p, ends[i]);
            if (done)
                break;
            TRY(tag(p, end));
        }
        end = &(*end)->next;
    }
    p->depth--;
    return TSR_OK;
}

/* Line ends as Jinja reads them: all are \n, and one at the end of the text goes. */
static tsr_status plain_lines(jinja_arena *a, const char *text, size_t n, char **out,
                              size_t *size) {
    TRY(tsri_jinja_alloc(a, n + 1, out));
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        (*out)[used++] = text[i] == '\r' ? '\n' : text[i];
        i += text[i] == '\r' && i + 1 < n && text[i + 1] == '\n';
    }
    *size = used - (used && (*out)[used - 1] == '\n');
    return TSR_OK;
}

static tsr_status parse(tsri_jinja *t, const char *text, size_t n) {
    jinja_parser p = {.arena = &t->arena};
    char *lines;
    size_t size;
    TRY(plain_lines(&t->arena, text, n, &lines, &size));
    TRY(tsri_jinja_lex(&t->arena, lines, size, &p.tokens, &p.n));
    return tsri_jinja_body(&p, NULL, &t->root);
}

tsr_status tsri_jinja_parse(const char *text, size_t n, tsri_jinja **out) {
    tsri_jinja *t;
    *out = NULL;
    if (n > TSRI_JINJA_TEXT)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "the chat template has %zu bytes; at most %d are read", n,
                              TSRI_JINJA_TEXT);
    if (!tsri_text_utf8_valid(text, n))
        return tsri_base_fail(TSR_E_FORMAT, "the chat template is not UTF-8");
    TRY(tsri_base_new(1, sizeof *t, &t));
    t->arena.limit = (size_t)64 * TSRI_JINJA_TEXT;
    const tsr_status status = parse(t, text, n);
    if (status != TSR_OK)
        tsri_jinja_destroy(&t);
    *out = t;
    return status;
}

void tsri_jinja_destroy(tsri_jinja **t) {
    if (!*t)
        return;
    tsri_jinja_free(&(*t)->arena);
    free(*t);
    *t = NULL;
}
