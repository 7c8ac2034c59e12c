/* cli/base/print.c - writes results to standard output and notes to standard error, and maps a
 * status to an exit code. */
#include "cli/base/print.h"

#include "cli/base/app.h"
#include "cli/base/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* TSR_E_STATE is a model of the wrong kind: a command calls functions in the right order. */
static int code_of(tsr_status status) {
    static const int codes[] = {[TSR_E_ARGUMENT] = CLI_USAGE,    [TSR_E_UNSUPPORTED] = CLI_FILE,
                                [TSR_E_HOST_MEMORY] = CLI_OTHER, [TSR_E_DEVICE_MEMORY] = CLI_DEVICE,
                                [TSR_E_DEVICE] = CLI_DEVICE,     [TSR_E_BUILD] = CLI_DEVICE,
                                [TSR_E_FORMAT] = CLI_FILE,       [TSR_E_IO] = CLI_FILE,
                                [TSR_E_STATE] = CLI_FILE,        [TSR_E_CANCELLED] = CLI_OTHER,
                                [TSR_E_INTERNAL] = CLI_OTHER,    [TSR_E_PEER] = CLI_OTHER};
    return (unsigned)status < sizeof codes / sizeof *codes ? codes[status] : CLI_OTHER;
}

static char rank_name[320];

void tsri_cli_name_rank(uint32_t rank, const char *host) {
    snprintf(rank_name, sizeof rank_name, "rank %" PRIu32 " on %s: ", rank, host);
}

const char *tsri_cli_rank_name(void) {
    return rank_name;
}

bool tsri_cli_names_rank(void) {
    static const char about[] = "rank ";
    const char *sentence = tsr_error_last();
    bool names = !strncmp(sentence, about, sizeof about - 1);
    for (const char *c = sentence; !names && (c = strstr(c, about));) {
        c += sizeof about - 1;
        const size_t digits = strspn(c, "0123456789");
        names = digits && !strncmp(c + digits, " on ", 4);
    }
    return names;
}

/* Who speaks where ranks print to one place. What every rank finds alike, and what is said about other
 * ranks, needs no name. */
static const char *speaker(tsr_status status) {
    const bool for_all =
        status == TSR_E_ARGUMENT || status == TSR_E_CANCELLED || status == TSR_E_PEER;
    return for_all || tsri_cli_names_rank() ? "" : rank_name;
}

static int fail(tsr_status status, const char *where, const char *colon) {
    return tsri_cli_fail_as(speaker(status), code_of(status), "%s%s%s", where, colon,
                            tsr_error_last());
}

int tsri_cli_status(tsr_status status) {
    return status == TSR_OK ? CLI_OK : fail(status, "", "");
}

int tsri_cli_status_at(tsr_status status, const char *where) {
    return status == TSR_OK ? CLI_OK : fail(status, where, ": ");
}

int tsri_cli_run_status(tsr_status status) {
    return status == TSR_E_CANCELLED && tsri_cli_signal() ? 128 + tsri_cli_signal()
                                                          : tsri_cli_status(status);
}

int tsri_cli_file_status(tsr_status status, const char *path) {
    return status == TSR_E_FORMAT ? fail(status, path, ": ") : tsri_cli_run_status(status);
}

void tsri_cli_clear_progress(tsri_cli_app *app) {
    tsri_cli_watch_clear(app);
}

void tsri_cli_note(const tsri_cli_app *app, const char *format, ...) {
    if (app->quiet)
        return;
    va_list args;
    va_start(args, format);
    tsri_cli_say("", format, args);
    va_end(args);
}

/* If the reader is gone, or a signal came while it did not read, the command ends quietly; any other
 * failure is an error. */
static bool write_ends(tsri_cli_app *app) {
    app->stopped = true;
    if (errno != EPIPE && !(errno == EINTR && tsri_cli_signal())) {
        app->write_failed = true;
        tsri_cli_fail(CLI_OTHER, "the output could not be written: %s", strerror(errno));
    }
    return false;
}

/* A model's output, and names in its files, must not control the terminal. */
static bool write_plain(const void *data, size_t n) {
    char *copy = malloc(n + 1);
    if (!copy)
        return false;
    memcpy(copy, data, n);
    const size_t left = tsr_plain_text(copy, n);
    const bool written = fwrite(copy, 1, left, stdout) == left;
    free(copy);
    return written;
}

bool tsri_cli_write(tsri_cli_app *app, const void *data, size_t n) {
    static int terminal = -1; /* not asked yet */
    if (app->stopped || n == 0)
        return !app->stopped;
    if (app->captured) {
        if (tsri_cli_bytes_append(app->captured, data, n) != CLI_OK)
            tsri_cli_lost(app);
        return !app->stopped;
    }
    terminal = terminal < 0 ? tsri_cli_is_terminal(1) : terminal;
    const bool written = terminal ? write_plain(data, n) : fwrite(data, 1, n, stdout) == n;
    return written || write_ends(app);
}

bool tsri_cli_flush(tsri_cli_app *app) {
    if (app->stopped)
        return false;
    /* Where an earlier print failed, nothing may be left to flush: the stream remembers it. */
    return (fflush(stdout) == 0 && !ferror(stdout)) || write_ends(app);
}

void tsri_cli_lost(tsri_cli_app *app) {
    if (!app->write_failed)
        tsri_cli_fail(CLI_OTHER, "out of host memory: the output is not complete");
    app->stopped = app->write_failed = true;
}

bool tsri_cli_print(tsri_cli_app *app, const char *format, ...) {
    va_list args;
    char *text = NULL;
    va_start(args, format);
    const int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) {
        tsri_cli_lost(app);
        return false;
    }
    const bool written = tsri_cli_write(app, text, (size_t)n);
    free(text);
    return written;
}
