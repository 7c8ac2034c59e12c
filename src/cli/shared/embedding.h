/* cli/shared/embedding.h - what embed, search and cluster share: opening the model, and running
 * texts through it. */
#ifndef TESSERA_CLI_SHARED_EMBEDDING_H
#define TESSERA_CLI_SHARED_EMBEDDING_H

#include "cli/base/progress.h"
#include "cli/reading/lines.h"

typedef struct tsri_cli_embedding {
    tsri_cli_app *app;
    const char *prompt; /* as in tsr_embed_options */
    tsr_embedder *embedder;
    tsr_embedder_info info;
    tsri_cli_window window;
    tsri_cli_lines *lines;
    tsri_cli_progress progress;
    uint64_t before, after; /* bytes taken before the window, and including it */
    uint64_t done, cut;     /* texts in earlier windows; texts that were too long */
} tsri_cli_embedding;

const tsri_cli_option *tsri_cli_embedding_options(tsri_cli_embedding *e); /* --prompt */

/* Opens the model (without -m, the one of tools/get-minilm), and notes where it is not a
 * sentence-transformers folder. Each returns an exit code, and prints what went wrong. */
int tsri_cli_embedding_open(tsri_cli_embedding *e);
int tsri_cli_embedding_begin(tsri_cli_embedding *e); /* begins again with another prompt */
/* Embeds all texts of a source, one window at a time, and calls `rows` with the vectors [window.n,
 * width]; texts that are missing get zeros. At the end it prints how many were cut, and returns
 * CLI_MISS where some had no text. */
int tsri_cli_embedding_run(tsri_cli_embedding *e, const tsri_cli_source *source,
                           int (*rows)(void *data, const float *vectors), void *data);
/* The same loop, where `each` does the work on each window. */
int tsri_cli_embedding_windows(tsri_cli_embedding *e, const tsri_cli_source *source,
                               int (*each)(void *data, tsr_embed_stats *stats), void *data);
void tsri_cli_embedding_close(tsri_cli_embedding *e);

#endif
