/* cli/serve/fields.h - what a request for text asks for: the fields of its JSON, by a table. */
#ifndef TESSERA_CLI_SERVE_FIELDS_H
#define TESSERA_CLI_SERVE_FIELDS_H

#include "cli/serve/server.h"

enum {
    TSRI_SERVE_STOPS = 16,
    TSRI_SERVE_TOP = 20,
    TSRI_SERVE_CHOICES = 64,
    TSRI_SERVE_BIASES = 300
};

typedef struct tsri_serve_ask {
    tsr_generate_options options; /* points into `stops` and `biases` */
    const char *stops[TSRI_SERVE_STOPS];
    tsr_logit_bias biases[TSRI_SERVE_BIASES];
    bool chat, stream, include_usage, logprobs, echo, has_seed;
    /* The answer may be, or must be, calls of functions, in this form; several, too. */
    bool calls, must_call, parallel_calls;
    const struct tsri_serve_call_form *call_form; /* NULL: in channels */
    /* The answer is split into what is thought, said and called; by channels. */
    bool split, channels;
    /* own: the JSON schema of the answer; the grammar of calls or channels; what the template is told: of tools, and
     * by variables */
    char *schema, *call_grammar, *tools_text, *variables;
    /* of the body, while it is read */
    const json_t *tools, *tool_choice, *template_kwargs, *reasoning_effort;
    json_t *functions; /* own: a list of those that may be called; NULL: none may */
    int64_t n;         /* answers for each prompt */
    int64_t best_of;   /* so many are written, and the n likeliest given; n: all */
} tsri_serve_ask;

/* Reads all fields of `body` but the prompt. What it fills borrows from the body and the model. The caller clears *ask, after a
 * failure, too. False: *f says why. */
bool tsri_serve_ask_read(tsri_serve_model *model, const json_t *body, bool chat,
                         tsri_serve_ask *ask, tsri_serve_failure *f);
void tsri_serve_ask_clear(tsri_serve_ask *ask);
/* Reads a list of token ids into new memory. Where it is not one, *f says that `wanted` is wanted. */
bool tsri_serve_ids(const json_t *list, const char *param, const char *wanted, int32_t **ids,
                    size_t *n, tsri_serve_failure *f);
/* A number that is another one each time. */
uint64_t tsri_serve_random(void);
/* Whether a body has no fields but these and such as are null, which count as missing. */
bool tsri_serve_only(const json_t *body, const char *const *known, size_t n, tsri_serve_failure *f);

#endif
