/* cli/commands/bench/format.h - writes the results of a benchmark: a table in Markdown, CSV, or the
 * file of docs/benchmark-schema.json, at once or line by line. */
#ifndef TESSERA_CLI_COMMANDS_BENCH_FORMAT_H
#define TESSERA_CLI_COMMANDS_BENCH_FORMAT_H

#include "cli/base/output.h"

/* What the results of one device have in common. */
typedef struct tsri_cli_bench_subject {
    const char *model, *dtype; /* model NULL: peaks alone, or several; dtype NULL: as stored */
    const tsr_device_info *device;
    int64_t threads;
} tsri_cli_bench_subject;

typedef struct tsri_cli_bench_format tsri_cli_bench_format;

typedef struct tsri_cli_bench_writer {
    tsri_cli_app *app;
    const tsri_cli_bench_format *format;
    const char *path; /* the file that gets the results, too, after each row; NULL: none */
    tsr_bench_file *file;
    bool filled; /* it has rows, or devices that were left out */
} tsri_cli_bench_writer;

/* begin, device, row ..., left_out, device, row ..., end. Each returns an exit code, and prints what went
 * wrong. `format` is md, csv, json or jsonl; `options` says what the set of rows is. */
int tsri_cli_bench_begin(tsri_cli_app *app, const char *format, const char *path,
                         const tsr_bench_file_options *options, tsri_cli_bench_writer *out);
int tsri_cli_bench_device(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s);
int tsri_cli_bench_row(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s,
                       const tsr_bench_row *row);
/* A device that is not measured, with the reason that its facts give. */
int tsri_cli_bench_left_out(tsri_cli_bench_writer *w, const tsr_device_info *device);
/* Writes what is written at the end; where `code` says that the run failed, only what it has, as
 * partial. `partial`: it was stopped. Frees everything. Returns the code, or another where writing
 * failed. */
int tsri_cli_bench_end(tsri_cli_bench_writer *w, int code, bool partial);

#endif
