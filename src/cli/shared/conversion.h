/* cli/shared/conversion.h - what merge and quantize share: from a model's folder to a new one. */
#ifndef TESSERA_CLI_SHARED_CONVERSION_H
#define TESSERA_CLI_SHARED_CONVERSION_H

#include "cli/base/app.h"

typedef struct tsri_cli_conversion {
    tsri_cli_app app;
    const char *folder; /* the new one */
} tsri_cli_conversion;

const tsri_cli_option *tsri_cli_source_option(tsri_cli_conversion *c);     /* -m */
const tsri_cli_option *tsri_cli_new_folder_option(tsri_cli_conversion *c); /* -o */

/* A callback of tsr_merge and tsr_quantize: returns not 0 once a signal has arrived. */
int tsri_cli_conversion_stop(void *data, uint64_t done, uint64_t total);
/* Tells that the folder was written, or what went wrong; returns the exit code. */
int tsri_cli_converted(const tsri_cli_conversion *c, tsr_status status);

#endif
