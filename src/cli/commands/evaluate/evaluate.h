/* cli/commands/evaluate/evaluate.h - what the kinds of tessera evaluate share. */
#ifndef TESSERA_CLI_COMMANDS_EVALUATE_EVALUATE_H
#define TESSERA_CLI_COMMANDS_EVALUATE_EVALUATE_H

#include "cli/shared/searching.h"

typedef struct tsri_cli_evaluation {
    tsri_cli_app app;
    const char *perplexity, *labelled, *words, *answers, *parallel, *hypotheses,
        *references;                      /* files */
    int64_t window, stride;               /* of perplexity */
    const char *text_field, *label_field; /* of labelled and words; NULL: not given */
    int64_t longest;                      /* of answers */
    const char *metrics, *from, *to;      /* of translations */
    const char *encoding;                 /* of the files */
    int64_t batch;
    tsri_cli_searching searching;
} tsri_cli_evaluation;

/* Each returns an exit code, after saying what went wrong. */
int tsri_cli_evaluate_perplexity(tsri_cli_evaluation *job);
int tsri_cli_evaluate_labels(tsri_cli_evaluation *job);
int tsri_cli_evaluate_words(tsri_cli_evaluation *job);
int tsri_cli_evaluate_answers(tsri_cli_evaluation *job);
int tsri_cli_evaluate_parallel(tsri_cli_evaluation *job);   /* translates, then scores */
int tsri_cli_evaluate_hypotheses(tsri_cli_evaluation *job); /* without a model */

#endif
