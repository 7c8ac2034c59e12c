/* cli/shared/embedding.h - what embed, search and cluster share: the model, and texts through
 * it. */
#ifndef TESSERA_CLI_SHARED_EMBEDDING_H
#define TESSERA_CLI_SHARED_EMBEDDING_H

#include "cli/base/progress.h"
#include "cli/reading/lines.h"

typedef struct tsri_cli_embedding {
    tsri_cli_app *app;
    const char *prompt; /* as tsr_embed_options has it */
    tsr_embedder *embedder;
    tsr_embedder_info info;
    tsri_cli_window window;
    tsri_cli_lines *lines;
    tsri_cli_progress progress;
    uint64_t before, after; /* bytes taken before the window and with it */
    uint64_t done, cut;     /* texts before the window; texts that were too long */
} tsri_cli_embedding;

const tsri_cli_option *tsri_cli_embedding_options(tsri_cli_embedding *e); /* --prompt */

/* Opens the model (without -m that of tools/get-minilm) and says where it is no sentence-
 * transformers folder. Each returns an exit code, after saying what went wrong. */
int tsri_cli_embedding_open(tsri_cli_embedding *e);
int tsri_cli_embedding_begin(tsri_cli_embedding *e); /* again, with another prompt */
/* Embeds all texts of a source, a window at a time: `rows` is given vectors [window.n, width], zero
 * for those that have no text. At the end it says how many were cut, and CLI_MISS where some had no
 * text. */
int tsri_cli_embedding_run(tsri_cli_embedding *e, const tsri_cli_source *source,
                           int (*rows)(void *data, const float *vectors), void *data);
/* The same loop, where `each` does with a window what it likes. */
int tsri_cli_embedding_windows(tsri_cli_embedding *e, const tsri_cli_source *source,
                               int (*each)(void *data, tsr_embed_stats *stats), void *data);
/* As tsri_cli_status; a signal that cancelled a call is 128 and its number. */
int tsri_cli_embedding_status(tsr_status status);
void tsri_cli_embedding_close(tsri_cli_embedding *e);

#endif
