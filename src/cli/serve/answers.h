/* cli/serve/answers.h - the JSON of completions and chat completions: chunks of a stream, and whole answers. */
#ifndef TESSERA_CLI_SERVE_ANSWERS_H
#define TESSERA_CLI_SERVE_ANSWERS_H

#include "cli/serve/fields.h"

/* One answer: a request of the scheduler. */
typedef struct tsri_serve_choice {
    tsri_serve_job *job;
    uint32_t index;
    uint64_t request;                       /* its number; 0: it has ended, or was not added */
    uint64_t last_ns;                       /* when its last token came */
    tsri_serve_buffer text;                 /* with "echo", the prompt's first */
    tsr_answer *answer;                     /* own; NULL: the answer is not split, or no more */
    tsri_serve_buffer reasoning, arguments; /* arguments: of the call that is being written */
    char *function;                         /* own; of that call; NULL: none is */
    bool thinks;                            /* what came last is reasoning */
    json_t *logprobs;                       /* of all tokens so far, where they were asked for */
    size_t characters;                      /* of its text so far, */
    size_t held;                            /* and of what is held back behind it */
    double logprob;                         /* the sum of its tokens' */
    uint64_t tokens;
    bool given;                /* it is among the best */
    const char *finish;        /* NULL: it goes on */
    json_t *calls;             /* own: at its end, those that it makes; NULL: none */
    size_t content;            /* at its end: bytes of the text that are content, not calls */
    size_t streamed, reasoned; /* bytes of the text and the reasoning that were sent */
} tsri_serve_choice;

/* A request of a client: some prompts, each with `best_of` answers. */
struct tsri_serve_job {
    tsri_serve_job *next;
    tsri_serve_exchange *x;
    tsri_serve_ask ask;
    char id[48];
    int64_t created;
    tsri_serve_choice *choices;
    uint32_t n, left;
    uint64_t prompt_tokens, cached_tokens, new_tokens;
};

/* An empty list of log-probabilities in the request's form. */
json_t *tsri_serve_logprobs(const tsri_serve_job *job);
/* Adds a token to such a list. offset: characters of the text before it. known: false for the first
 * token of a text, which has no log-probability. */
void tsri_serve_add_logprob(const tsri_serve_job *job, json_t *logprobs, const tsr_generated *g,
                            size_t offset, bool known);
/* The first chunk of a chat's answer. */
json_t *tsri_serve_role_chunk(const tsri_serve_choice *choice);
/* A chunk with new text, which ends the choice where it has ended without calls. It takes over `logprobs`, which
 * may be NULL. */
json_t *tsri_serve_chunk(const tsri_serve_choice *choice, const char *text, size_t n,
                         json_t *logprobs);
/* A chunk with new text of what is thought. It takes over `logprobs`, which may be NULL. */
json_t *tsri_serve_reasoning_chunk(const tsri_serve_choice *choice, const char *text, size_t n,
                                   json_t *logprobs);
/* The last chunk of a choice that has calls. */
json_t *tsri_serve_calls_chunk(const tsri_serve_choice *choice);
json_t *tsri_serve_usage_chunk(const tsri_serve_job *job);
/* The whole answer; NULL: out of memory. */
json_t *tsri_serve_whole(tsri_serve_job *job);

#endif
