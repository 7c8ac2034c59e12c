/* train/run/output.c - the folder OUT of a run: checks whether it may be written, locks it, and
 * removes it where a run fails before its first step. */
#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/system/files.h"
#include "train/run/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char lock_name[] = ".lock", unfinished[] = ".tmp";

static bool is_unfinished(const char *name) {
    const size_t n = strlen(name), end = sizeof unfinished - 1;
    return n >= end && !strcmp(name + n - end, unfinished);
}

/* A run that was killed before its run.json was there leaves the lock and a part of that file. */
static tsr_status notice(void *data, const char *name) {
    const bool of_run = !strncmp(name, "run.json.", strlen("run.json.")) && is_unfinished(name);
    *(bool *)data |= strcmp(name, lock_name) != 0 && !of_run;
    return TSR_OK;
}

tsr_status tsri_train_output_check(const tsri_train_job *job) {
    const char *out = job->options->output;
    struct stat facts;
    bool holds = false;
    if (!out || !*out)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "-o OUT is missing: give the folder for the new model");
    if (stat(out, &facts) != 0)
        return errno == ENOENT
                   ? TSR_OK
                   : tsri_base_fail(TSR_E_IO, "%s: cannot examine: %s", out, strerror(errno));
    if (!S_ISDIR(facts.st_mode))
        return tsri_base_fail(TSR_E_IO, "%s is not a folder; give the name of a new one", out);
    TRY(tsri_base_folder_visit(out, notice, &holds));
    char *run = tsri_base_join(out, "run.json");
    const bool has_run = run && tsri_base_is_file(run);
    free(run);
    if (!holds || (has_run && job->options->resume))
        return TSR_OK;
    return tsri_base_fail(TSR_E_IO,
                          has_run ? "%s holds a run; continue it by --resume, or give another name "
                                    "to begin a new one"
                                  : "%s is not empty; give the name of a new folder",
                          out);
}

/* Removes what a run was writing when it was killed. */
static tsr_status remove_unfinished(void *data, const char *name) {
    if (!is_unfinished(name))
        return TSR_OK;
    char *path = tsri_base_join(data, name);
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && unlink(path) != 0)
        status = tsri_base_folder_remove(path, NULL);
    free(path);
    return status;
}

/* Sets `lock` only once it is held: OUT belongs to the run that holds it, and a run that fails removes
 * what it owns. Another run may have removed the file between the two calls: then the lock keeps no
 * one away. */
static tsr_status take_lock(tsri_train_job *job, const char *path) {
    const int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0)
        return tsri_base_fail(TSR_E_IO, "%s: cannot be written: %s", job->out, strerror(errno));
    const bool busy = flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!busy && tsri_base_is_file(path)) {
        job->lock = lock;
        return TSR_OK;
    }
    close(lock);
    return tsri_base_fail(TSR_E_IO,
                          busy ? "%s: another process trains in this folder"
                               : "%s: a run in this folder has just ended; start this one again",
                          job->out);
}

tsr_status tsri_train_output_take(tsri_train_job *job) {
    char *slash = tsri_system_last_slash(job->out);
    if (slash && slash != job->out) {
        *slash = 0;
        const tsr_status made = tsri_base_make_folders(job->out);
        *slash = '/';
        TRY(made);
    }
    job->made = mkdir(job->out, 0777) == 0;
    if (!job->made && errno != EEXIST)
        return tsri_base_fail(TSR_E_IO, "%s: cannot make the folder: %s", job->out,
                              strerror(errno));
    char *path = tsri_base_join(job->out, lock_name);
    const tsr_status status = path ? take_lock(job, path) : TSR_E_HOST_MEMORY;
    free(path);
    return status == TSR_OK ? tsri_base_folder_visit(job->out, remove_unfinished, job->out)
                            : status;
}

tsr_status tsri_train_output_choose(tsri_train_job *job) {
    const char *name = job->options->output;
    if (job->options->dry_run)
        return tsri_base_folder_temporary("tessera-plan", &job->out);
    job->out = tsri_base_copy_text(name, tsri_base_folder_length(name));
    return job->out ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* Neither a dry run nor a new run that failed before its first step leaves anything: the corrected
 * command then finds the folder as it was. */
void tsri_train_output_undo(const tsri_train_job *job) {
    static const char *const folders[] = {"start", "start.tmp", "data"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = tsri_base_join(job->out, folders[i]);
        if (path)
            (void)tsri_base_folder_remove(path, NULL);
        free(path);
    }
    (void)tsri_base_folder_remove(job->out, NULL);
    if (!job->made)
        (void)mkdir(job->out, 0777);
}
