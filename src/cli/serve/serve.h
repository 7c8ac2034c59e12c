/* cli/serve/serve.h - runs a server until a signal comes. */
#ifndef TESSERA_CLI_SERVE_SERVE_H
#define TESSERA_CLI_SERVE_SERVE_H

#include "cli/base/app.h"

typedef struct tsri_serve_options {
    tsri_cli_app *app;
    tsri_cli_list models; /* each [NAME=]MODEL[+ADAPTER]..[+task:TASK] */
    tsri_cli_list origins;
    const char *host, *alias, *key, *key_file, *certificate_file, *certificate_key_file,
        *template_file, *pooling;
    int64_t port, slots, kv_tokens, queue, connections, body, idle, header, upload, drain,
        step_tokens;
    int64_t prompt_tokens, new_tokens; /* 0: not given */
    int64_t speculate;                 /* -1: not given */
    bool rank;
    bool log, log_prompts;
    const char *log_format; /* "text" or "json"; NULL: text */
} tsri_serve_options;

/* Opens the models, too. Returns an exit code, and prints what went wrong. */
int tsri_serve_run(const tsri_serve_options *options);

#endif
