/* cli/serve/given.h - what -m of tessera serve names: [NAME=]MODEL[+ADAPTER]..[+task:TASK] */
#ifndef TESSERA_CLI_SERVE_GIVEN_H
#define TESSERA_CLI_SERVE_GIVEN_H

#include "cli/base/args.h"

typedef struct tsri_serve_given {
    char *text;             /* own; the names lie in it */
    const char *name;       /* NULL: not given */
    const char *model;      /* NULL: the command's own */
    bool is_path;           /* model is one; else a name that finds it */
    tsri_cli_list adapters; /* folders, in the order that they are given */
    const char *task;       /* of the model's own adapters by task; NULL: not given */
} tsri_serve_given;

/* Reads one, or NULL. A path that exists is taken as it is, whatever = and + it has. Returns an exit code, and
 * prints what went wrong. */
int tsri_serve_given_read(const char *text, tsri_serve_given *out);
void tsri_serve_given_free(tsri_serve_given *given);

#endif
