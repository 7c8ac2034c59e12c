/* text/jinja/parts.h - what the interpreter's files share: memory, values, nodes, a render. */
#ifndef TSRI_TEXT_JINJA_PARTS_H
#define TSRI_TEXT_JINJA_PARTS_H

#include "base/error.h"
#include "base/memory.h"
#include "text/jinja/jinja.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- memory that is freed as a whole ---- */

typedef struct jinja_chunk jinja_chunk;
typedef struct jinja_arena {
    jinja_chunk *last;
    size_t used, limit;
} jinja_arena;
tsr_status tsri_jinja_alloc(jinja_arena *a, size_t n, void *out);
void tsri_jinja_free(jinja_arena *a);

/* ---- values ---- */

typedef enum jinja_kind {
    J_UNDEFINED,
    J_NONE,
    J_BOOL,
    J_INT,
    J_FLOAT,
    J_TEXT,
    J_LIST,
    J_TUPLE,
    J_DICT,
    J_SPACE,
    J_MACRO,
    J_METHOD,
    J_GLOBAL,
    J_LOOP,
    J_CYCLER,
    J_JOINER
} jinja_kind;

typedef struct jinja_text {
    size_t n;
    const char *data;
    const char *said; /* a byte for each byte of data; NULL: all from the template */
} jinja_text;

typedef struct jinja_value jinja_value;
typedef struct jinja_list {
    size_t n, room;
    jinja_value *items;
} jinja_list;
typedef struct jinja_dict jinja_dict; /* also a namespace */
typedef struct jinja_node jinja_node;
typedef struct jinja_scope jinja_scope;
typedef struct jinja_method jinja_method;
typedef struct jinja_macro jinja_macro;
typedef struct jinja_loop jinja_loop;

struct jinja_value {
    jinja_kind kind;
    union {
        int64_t i; /* also a bool, a global's number */
        double f;
        const jinja_text *text;
        jinja_list *list; /* also a tuple, a cycler's items */
        jinja_dict *dict;
        jinja_method *method;
        jinja_macro *macro;
        jinja_loop *loop;
        const char *name; /* of what is undefined */
    };
};

struct jinja_dict {
    size_t n, room;
    jinja_value *keys, *values;
    size_t at;
};
struct jinja_method {
    jinja_value self;
    const char *name;
};
struct jinja_scope {
    jinja_scope *up;
    jinja_dict vars;
};
struct jinja_loop {
    jinja_list *items;
    size_t at, depth;
    jinja_value changed;
    const jinja_node *body;
    jinja_scope *scope;
};

/* ---- nodes ---- */

typedef enum jinja_op {
    N_CONST,
    N_NAME,
    N_LIST,
    N_TUPLE,
    N_DICT,
    N_ATTR,
    N_ITEM,
    N_SLICE,
    N_CALL,
    N_FILTER,
    N_TEST,
    N_AND,
    N_OR,
    N_NOT,
    N_NEG,
    N_POS,
    N_BINARY,
    N_COMPARE,
    N_IF_ELSE,
    N_ARG,
    N_TEXT,
    N_PRINT,
    N_IF,
    N_FOR,
    N_SET,
    N_SET_BLOCK,
    N_MACRO,
    N_CALL_BLOCK,
    N_FILTER_BLOCK,
    N_WITH,
    N_BLOCK,
    N_BREAK,
    N_CONTINUE
} jinja_op;

/* The arguments that a macro has no parameters for: whether their names are read. */
typedef struct jinja_extras {
    bool varargs, kwargs;
} jinja_extras;

struct jinja_node {
    jinja_op op;
    int line;
    const char *name;             /* name, attribute, filter, test, operator, key of an argument */
    jinja_value value;            /* of a constant */
    jinja_node *a, *b, *c, *args; /* operands; lists go on by `next` */
    jinja_node *next;
    bool flag;          /* N_TEST: negated; N_FOR: recursive */
    jinja_extras reads; /* what the body of a macro or call block reads */
};
struct jinja_macro {
    const jinja_node *node;
    jinja_scope *scope;
    jinja_value caller;
};

struct tsri_jinja {
    jinja_arena arena;
    jinja_node *root;
};

/* ---- a render ---- */

