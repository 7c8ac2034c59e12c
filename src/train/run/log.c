/* train/run/log.c - appends lines to log.jsonl, and removes those of steps that a resumed run does
 * again. */
#include "train/run/log.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/system/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 30, DEPTH = 8 };

struct tsri_train_log {
    char *path;
    int fd;
    bool begun;
};

static tsr_status cannot(const char *path, const char *doing) {
    return tsri_base_fail(TSR_E_IO, "%s: cannot %s: %s", path, doing, strerror(errno));
}

/* Whether a line stays: it is JSON, and of no step or of one up to `step`. */
static tsr_status stays(const char *line, size_t n, int64_t step, bool *out) {
    json_t *held = NULL;
    int64_t of = 0;
    const tsr_status status = tsri_base_json_parse(line, n, DEPTH, "log", &held);
    *out = json_is_object(held) &&
           tsri_base_json_int(held, "log", "step", INT64_MIN, INT64_MAX, &of) == TSR_OK &&
           of <= step;
    json_decref(held);
    return status == TSR_E_HOST_MEMORY ? status : TSR_OK;
}

static tsr_status cut_back(const char *path, int64_t step, bool *begun) {
    tsri_bytes held = {0}, kept = {0};
    TRY(tsri_base_read_whole(path, LARGEST, &held));
    tsr_status status = TSR_OK;
    for (size_t at = 0; at < held.size && status == TSR_OK;) {
        const char *line = held.data + at, *end = memchr(line, '\n', held.size - at);
        const size_t n = end ? (size_t)(end - line) : held.size - at;
        bool kept_line = false;
        if (end)
            status = stays(line, n, step, &kept_line);
        if (status == TSR_OK && kept_line)
            status = tsri_base_bytes_append(&kept, line, n + 1);
        at += n + 1;
    }
    *begun = kept.size > 0;
    if (status == TSR_OK && kept.size != held.size)
        status = tsri_base_write_whole(path, kept.data ? kept.data : "", kept.size);
    tsri_base_bytes_clear(&held);
    tsri_base_bytes_clear(&kept);
    return status;
}

tsr_status tsri_train_log_open(const char *path, int64_t step, tsri_train_log **out) {
    tsri_train_log *log = NULL;
    bool begun = false;
    if (tsri_base_is_file(path))
        TRY(cut_back(path, step, &begun));
    TRY(tsri_base_new(1, sizeof *log, &log));
    tsr_status status = TSR_OK;
    log->begun = begun;
    log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log->fd < 0)
        status = cannot(path, "open");
    else if (!(log->path = tsri_base_copy_text(path, strlen(path))))
        status = TSR_E_HOST_MEMORY;
    if (status != TSR_OK)
        tsri_train_log_close(&log);
    else
        *out = log;
    return status;
}

bool tsri_train_log_has_begun(const tsri_train_log *log) {
    return log->begun;
}

tsr_status tsri_train_log_write(tsri_train_log *log, json_t *line) {
    char *text = tsri_base_json_print(line, JSON_REAL_PRECISION(9));
    json_decref(line);
    if (!text)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", log->path);
    const size_t n = strlen(text);
    tsr_status status = TSR_OK;
    text[n] = '\n'; /* in place of the 0 at the end, which is not needed below */
    for (size_t done = 0; done < n + 1 && status == TSR_OK;) {
        const ssize_t put = write(log->fd, text + done, n + 1 - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            status = cannot(log->path, "write");
        else if (put == 0) /* no file system should do this; trying again might never end */
            status = tsri_base_fail(TSR_E_IO, "%s: the system wrote no more of the line's bytes",
                                    log->path);
        else
            done += (size_t)put;
    }
    free(text);
    log->begun = true;
    return status;
}

tsr_status tsri_train_log_sync(tsri_train_log *log) {
    return fsync(log->fd) == 0 || errno == EINVAL || errno == ENOTSUP ? TSR_OK
                                                                      : cannot(log->path, "sync");
}

void tsri_train_log_close(tsri_train_log **log) {
    if (!*log)
        return;
    if ((*log)->fd >= 0)
        close((*log)->fd);
    free((*log)->path);
    free(*log);
    *log = NULL;
}
