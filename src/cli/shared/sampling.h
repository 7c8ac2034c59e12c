/* cli/shared/sampling.h - the options that generate and chat share. */
#ifndef TESSERA_CLI_SHARED_SAMPLING_H
#define TESSERA_CLI_SHARED_SAMPLING_H

#include "cli/base/app.h"

typedef struct tsri_cli_sampling {
    float temperature, top_p, min_p, repeat_penalty;
    int64_t top_k, n;
    uint64_t seed;
    bool has_temperature, has_top_p, has_min_p, has_repeat_penalty, has_top_k, has_n, has_seed,
        ignore_eos;
    tsri_cli_list stop;
} tsri_cli_sampling;

const tsri_cli_option *tsri_cli_sampling_options(tsri_cli_sampling *sampling);
/* The model's defaults, changed by what was given; a seed is drawn where none was. */
int tsri_cli_sampling_apply(const tsri_cli_app *app, const tsri_cli_sampling *sampling,
                            tsr_generate_options *options);
/* The seed on stderr, where it decides. */
void tsri_cli_sampling_tell(const tsri_cli_app *app, const tsr_generate_options *options);
/* "3 tokens, first after 0.02 s; ..." on stderr. */
void tsri_cli_print_stats(const tsri_cli_app *app, const tsr_generate_stats *stats);
const char *tsri_cli_finish_name(uint32_t finish);

#endif