typedef struct jinja_buffer {
    char *data, *said;
    size_t n, room;
} jinja_buffer;
typedef enum jinja_flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE } jinja_flow;
typedef struct jinja_run {
    jinja_arena arena;
    size_t steps;
    int depth, chain, line;
    time_t now;
    jinja_scope *globals;
    jinja_flow flow;
} jinja_run;

enum { MOST_ARGS = 16 };
typedef struct jinja_args {
    size_t n, named;
    jinja_value at[MOST_ARGS], of[MOST_ARGS];
    const char *names[MOST_ARGS];
} jinja_args;

__attribute__((format(PRINTF, 3, 4))) tsr_status tsri_jinja_fail(const jinja_run *r, tsr_status s,
                                                                 const char *format, ...);
tsr_status tsri_jinja_step(jinja_run *r, size_t n);
/* One level more, which the caller takes off again: of blocks, calls and values in r->depth, of operands in r->chain. */
tsr_status tsri_jinja_enter(jinja_run *r);
tsr_status tsri_jinja_nest(jinja_run *r);

#define INT(x) ((jinja_value){.kind = J_INT, .i = (int64_t)(x)})
#define BOOL(x) ((jinja_value){.kind = J_BOOL, .i = (x) ? 1 : 0})
#define FLOAT(x) ((jinja_value){.kind = J_FLOAT, .f = (x)})
#define NONE ((jinja_value){.kind = J_NONE})
#define UNDEFINED(x) ((jinja_value){.kind = J_UNDEFINED, .name = (x)})
#define IS(v, s) (!strcmp((v), (s)))

/* values.c */
tsr_status tsri_jinja_put(jinja_run *r, jinja_buffer *b, const char *data, const char *said,
                          size_t n);
tsr_status tsri_jinja_put_text(jinja_run *r, jinja_buffer *b, const jinja_text *t);
tsr_status tsri_jinja_take(jinja_run *r, const jinja_buffer *b, jinja_value *out);
tsr_status tsri_jinja_text(jinja_run *r, const char *data, const char *said, size_t n,
                           jinja_value *out);
tsr_status tsri_jinja_literal(jinja_run *r, const char *s, jinja_value *out);
tsr_status tsri_jinja_list(jinja_run *r, jinja_kind kind, jinja_value *out);
tsr_status tsri_jinja_push(jinja_run *r, jinja_list *l, jinja_value v);
tsr_status tsri_jinja_dict(jinja_run *r, jinja_kind kind, jinja_value *out);
tsr_status tsri_jinja_set(jinja_run *r, jinja_dict *d, jinja_value key, jinja_value v);
bool tsri_jinja_get(const jinja_dict *d, const char *key, size_t n, jinja_value *out);
tsr_status tsri_jinja_find(jinja_run *r, const jinja_dict *d, jinja_value key, jinja_value *out,
                           bool *found);
bool tsri_jinja_truth(const jinja_value *v);
tsr_status tsri_jinja_equal(jinja_run *r, const jinja_value *a, const jinja_value *b, bool *out);
tsr_status tsri_jinja_compare(jinja_run *r, const jinja_value *a, const jinja_value *b, int *out);
tsr_status tsri_jinja_items(jinja_run *r, const jinja_value *v, jinja_list **out);
const char *tsri_jinja_kind(const jinja_value *v);
size_t tsri_jinja_length(const jinja_text *t); /* in code points */
size_t tsri_jinja_offset(const jinja_text *t, size_t at);
/* The code points from, from + step, ... before `to` or, with a step below 0, behind it. Both are within the text, or
 * beside it. */
tsr_status tsri_jinja_slice(jinja_run *r, const jinja_text *t, int64_t from, int64_t to,
                            int64_t step, jinja_value *out);
/* int(text, base) of Python: with the base 0, a 0x, 0o or 0b says it. False: not such a number, or above 64 bits. */
bool tsri_jinja_whole(const jinja_text *t, int64_t base, int64_t *out);
bool tsri_jinja_space(int32_t c);

/* print.c: str(), repr(), tojson */
tsr_status tsri_jinja_str(jinja_run *r, const jinja_value *v, jinja_value *out);
tsr_status tsri_jinja_print(jinja_run *r, jinja_buffer *b, const jinja_value *v, bool repr);
tsr_status tsri_jinja_to_json(jinja_run *r, const jinja_args *a, jinja_value *out);
tsr_status tsri_jinja_of_json(jinja_run *r, const json_t *json, bool said, const char *key,
                              jinja_value *out);

