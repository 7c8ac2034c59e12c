/* cli/commands/bench/format.h - writes the results of a benchmark as Markdown, CSV, JSON or JSON
 * Lines. */
#ifndef TESSERA_CLI_COMMANDS_BENCH_FORMAT_H
#define TESSERA_CLI_COMMANDS_BENCH_FORMAT_H

#include "cli/base/app.h"

#include <jansson.h>

/* What the results of one device have in common. */
typedef struct tsri_cli_bench_subject {
    const char *model, *dtype; /* model NULL: peaks alone; dtype NULL: as stored */
    const tsr_device_info *device;
    int64_t threads;
} tsri_cli_bench_subject;

typedef struct tsri_cli_bench_writer {
    tsri_cli_app *app;
    json_t *devices, *rows; /* for JSON: kept until the end */
} tsri_cli_bench_writer;

/* begin, device, row ..., device, row ..., end. */
typedef struct tsri_cli_bench_format {
    const char *name;
    void (*begin)(tsri_cli_bench_writer *w);
    void (*device)(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s);
    void (*row)(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s, const tsr_bench_row *r);
    void (*end)(tsri_cli_bench_writer *w);
} tsri_cli_bench_format;

/* NULL where no format has this name. */
const tsri_cli_bench_format *tsri_cli_bench_format_named(const char *name);

#endif
