/* text/grammar/schema.h - what the parts of the reader of JSON schemas share. */
#ifndef TSRI_TEXT_GRAMMAR_SCHEMA_H
#define TSRI_TEXT_GRAMMAR_SCHEMA_H

#include "base/json.h"
#include "text/grammar/json.h"

/* Types of values. A whole number that is written with a point is a number alone. */
enum {
    TSRI_TEXT_JSON_OBJECT = 1,
    TSRI_TEXT_JSON_ARRAY = 2,
    TSRI_TEXT_JSON_TEXT = 4,
    TSRI_TEXT_JSON_WHOLE = 8,
    TSRI_TEXT_JSON_NUMBER = 16,
    TSRI_TEXT_JSON_BOOLEAN = 32,
    TSRI_TEXT_JSON_NOTHING = 64
};

/* A schema that others refer to, joined with what stands beside the "$ref". */
typedef struct tsri_text_reference {
    const json_t *schema;
    int32_t rule;
} tsri_text_reference;

typedef struct tsri_text_schema {
    tsri_text_json json;
    const json_t *root;
    tsri_text_reference *references;
    size_t n_references, references_room;
    json_t *rules;    /* their rules: numbers, by what the references say */
    json_t *joined;   /* a list that owns the schemas that were joined of several */
    tsri_bytes path;  /* of the schema that is read, for messages */
    int depth, count; /* of schemas that are open; of all so far */
    int compared;     /* pairs of schemas, by schema_apart.c */
} tsri_text_schema;

/* The texts that a schema allows. Failures are kept in the tree. */
int32_t tsri_text_schema_read(tsri_text_schema *s, const json_t *schema);
/* The same for a part of the schema that is read: its keyword, and a name or NULL, for messages. */
int32_t tsri_text_schema_part(tsri_text_schema *s, const char *keyword, const char *name,
                              const json_t *schema);
/* Keeps a failure at the schema that is read. */
__attribute__((format(PRINTF, 3, 4))) int32_t
tsri_text_schema_fail(tsri_text_schema *s, tsr_status status, const char *format, ...);
/* A count of the schema, such as "minItems": 0 or more. `missing` where it has none. */
int32_t tsri_text_schema_count(tsri_text_schema *s, const json_t *schema, const char *key,
                               int32_t missing);

/* The same in a grammar of its own, whose rule 0 it is. */
tsr_status tsri_text_schema_within(const tsri_text_schema *s, const json_t *schema,
                                   tsri_text_tree *tree);

/* schema_text.c: texts, by their length, pattern and format */
int32_t tsri_text_schema_text(tsri_text_schema *s, const json_t *schema);

/* schema_lists.c: objects and arrays */
int32_t tsri_text_schema_object(tsri_text_schema *s, const json_t *schema);
int32_t tsri_text_schema_array(tsri_text_schema *s, const json_t *schema);

/* schema_join.c: what is allowed by both of two schemas, as one; owned by s->joined. NULL: failed. */
json_t *tsri_text_schema_join(tsri_text_schema *s, const json_t *a, const json_t *b);
/* The parts of "allOf", and what stands beside it, joined. NULL: failed. */
const json_t *tsri_text_schema_all_of(tsri_text_schema *s, const json_t *schema);
/* A copy without a keyword and without notes; NULL where nothing is left. Owned by s->joined. */
json_t *tsri_text_schema_without(tsri_text_schema *s, const json_t *schema, const char *keyword);
/* A schema without "$ref" and "allOf": what they stand for, joined. NULL: failed, or it has no end. */
const json_t *tsri_text_schema_flat(tsri_text_schema *s, const json_t *schema);
/* The schema at a pointer like #/$defs/name. NULL: failed. */
const json_t *tsri_text_schema_at(tsri_text_schema *s, const char *pointer);
/* The texts that the schema at a pointer allows, if `rest`, which stands beside the reference, allows them, too; rest NULL:
 * nothing does. Both are a rule, which is read later, and once for equal references, so that it may refer to itself; with a
 * long rest they are read at once. */
int32_t tsri_text_schema_refer(tsri_text_schema *s, const char *pointer, const json_t *rest);

/* schema_apart.c: changes the parts of a "oneOf", so that what is written by one holds for no other one. Failures, also
 * where it can't be shown that it does not, are kept in the tree. */
void tsri_text_schema_set_apart(tsri_text_schema *s, json_t *parts);

int tsri_text_value_type(const json_t *value);
/* The types that are written: those that are named, else those that its keywords are about, else all. */
int tsri_text_schema_types(tsri_text_schema *s, const json_t *schema, bool *named);

/* The text of a value; NULL: it is not a text, or has a 0 byte, as only texts of "enum" and "const" may. */
const char *tsri_text_schema_word(const json_t *value);

/* A property that says nothing about what is allowed, such as "title". */
bool tsri_text_schema_is_note(const char *keyword);

#endif