/* lex.c, parse.c, statements.c */
typedef struct jinja_token {
    char kind;
    const char *text;
    size_t n;
    int line;
} jinja_token;
typedef struct jinja_parser {
    jinja_arena *arena;
    jinja_token *tokens;
    size_t n, at;
    int depth;
    jinja_extras reads; /* so far */
} jinja_parser;
tsr_status tsri_jinja_lex(jinja_arena *a, const char *text, size_t n, jinja_token **out,
                          size_t *count);
tsr_status tsri_jinja_new(jinja_parser *p, jinja_op op, jinja_node **out);
tsr_status tsri_jinja_expression(jinja_parser *p, bool conditional, jinja_node **out);
tsr_status tsri_jinja_tuple(jinja_parser *p, bool conditional, bool target, jinja_node **out);
tsr_status tsri_jinja_arguments(jinja_parser *p, jinja_node **out);
tsr_status tsri_jinja_filters(jinja_parser *p, jinja_node **node, bool first);
bool tsri_jinja_is(const jinja_parser *p, const char *text);
bool tsri_jinja_skip(jinja_parser *p, const char *text);
tsr_status tsri_jinja_expect(jinja_parser *p, const char *text);
tsr_status tsri_jinja_name(jinja_parser *p, const char **out);
tsr_status tsri_jinja_wrong(const jinja_parser *p, const char *wanted);
tsr_status tsri_jinja_body(jinja_parser *p, const char *const *ends, jinja_node **out);

/* evaluate.c, call.c, execute.c, methods.c, filters.c, tests.c */
tsr_status tsri_jinja_eval(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_value *out);
tsr_status tsri_jinja_attr(jinja_run *r, const jinja_value *v, const jinja_value *key, bool item,
                           jinja_value *out);
tsr_status tsri_jinja_arithmetic(jinja_run *r, const char *op, const jinja_value *a,
                                 const jinja_value *b, jinja_value *out);
tsr_status tsri_jinja_call(jinja_run *r, jinja_scope *s, const jinja_value *f, const jinja_args *a,
                           jinja_value *out);
tsr_status tsri_jinja_eval_args(jinja_run *r, jinja_scope *s, const jinja_node *list,
                                jinja_args *a);
tsr_status tsri_jinja_scope(jinja_run *r, jinja_scope *up, jinja_scope **out);
tsr_status tsri_jinja_bind(jinja_run *r, jinja_scope *s, const char *name, jinja_value v);
tsr_status tsri_jinja_exec(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_buffer *b);
tsr_status tsri_jinja_loop(jinja_run *r, jinja_scope *s, const jinja_node *n,
                           const jinja_value *over, size_t depth, jinja_buffer *b);
tsr_status tsri_jinja_method(jinja_run *r, const jinja_method *m, const jinja_args *a,
                             jinja_value *out);
bool tsri_jinja_has_method(const jinja_value *v, const char *name);
/* a->at[0] is the value that is filtered or tested */
tsr_status tsri_jinja_filter(jinja_run *r, const char *name, const jinja_args *a, jinja_value *out);
tsr_status tsri_jinja_test(jinja_run *r, const char *name, const jinja_args *a, bool *out);
/* The argument at this place or of this name; NULL: not given. */
const jinja_value *tsri_jinja_arg(const jinja_args *a, size_t at, const char *name);
/* Whether a name is in a list, "old, new, count". */
bool tsri_jinja_is_among(const char *list, const char *name);
/* Whether the arguments from a->at[first] on fit the parameters of `what`, such a list; "*": any without a name;
 * "**": any. Else TSR_E_FORMAT names what doesn't fit. */
tsr_status tsri_jinja_fits(const jinja_run *r, const char *what, const char *params, size_t first,
                           const jinja_args *a);
/* The same from the first on; and named ones come to their places, behind None where nothing is given. */
tsr_status tsri_jinja_placed(const jinja_run *r, const char *what, const char *params,
                             const jinja_args *a, jinja_args *out);

#endif
