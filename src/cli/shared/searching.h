/* cli/shared/searching.h - the options of beam search, which generate, translate and evaluate
 * share. */
#ifndef TESSERA_CLI_SHARED_SEARCHING_H
#define TESSERA_CLI_SHARED_SEARCHING_H

#include "cli/base/app.h"

typedef struct tsri_cli_searching {
    int64_t num_beams, n_best, no_repeat_ngram, min_new_tokens;
    float length_penalty, coverage_penalty;
    const char *early_stopping, *suppress;
    bool has_num_beams, has_n_best, has_no_repeat_ngram, has_min_new_tokens, has_length_penalty,
        has_coverage_penalty;
    int32_t *suppressed;
} tsri_cli_searching;

const tsri_cli_option *tsri_cli_searching_options(tsri_cli_searching *searching);
/* Applies what was given to `options`, which borrows from `searching` until that is cleared. */
int tsri_cli_searching_apply(tsri_cli_searching *searching, tsr_generate_options *options);
/* The same on the settings with which the model translates. */
int tsri_cli_searching_translation(tsri_cli_searching *searching, tsr_model *model,
                                   tsr_generate_options *options);
void tsri_cli_searching_clear(tsri_cli_searching *searching);

#endif
