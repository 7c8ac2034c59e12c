/* cli/base/output.c - writes to standard output, or to a file that appears only when it is
 * complete. */
#include "cli/base/output.h"
#include "base/system/files.h"
#include "cli/base/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int fail(const tsri_cli_output *out) {
    return tsri_cli_fail(CLI_FILE, "%s: cannot be written: %s", out->path, strerror(errno));
}

static void clear(tsri_cli_output *out) {
    free(out->temporary);
    free(out->target);
    out->file = NULL;
    out->temporary = out->target = NULL;
}

int tsri_cli_output_begin(tsri_cli_app *app, const char *path, tsri_cli_output *out) {
    struct stat facts;
    *out = (tsri_cli_output){.app = app, .path = path};
    if (!path)
        return CLI_OK;
    const bool replaces = stat(path, &facts) == 0;
    if (replaces && !S_ISREG(facts.st_mode))
        return tsri_cli_fail(CLI_FILE,
                             "%s is not a regular file and is not replaced; leave out -o to write "
                             "to standard output",
                             path);
    if (!(out->target = tsri_system_target(path)))
        return errno == ENOMEM ? tsri_cli_fail(CLI_OTHER, "out of memory") : fail(out);
    if (asprintf(&out->temporary, "%s.%ld.tmp", out->target, (long)getpid()) < 0) {
        out->temporary = NULL;
        clear(out);
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    }
    const int fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    out->file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (out->file) {
        if (replaces) /* a file system without modes refuses, and needs none */
            (void)fchmod(fd, facts.st_mode & 0777);
        tsri_cli_watch_output(path);
        return CLI_OK;
    }
    const int code = fail(out);
    clear(out);
    return code;
}

bool tsri_cli_output_write(tsri_cli_output *out, const void *data, size_t n) {
    if (!out->file || out->app->captured)
        return tsri_cli_write(out->app, data, n);
    if (out->app->stopped || fwrite(data, 1, n, out->file) == n)
        return !out->app->stopped;
    fail(out);
    out->app->stopped = out->app->write_failed = true;
    return false;
}

bool tsri_cli_output_flush(tsri_cli_output *out) {
    return out->file || tsri_cli_flush(out->app);
}

int tsri_cli_output_end(tsri_cli_output *out, int code) {
    if (!out->file)
        return code;
    const bool whole = (code == CLI_OK || code == CLI_MISS) && !out->app->stopped;
    bool fine = !whole || (fflush(out->file) == 0 && fsync(fileno(out->file)) == 0);
    fine &= fclose(out->file) == 0;
    fine = fine && (!whole || rename(out->temporary, out->target) == 0);
    if (!fine)
        code = fail(out);
    if (!whole || !fine)
        unlink(out->temporary);
    clear(out);
    return code;
}
