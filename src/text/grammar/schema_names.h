/* text/grammar/schema_names.h - the names of an object's properties. */
#ifndef TSRI_TEXT_GRAMMAR_SCHEMA_NAMES_H
#define TSRI_TEXT_GRAMMAR_SCHEMA_NAMES_H

#include "text/grammar/product.h"
#include "text/grammar/schema.h"

enum { TSRI_TEXT_NAME_PATTERNS = 4 };

/* What the names of further properties are held to: no character of them is escaped, the schema does not name them,
 * and they follow propertyNames and the patterns of patternProperties. Without the latter two, n is 0. */
typedef struct tsri_text_names {
    tsri_text_schema *s;
    const json_t *properties, *required; /* objects with names, or NULL */
    tsri_text_factor factors[TSRI_TEXT_FACTORS];
    tsri_text_factor *rule; /* propertyNames; NULL: none */
    size_t n, first;        /* of the patterns */
    const json_t *schemas[TSRI_TEXT_NAME_PATTERNS];
    size_t n_patterns;
} tsri_text_names;

/* required: an object with the names of "required". Failures are kept in the tree. The caller closes *out in any case. */
void tsri_text_names_open(tsri_text_schema *s, const json_t *schema, const json_t *required,
                          tsri_text_names *out);
void tsri_text_names_close(tsri_text_names *names);
/* Whether a property may have this name; *schema, its own, or NULL, becomes what its value is held to. */
bool tsri_text_names_value(tsri_text_names *names, const char *name, const json_t **schema);
/* A further property, its name and its value. 0: there may be none. further: "additionalProperties", or NULL. */
int32_t tsri_text_names_further(tsri_text_names *names, const json_t *further);

/* A name in quotes. */
int32_t tsri_text_name_literal(tsri_text_tree *tree, const char *name);

#endif
