/* cli/app.h - what every command shares: the engine, the device, the model, what is printed where,
 * and how it ends. */
#ifndef TESSERA_CLI_APP_H
#define TESSERA_CLI_APP_H

#include "cli/args.h"
#include "tessera/tessera.h"

#include <stdio.h>

typedef struct tsri_cli_app {
    /* options that commands have in common */
    const char *model_name, *device_name, *kernels, *bundle, *dtype_name, *kv_dtype_name,
        *compute_name, *profile;
    tsri_cli_list backends, loras;
    int64_t threads, context;
    bool quiet, verbose, json;
    /* opened on demand */
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
    bool no_self_test;
    bool measure;      /* launches are timed, for the command itself */
    bool record;       /* kernels are chosen for a bundle, not built */
    bool stopped;      /* nothing more can be written to stdout */
    bool write_failed; /* and it was not its reader who closed it */
    bool progress_shown;
    bool input_taken;  /* standard input has a reader */
    uint64_t told[32]; /* hashes of the last warnings */
    size_t n_told;
    struct json_t *profiled; /* entries of a profile that goes to a file */
    int profiled_lines;      /* of one that is printed */
} tsri_cli_app;

/* Rows for tsri_cli_parse. */
const tsri_cli_option *
tsri_cli_device_options(tsri_cli_app *app); /* -d --backend --kernels -t --profile */
const tsri_cli_option *
tsri_cli_model_options(tsri_cli_app *app); /* -m --dtype --kv-dtype --compute -c --lora */
const tsri_cli_option *tsri_cli_common_options(tsri_cli_app *app); /* -q -v */
const tsri_cli_option *tsri_cli_json_option(tsri_cli_app *app);    /* --json */

/* Each returns an exit code, after saying what went wrong. */
int tsri_cli_open_engine(tsri_cli_app *app);
int tsri_cli_open_device(tsri_cli_app *app);
int tsri_cli_open_model(tsri_cli_app *app); /* and the engine and the device */
/* What the options of a model say, for those who open it themselves. */
int tsri_cli_model_settings(tsri_cli_app *app, tsr_model_options *options);
/* Takes an entry of the profile that was asked for: for tsr_profile and tsr_train. */
void tsri_cli_profiled(void *app, const tsr_profiled *entry);
/* Prints or writes the profile where it was asked for; closes everything. Returns `code`, or
 * another where that failed. */
int tsri_cli_close(tsri_cli_app *app, int code);

/* Says tsr_error_last() and gives the exit code of a status. */
int tsri_cli_status(tsr_status status);

/* Writes to stdout; false where it cannot (its reader is gone: app->stopped; else it was said). */
bool tsri_cli_write(tsri_cli_app *app, const void *data, size_t n);
__attribute__((format(printf, 2, 3))) bool tsri_cli_print(tsri_cli_app *app, const char *format,
                                                          ...);
bool tsri_cli_flush(tsri_cli_app *app);
/* Says that memory is out for what was to be printed; nothing more is, and the exit code is
 * CLI_OTHER. */
void tsri_cli_lost(tsri_cli_app *app);
/* Takes a line of progress off the terminal before something else is said. */
void tsri_cli_clear_progress(tsri_cli_app *app);
/* A line on stderr unless quiet. */
__attribute__((format(printf, 2, 3))) void tsri_cli_note(const tsri_cli_app *app,
                                                         const char *format, ...);

/* 0, or the number of SIGINT or SIGTERM that arrived. */
int tsri_cli_signal(void);
void tsri_cli_catch_signals(void);

bool tsri_cli_is_terminal(int fd);

/* Commands. */
int tsri_cli_generate(int argc, char **argv);
int tsri_cli_chat(int argc, char **argv);
int tsri_cli_translate(int argc, char **argv);
int tsri_cli_merge(int argc, char **argv);
int tsri_cli_quantize(int argc, char **argv);
int tsri_cli_train(int argc, char **argv);
int tsri_cli_dump(int argc, char **argv);
int tsri_cli_attention(int argc, char **argv);
int tsri_cli_evaluate(int argc, char **argv);
int tsri_cli_plot(int argc, char **argv);
int tsri_cli_bench(int argc, char **argv);
int tsri_cli_tokenize(int argc, char **argv);
int tsri_cli_tokenizer(int argc, char **argv);
int tsri_cli_info(int argc, char **argv);
int tsri_cli_devices(int argc, char **argv);
int tsri_cli_verify(int argc, char **argv);
int tsri_cli_explain(int argc, char **argv);
int tsri_cli_cache(int argc, char **argv);
int tsri_cli_kernels(int argc, char **argv);
int tsri_cli_tune(int argc, char **argv);
int tsri_cli_embed(int argc, char **argv);
int tsri_cli_search(int argc, char **argv);
int tsri_cli_cluster(int argc, char **argv);
int tsri_cli_classify(int argc, char **argv);
int tsri_cli_fill_mask(int argc, char **argv);

#endif
