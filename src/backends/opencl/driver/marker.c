/* backends/opencl/driver/marker.c - writes markers, and finds those of processes that are gone. */
#include "backends/opencl/driver/marker.h"
#include "backends/opencl/driver/cache.h"
#include "backends/opencl/driver/host.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/system/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { WHAT = 256, TRIES = 100 };

static const char unfinished[] = "driver.unfinished";

struct tsri_opencl_marker {
    int fd;
    char *path, what[WHAT];
};

static char *folder_of(const tsr_state *state) {
    return state->host->cache_folder ? tsri_base_join(state->host->cache_folder, "opencl") : NULL;
}

char *tsri_opencl_pocl_cache(void) {
    const char *own = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    return own && *own     ? tsri_base_copy_text(own, strlen(own))
           : xdg && *xdg   ? tsri_base_join(xdg, "pocl")
           : home && *home ? tsri_base_join(home, ".cache/pocl")
                           : NULL;
}

/* Makes the marker under another name, so that no other process finds it before it is locked. False
 * with errno EEXIST: the caller tries the next number. */
static bool make(const char *folder, int n, const char *what, tsri_opencl_marker *marker) {
    char fresh[64], name[64];
    snprintf(fresh, sizeof fresh, "driver.%ld-%d.new", (long)getpid(), n);
    snprintf(name, sizeof name, "driver.%ld-%d.tmp", (long)getpid(), n);
    char *from = tsri_base_join(folder, fresh);
    marker->path = tsri_base_join(folder, name);
    const size_t length = strlen(what);
    marker->fd =
        from && marker->path ? open(from, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    bool made = marker->fd >= 0 && flock(marker->fd, LOCK_EX | LOCK_NB) == 0 &&
                write(marker->fd, what, length) == (ssize_t)length &&
                link(from, marker->path) == 0; /* fails where a process that is gone left one */
    const int why = errno;
    if (marker->fd >= 0)
        unlink(from);
    free(from);
    if (!made && marker->fd >= 0)
        close(marker->fd);
    if (!made)
        free(marker->path);
    errno = why;
    return made;
}

tsri_opencl_marker *tsri_opencl_mark(const tsr_state *state, const char *what) {
    tsri_opencl_marker *marker = NULL;
    char *folder = folder_of(state);
    bool made = false;
    if (folder && tsri_base_make_folders(folder) == TSR_OK &&
        tsri_base_new(1, sizeof *marker, &marker) == TSR_OK)
        for (int n = 0; n < TRIES && !made && (!n || errno == EEXIST); n++)
            made = make(folder, n, what, marker);
    free(folder);
    if (made) {
        snprintf(marker->what, WHAT, "%s", what);
        return marker;
    }
    free(marker);
    return NULL;
}

/* What the last run was doing when it ended; "" where it ended well. */
static void read_unfinished(int folder, char what[WHAT]) {
    const int fd = openat(folder, unfinished, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const ssize_t n = fd >= 0 ? read(fd, what, WHAT - 1) : -1;
    what[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
}

static void write_unfinished(int folder, const char *what) {
    const int fd =
        openat(folder, unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    if (write(fd, what, strlen(what)) < 0)
        unlinkat(folder, unfinished, 0);
    close(fd);
}

/* What has ended well now is forgotten, so that the next run that ends in it is the first again. */
static void forget_unfinished(const tsri_opencl_marker *marker) {
    char what[WHAT], *slash = strrchr(marker->path, '/');
    *slash = 0;
    const int folder = open(marker->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    read_unfinished(folder, what);
    if (!strcmp(what, marker->what))
        unlinkat(folder, unfinished, 0);
    close(folder);
}

void tsri_opencl_unmark(tsri_opencl_marker **marker) {
    tsri_opencl_marker *m = *marker;
    if (!m)
        return;
    unlink(m->path);
    close(m->fd);
    forget_unfinished(m);
    free(m->path);
    free(m);
    *marker = NULL;
}

/* --- those of processes that are gone --- */

typedef struct remains {
    bool others;     /* another process has a marker and is alive */
    int marked;      /* processes that ended under a marker */
    int signal;      /* the signal that one of them died of; 0: none recorded any */
    bool again;      /* the run before ended while doing the same */
    char what[WHAT]; /* the driver or device */
} remains;

/* Takes the contents of a marker whose process is gone. */
static bool take(int folder, const char *name, char what[WHAT], bool *alive) {
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    *alive = flock(fd, LOCK_EX | LOCK_NB) != 0;
    const ssize_t n = *alive ? -1 : read(fd, what, WHAT - 1);
    what[n > 0 ? n : 0] = 0;
    what[strcspn(what, "\r\n")] = 0;
    const bool taken = !*alive && unlinkat(folder, name, 0) == 0;
    close(fd);
    return taken;
}

static void look_at(int folder, const char *name, remains *found) {
    char what[WHAT];
    long process = 0;
    int end = 0, number = 0;
    bool alive = false;
    const size_t length = strlen(name);
    if (sscanf(name, "driver.%ld-%n", &process, &end) != 1 || !end || length < 4 ||
        strcmp(name + length - 4, ".tmp") != 0)
        return;
    const bool taken = take(folder, name, what, &alive);
    found->others |= alive;
    if (!taken)
        return;
    if (!strcmp(name + end, "crash.tmp")) {
        if (sscanf(what, "signal %d", &number) == 1)
            found->signal = number;
        return;
    }
    found->marked++;
    memcpy(found->what, what, sizeof what);
}

static bool lies_in(const char *path, const char *folder) {
    const size_t n = strlen(folder);
    return !strncmp(path, folder, n) && path[n] == '/' && path[n + 1] && !strstr(path, "/..");
}

static void tell(const tsr_state *state, const remains *found) {
    char *cache = tsri_opencl_pocl_cache(), how[64] = "the last two runs ended";
    const bool there = cache && tsri_base_is_folder(cache),
               ours = there && lies_in(cache, state->host->cache_folder),
               crashed = found->signal || found->again, clear = ours && crashed && !found->others;
    if (found->signal)
        snprintf(how, sizeof how, "an earlier run crashed (SIG%s)",
                 tsri_system_signal_name(found->signal));
    if (!crashed)
        tsri_opencl_log(state, TSR_LOG_INFO,
                        "an earlier run ended in the middle of %s: the drivers are tried again. "
                        "Where it crashed, and does so again: %s%s",
                        found->what, there && !ours ? "remove " : "tessera cache clear",
                        there && !ours ? cache : "");
    else if (clear)
        tsri_opencl_log(state, TSR_LOG_WARNING,
                        "%s in the middle of %s: the drivers are tried again, and the kernels in "
                        "%s are built again",
                        how, found->what, cache);
    else
        tsri_opencl_log(state, TSR_LOG_WARNING,
                        "%s in the middle of %s: the drivers are tried again. A driver's own "
                        "kernel cache may be damaged: where it crashes again, remove %s",
                        how, found->what, there ? cache : "the folder where the driver keeps it");
    if (clear)
        tsri_opencl_remove_folder(cache);
    free(cache);
}

/* Whether the run before ended while doing the same; records this one for the next run. */
static bool ended_again(int folder, const remains *found) {
    char before[WHAT];
    read_unfinished(folder, before);
    const bool again = !strcmp(before, found->what);
    if (again)
        unlinkat(folder, unfinished, 0);
    else
        write_unfinished(folder, found->what);
    return again;
}

bool tsri_opencl_look_after_crashes(const tsr_state *state) {
    remains found = {0};
    char *path = folder_of(state);
    DIR *folder = path ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        look_at(dirfd(folder), entry->d_name, &found);
    if (found.marked) {
        found.again = !found.signal && !found.others && ended_again(dirfd(folder), &found);
        tell(state, &found);
    }
    if (folder)
        closedir(folder);
    free(path);
    return found.marked || found.signal;
}
