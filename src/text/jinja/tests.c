/* text/jinja/tests.c - what follows "is". */
#include "text/jinja/parts.h"

static bool is_kind(const char *name, const jinja_value *v, bool *out) {
    const jinja_kind k = v->kind;
    const bool list = k == J_LIST || k == J_TUPLE, text = k == J_TEXT;
    const struct {
        const char *name;
        bool is;
    } tests[] = {{"defined", k != J_UNDEFINED},
                 {"undefined", k == J_UNDEFINED},
                 {"none", k == J_NONE},
                 {"boolean", k == J_BOOL},
                 {"true", k == J_BOOL && v->i},
                 {"false", k == J_BOOL && !v->i},
                 {"integer", k == J_INT},
                 {"float", k == J_FLOAT},
                 {"number", k == J_INT || k == J_FLOAT || k == J_BOOL},
                 {"string", text},
                 {"mapping", k == J_DICT},
                 {"iterable", list || text || k == J_DICT || k == J_UNDEFINED},
                 {"sequence", list || text || k == J_DICT || k == J_UNDEFINED},
                 {"callable", k >= J_MACRO},
                 {"escaped", false}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (IS(tests[i].name, name)) {
            *out = tests[i].is;
            return true;
        }
    return false;
}

static tsr_status with_one(jinja_run *r, const char *name, const jinja_value *v,
                           const jinja_value *x, bool *out) {
    static const struct {
        const char *name, *op;
    } tests[] = {{"eq", "=="},         {"==", "=="}, {"equalto", "=="}, {"ne", "!="},
                 {"!=", "!="},         {"lt", "<"},  {"<", "<"},        {"lessthan", "<"},
                 {"le", "<="},         {"<=", "<="}, {"gt", ">"},       {">", ">"},
                 {"greaterthan", ">"}, {"ge", ">="}, {">=", ">="},      {"in", "in"}};
    if (IS(name, "sameas")) {
        TRY(tsri_jinja_equal(r, v, x, out));
        *out = *out && v->kind == x->kind;
        return TSR_OK;
    }
    if (IS(name, "divisibleby")) {
        if (v->kind != J_INT || x->kind != J_INT || !x->i)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "divisibleby wants whole numbers, not 0");
        *out = x->i == -1 || v->i % x->i == 0;
        return TSR_OK;
    }
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (IS(tests[i].name, name)) {
            jinja_node a = {.op = N_CONST, .value = *v, .line = r->line},
                       b = {.op = N_CONST, .value = *x, .line = r->line},
                       c = {.op = N_ARG, .name = tests[i].op, .a = &b},
                       compare = {.op = N_COMPARE, .a = &a, .args = &c, .line = r->line};
            jinja_value is;
            TRY(tsri_jinja_eval(r, NULL, &compare, &is));
            *out = is.i != 0;
            return TSR_OK;
        }
    return tsri_jinja_fail(r, TSR_E_UNSUPPORTED,
                           "the test %.40s is not served, or not with an argument", name);
}

tsr_status tsri_jinja_test(jinja_run *r, const char *name, const jinja_args *a, bool *out) {
    const jinja_value *v = &a->at[0];
    if (a->named || a->n > 2)
        return tsri_jinja_fail(r, TSR_E_UNSUPPORTED,
                               "the test %.40s is served with one argument at most, without a name",
                               name);
    if (a->n == 2)
        return with_one(r, name, v, &a->at[1], out);
    if (is_kind(name, v, out))
        return TSR_OK;
    if (IS(name, "odd") || IS(name, "even")) {
        if (v->kind != J_INT && v->kind != J_BOOL)
            return tsri_jinja_fail(r, TSR_E_FORMAT, "%s wants a whole number", name);
        *out = (v->i % 2 != 0) == IS(name, "odd");
        return TSR_OK;
    }
    if (IS(name, "upper") || IS(name, "lower")) {
        jinja_method m = {.name = IS(name, "upper") ? "isupper" : "islower"};
        const jinja_args nothing = {0};
        jinja_value is;
        TRY(tsri_jinja_str(r, v, &m.self));
        TRY(tsri_jinja_method(r, &m, &nothing, &is));
        *out = is.i != 0;
        return TSR_OK;
    }
    return tsri_jinja_fail(r, TSR_E_UNSUPPORTED,
                           "the test %.40s is not served, or not without an argument", name);
}
