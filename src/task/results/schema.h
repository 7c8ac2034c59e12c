/* task/results/schema.h - holds JSON against docs/benchmark-schema.json, which the build embeds. */
#ifndef TSRI_TASK_RESULTS_SCHEMA_H
#define TSRI_TASK_RESULTS_SCHEMA_H

#include "base/json.h"

typedef struct tsri_results_schema {
    const char *path, *text;
    size_t size;
} tsri_results_schema;
extern const tsri_results_schema tsri_results_schemas[]; /* one, then NULL */
extern const size_t tsri_results_schema_count;

/* TSR_E_FORMAT, with the place in the value and what should be there, where it breaks the schema.
 * `what` names the source. */
tsr_status tsri_results_check(const json_t *value, const char *what);

#endif
