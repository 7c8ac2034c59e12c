/* cli/base/app.h - what all commands share: common options, the engine, the device, the model, and
 * how a command ends. */
#ifndef TESSERA_CLI_BASE_APP_H
#define TESSERA_CLI_BASE_APP_H

#include "cli/base/args.h"
#include "cli/base/bytes.h"
#include "cli/base/print.h"
#include "cli/base/process.h"
#include "tessera/tessera.h"

#include <stdio.h>

struct tsri_cli_app {
    /* options that commands have in common */
    const char *model_name, *device_name, *kernels, *bundle, *dtype_name, *kv_dtype_name,
        *compute_name, *profile, *progress;
    tsri_cli_list backends, loras;
    const char *transport;                             /* of commands that work with other ranks */
    int64_t threads, context, deadline, device_memory; /* device_memory: in MiB */
    bool quiet, verbose, json, split_layers;
    bool warns;       /* quiet only because this is not rank 0: warnings are printed */
    uint32_t vectors; /* as in tsr_model_options */
    const char *task; /* as in tsr_model_options */
    /* opened on demand */
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
    char *own_device; /* the device of this rank, of those that were named */
    tsr_ranks *ranks; /* NULL: this process is alone */
    uint32_t rank, n_ranks,
        turn;                 /* turn: among ranks of this host that were given the same device */
    tsri_cli_bytes *captured; /* not NULL: output is kept there, for rank 0 */
    bool no_self_test;
    bool measure;          /* launches are timed, because the command itself needs the times */
    bool record;           /* kernels are chosen for a bundle, not built */
    bool stopped;          /* stdout can take no more: the command stops */
    bool stopped_together; /* all ranks end because one got a signal, and know it */
    bool write_failed;     /* writing failed, and not because the reader closed stdout */
    bool progress_shown;
    uint64_t
        progress_told; /* when the last line of progress was printed, in nanoseconds; 0: none */
    bool input_taken;  /* standard input is already read by an option or operand */
    uint64_t told[32]; /* hashes of the last warnings printed */
    size_t n_told;
    struct json_t *profiled; /* the entries of a profile that is written to a file */
    int profiled_lines;      /* lines printed, of a profile that is printed */
};

/* Options for tsri_cli_parse. */
const tsri_cli_option *
tsri_cli_device_options(tsri_cli_app *app); /* -d --backend --kernels -t --profile */
const tsri_cli_option *
tsri_cli_model_options(tsri_cli_app *app); /* -m --dtype --kv-dtype --compute -c --lora */
const tsri_cli_option *tsri_cli_rank_options(tsri_cli_app *app); /* --transport --deadline */
/* These and --split-layers, of commands that can run a model that the ranks share. */
const tsri_cli_option *tsri_cli_split_options(tsri_cli_app *app);
const tsri_cli_option *tsri_cli_common_options(tsri_cli_app *app); /* -q -v --progress */
const tsri_cli_option *tsri_cli_json_option(tsri_cli_app *app);    /* --json */
/* All of these, of a command that runs a model; --json only where `json` is true. */
const tsri_cli_option *tsri_cli_running_options(tsri_cli_app *app, bool json);

/* Each returns an exit code, and prints what went wrong. */
int tsri_cli_open_engine(tsri_cli_app *app);
int tsri_cli_open_device(tsri_cli_app *app);
/* Joins the other ranks, before any device is opened; ranks above 0 then print only warnings and
 * errors, and of several devices A,B each rank takes its own by its number on its host. All ranks must
 * have been given the same command, and the same options of `tables`; what else must be the same, the
 * command compares itself. */
int tsri_cli_open_ranks(tsri_cli_app *app, const char *command,
                        const tsri_cli_option *const *tables);
/* An option that names a file which each rank reads, and what this rank found in it; NULL: it was
 * not given. */
typedef struct tsri_cli_compared {
    const char *option, *text;
} tsri_cli_compared;
/* All ranks call this at the same place: they must have found the same under these names. */
int tsri_cli_compare_files(tsri_cli_app *app, const tsri_cli_compared *files, size_t n);
int tsri_cli_open_model(tsri_cli_app *app); /* also opens the engine and the device */
/* Takes the operand at `first` as the model's name: there may be one, and none beside -m. */
int tsri_cli_take_model(tsri_cli_app *app, const tsri_cli_list *operands, size_t first);
/* Fills `options` from the command line, for commands that open the model themselves. */
int tsri_cli_model_settings(tsri_cli_app *app, tsr_model_options *options);
/* Takes one entry of the profile; a callback of tsr_profile and tsr_train. */
void tsri_cli_profiled(void *app, const tsr_profiled *entry);
/* For commands that measure by themselves: refuses --profile. */
int tsri_cli_refuse_profile(const tsri_cli_app *app, const char *command);
/* Prints or writes the profile if it was asked for, and closes everything. Returns `code`, or
 * another exit code where that failed. */
int tsri_cli_close(tsri_cli_app *app, int code);

#endif
