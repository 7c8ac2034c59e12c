/* cli/shared/sampling.h - the options of sampling, which generate and chat share. */
#ifndef TESSERA_CLI_SHARED_SAMPLING_H
#define TESSERA_CLI_SHARED_SAMPLING_H

#include "cli/base/app.h"

typedef struct tsri_cli_sampling {
    float temperature, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
    int64_t top_k, n, speculate;
    uint64_t seed;
    bool has_temperature, has_top_p, has_min_p, has_repeat_penalty, has_top_k, has_n, has_seed,
        has_speculate, ignore_eos;
    tsri_cli_list stop, logit_bias;
    tsr_logit_bias *biases; /* what logit_bias says */
    const char *grammar_file, *schema_file;
    char *grammar, *schema; /* what is in the files */
} tsri_cli_sampling;

const tsri_cli_option *tsri_cli_sampling_options(tsri_cli_sampling *sampling);
/* Reads the files that the options name, and checks them, before a model is opened. */
int tsri_cli_sampling_read(tsri_cli_app *app, tsri_cli_sampling *sampling);
/* Fills `options` with the model's defaults and the options that were given; draws a seed where
 * none was given. They borrow from `sampling`. */
int tsri_cli_sampling_apply(const tsri_cli_app *app, tsri_cli_sampling *sampling,
                            tsr_generate_options *options);
void tsri_cli_sampling_clear(tsri_cli_sampling *sampling);
/* Prints on stderr the seed if tokens are drawn; if not, an option of draws that has no effect. */
void tsri_cli_sampling_tell(const tsri_cli_app *app, const tsri_cli_sampling *sampling,
                            const tsr_generate_options *options);
/* The exit code after a generation, which may have been cancelled: a failure, and a signal before the
 * first token, are said; a text that was begun stays as it is. */
int tsri_cli_generated(tsr_status status, const tsr_generate_stats *stats);
/* Prints times and speeds on stderr. */
void tsri_cli_print_stats(const tsri_cli_app *app, const tsr_generate_stats *stats);
const char *tsri_cli_finish_name(uint32_t finish);

#endif
