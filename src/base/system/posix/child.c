/* base/system/posix/child.c - starts, hears and ends other programs. They are spawned, never forked: a forked
 * child lacks the threads of this process, and may wait for one of them. */
#include "base/system/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NAP_MS = 2 };

/* A shared library has no environ on macOS. */
#ifdef __APPLE__
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SO_NOSIGPIPE says it */
#endif
#else
extern char **environ;
#endif

/* ---- streams ---- */

static void close_ends(const int ends[2]) {
    for (int i = 0; i < 2; i++)
        if (ends[i] > 0)
            close(ends[i]);
}

/* Where this process has closed its standard streams, an end would get the number of one: no end is 0, and
 * what the process then writes to its own streams does not go to a child. */
static bool move_above_standard(int *end) {
    const int before = *end;
    if (before > STDERR_FILENO)
        return true;
    *end = fcntl(before, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int why = errno;
    close(before);
    errno = why;
    return *end > 0;
}

/* Linux has calls that open both ends so that no other program that starts meanwhile inherits them. */
static int open_both(bool two_way, int ends[2]) {
#ifdef __linux__
    return two_way ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                   : pipe2(ends, O_CLOEXEC);
#else
    const int failed = two_way ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends);
    for (int i = 0; i < 2 && !failed; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
    if (two_way && !failed)
        setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    return failed;
#endif
}

/* ends: this process's and the child's; both 0 on failure. */
static bool open_ends(bool two_way, int ends[2]) {
    if (open_both(two_way, ends) != 0) {
        ends[0] = ends[1] = 0;
        return false;
    }
    const bool first = move_above_standard(&ends[0]), second = move_above_standard(&ends[1]);
    if (first && second)
        return true;
    close_ends(ends);
    ends[0] = ends[1] = 0;
    return false;
}

ptrdiff_t tsri_system_child_read(const tsri_system_child *child, void *out, size_t n) {
    ssize_t got;
    while ((got = read((int)child->out, out, n)) < 0 && errno == EINTR)
        continue;
    return got;
}

bool tsri_system_child_write(const tsri_system_child *child, const void *data, size_t n) {
    for (const char *at = data; n;) {
        const ssize_t sent = send((int)child->in, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        at += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

void tsri_system_child_close(tsri_system_child *child) {
    if (child->in)
        close((int)child->in);
    if (child->out && child->out != child->in)
        close((int)child->out);
    if (child->err)
        close((int)child->err);
    child->in = child->out = child->err = 0;
}

/* ---- from start to end ---- */

static int spawn(const tsri_system_command *command, const int ends[3], pid_t *pid) {
    const tsri_system_stream streams[] = {command->in, command->out, command->err};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    if ((failed = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    for (int i = 0; i < 3 && !failed; i++)
        if (streams[i] == TSRI_SYSTEM_PIPED)
            failed = posix_spawn_file_actions_adddup2(&actions, ends[i], i);
        else if (streams[i] == TSRI_SYSTEM_NOWHERE)
            failed = posix_spawn_file_actions_addopen(&actions, i, "/dev/null",
                                                      i ? O_WRONLY : O_RDONLY, 0);
    if (command->apart) {
        sigemptyset(&none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&attributes, &none);
    }
    if (!failed)
        failed = posix_spawn(pid, command->program, &actions, &attributes,
                             (char *const *)(const void *)command->argv,
                             command->env ? (char *const *)(const void *)command->env : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

int tsri_system_child_start(const tsri_system_command *command, tsri_system_child *child) {
    const bool talks = command->in == TSRI_SYSTEM_PIPED, speaks = command->out == TSRI_SYSTEM_PIPED;
    int in[2] = {0}, out[2] = {0}, err[2] = {0};
    pid_t pid = 0;
    *child = (tsri_system_child){0};
    const bool open = (!talks || open_ends(true, in)) &&
                      (talks || !speaks || open_ends(false, out)) &&
                      (command->err != TSRI_SYSTEM_PIPED || open_ends(false, err));
    const int theirs[] = {in[1], talks ? in[1] : out[1], err[1]};
    const int failed = open ? spawn(command, theirs, &pid) : errno;
    if (failed) {
        close_ends(in);
        close_ends(out);
        close_ends(err);
        return failed;
    }
    close_ends((const int[]){in[1], out[1]});
    close_ends((const int[]){err[1], 0});
    *child = (tsri_system_child){
        .process = pid, .in = in[0], .out = talks && speaks ? in[0] : out[0], .err = err[0]};
    return 0;
}

int tsri_system_child_wait(tsri_system_child *child, int milliseconds) {
    const struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};
    struct rusage used = {0};
    int how = 0;
    pid_t ended;
    while ((ended = wait4((pid_t)child->process, &how, milliseconds < 0 ? 0 : WNOHANG, &used)) ==
               0 &&
           milliseconds > 0) {
        nanosleep(&nap, NULL);
        milliseconds = milliseconds > NAP_MS ? milliseconds - NAP_MS : 0;
    }
    if (!ended || (ended < 0 && errno == EINTR))
        return 0;
    child->process = 0;
    if (ended < 0)
        return -1;
    child->code = WIFEXITED(how) ? WEXITSTATUS(how) : 0;
    child->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
#ifdef __APPLE__
    child->memory = (uint64_t)used.ru_maxrss;
#else
    child->memory = (uint64_t)used.ru_maxrss * 1024;
#endif
    return 1;
}

void tsri_system_child_ask(const tsri_system_child *child) {
    kill((pid_t)child->process, SIGTERM);
}

void tsri_system_child_end(tsri_system_child *child, int milliseconds) {
    if (!child->process)
        return;
    if (milliseconds > 0) {
        tsri_system_child_ask(child);
        if (tsri_system_child_wait(child, milliseconds) != 0)
            return;
    }
    kill((pid_t)child->process, SIGKILL);
    while (tsri_system_child_wait(child, -1) == 0)
        continue;
}

uint64_t tsri_system_child_used(const tsri_system_child *child) {
#ifdef __linux__
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid((pid_t)child->process, &clock) || clock_gettime(clock, &time))
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
#else
    (void)child;
    return 0;
#endif
}

/* ---- the environment ---- */

static bool is_among(const char *variable, const char *const *names) {
    for (; *names; names++) {
        const size_t n = strlen(*names);
        if (!strncmp(variable, *names, n) && variable[n] == '=')
            return true;
    }
    return false;
}

const char **tsri_system_environment(const char *const *names, size_t more, size_t *kept) {
    size_t n = 0;
    *kept = 0;
    while (environ[n])
        n++;
    const char **out = calloc(n + more + 1, sizeof *out);
    for (size_t i = 0; out && i < n; i++)
        if (!is_among(environ[i], names))
            out[(*kept)++] = environ[i];
    return out;
}
