/* backends/opencl/probe.c - the helper found, given a program, and believed. */
#include "backends/opencl/probe.h"
#include "backends/opencl/cache.h"
#include "backends/opencl/program.h"
#include "backends/opencl/source.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { DEADLINE_MS = 20000, SENTENCE = 160 };

extern char **environ;

/* NULL where the CPU and the system have AVX512F, BW and VNNI. */
static const char *vnni_missing(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d, features, low = 0, high = 0;
    if (!__get_cpuid(1, &a, &b, &features, &d) || !(features & 1u << 27))
        return "the CPU has no XSAVE";
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (low & 0xe6) != 0xe6 || !(b & 1u << 16))
        return "the CPU or the system has no AVX-512";
    return (b & 1u << 30) && (c & 1u << 11) ? NULL : "the CPU has no AVX512-VNNI";
#else
    return "made for x86-64";
#endif
}

static const struct {
    const char *file; /* under cl/ */
    const char *(*missing)(void);
} table[TSRI_OPENCL_PROBES] = {
    [TSRI_OPENCL_PROBE_VNNI] = {"probe/vnni.cl", vnni_missing},
};

/* Beside the plugin's folder in an installed tree and in a build folder; beside a program's that it
 * was linked into. NULL: none. */
static const char *find_helper(char path[PATH_MAX]) {
    static const char *const below[] = {"../../../libexec/tessera/probe",
                                        "../libexec/tessera/probe"};
    static const char here;
    const char *given = getenv("TESSERA_PROBE");
    Dl_info info;
    char file[PATH_MAX], full[PATH_MAX + 64];
    if (given && *given)
        return realpath(given, path);
    if (!dladdr(&here, &info) || !info.dli_fname || !realpath(info.dli_fname, file))
        return NULL;
    *strrchr(file, '/') = 0;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(full, sizeof full, "%s/%s", file, below[i]);
        if (realpath(full, path) && access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

/* Starts the helper with our end of its input and output. */
static bool start(const char *helper, const tsr_dev *dev, pid_t *child, int *to, int *from) {
    const tsr_facts *facts = &dev->facts.common;
    char *const argv[] = {"probe", (char *)facts->platform, (char *)facts->name,
                          (char *)tsri_opencl_program_options(dev), NULL};
    posix_spawn_file_actions_t actions;
    int in[2], out[2];
    /* A socket: a helper that died must not end this process by SIGPIPE, whose handling is the
     * program's. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in))
        return false;
    if (pipe2(out, O_CLOEXEC)) {
        close(in[0]), close(in[1]);
        return false;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const int failed = posix_spawn(child, helper, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]), close(out[1]);
    if (failed)
        close(in[1]), close(out[0]);
    *to = in[1];
    *from = out[0];
    return !failed;
}

/* Sends the source and takes the answer, until the helper is done with both or the time is over. */
static bool converse(int to, int from, const tsri_bytes *source, char *line, size_t size) {
    const uint64_t end = tsri_base_now_ns() + (uint64_t)DEADLINE_MS * 1000000;
    size_t sent = 0, got = 0;
    bool open = true;
    while (open && tsri_base_now_ns() < end) {
        struct pollfd fds[2] = {{from, POLLIN, 0}, {sent < source->size ? to : -1, POLLOUT, 0}};
        const int left = (int)((end - tsri_base_now_ns()) / 1000000) + 1;
        if (poll(fds, 2, left) < 0 && errno != EINTR)
            break;
        if (fds[1].revents) {
            const ssize_t n = send(to, source->data + sent, source->size - sent,
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
            sent = n > 0 ? sent + (size_t)n : errno == EAGAIN ? sent : source->size;
            if (sent == source->size)
                close(to);
        }
        if (fds[0].revents) {
            const ssize_t n = read(from, line + got, size - 1 - got);
            open = n > 0 && got + (size_t)n < size - 1;
            got += n > 0 ? (size_t)n : 0;
        }
    }
    if (sent < source->size)
        close(to);
    line[got] = 0;
    line[strcspn(line, "\n")] = 0;
    return !open;
}

/* The helper's answer in `line`; false where it gave none, and `line` says why. */
static bool ask(const tsr_dev *dev, const tsri_bytes *source, char *line, size_t size) {
    char path[PATH_MAX];
    const char *helper = find_helper(path);
    pid_t child;
    int to, from, status = 0;
    if (!helper || !start(helper, dev, &child, &to, &from)) {
        snprintf(line, size, "%s",
                 helper
                     ? "the helper that tries its instructions can't be started"
                     : "the helper that tries its instructions, libexec/tessera/probe, is missing");
        return false;
    }
    const bool done = converse(to, from, source, line, size);
    close(from);
    if (!done)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!done)
        snprintf(line, size, "its instructions were tried for %d s without an answer",
                 DEADLINE_MS / 1000);
    else if (!*line)
        snprintf(line, size, "its instructions were tried in a process of their own, which %s",
                 WIFSIGNALED(status) ? "crashed" : "gave no answer");
    return done;
}

static tsr_status assemble(const tsr_dev *dev, const char *file, tsri_bytes *source) {
    const char *folder = tsri_opencl_kernel_folder(dev);
    TRY(tsri_opencl_source_common(folder, source));
    TRY(tsri_base_bytes_printf(source, "#define INSTANCE probe\n#define KERNEL probe\n"));
    return tsri_opencl_source_file(folder, file, source);
}

/* From the cache, or from the helper. "pass", or a sentence. */
static tsr_status settle(const tsr_dev *dev, const char *file, char *line, size_t size) {
    const char *given = getenv("TESSERA_PROBE");
    const bool cached = !(given && *given) && !tsri_opencl_kernel_folder(dev);
    tsri_bytes source = {0}, known = {0};
    tsri_opencl_key key;
    bool found = false;
    tsr_status status = assemble(dev, file, &source);
    if (status == TSR_OK)
        status = tsri_opencl_key_of(dev, "probe", source.data, source.size, &key);
    if (status == TSR_OK && cached)
        status = tsri_opencl_cache_load(dev->state, &key, "test", &known, &found);
    if (status == TSR_OK && found)
        snprintf(line, size, "%.*s", (int)known.size, known.data ? known.data : "");
    else if (status == TSR_OK && ask(dev, &source, line, size) && cached)
        tsri_opencl_cache_save(dev->state, &key, "test", line, strlen(line));
    tsri_base_bytes_clear(&source);
    tsri_base_bytes_clear(&known);
    return status;
}

bool tsri_opencl_probe_passed(const tsr_dev *dev, tsri_opencl_probe probe, const char **why) {
    tsri_opencl_probes *probes = dev->probes;
    char *line = probes->why[probe];
    if (!probes->asked[probe]) {
        const char *missing = table[probe].missing();
        probes->asked[probe] = true;
        if (!dev->facts.cpu)
            snprintf(line, SENTENCE, "its instructions are a CPU's");
        else if (missing)
            snprintf(line, SENTENCE, "%s", missing);
        else if (settle(dev, table[probe].file, line, SENTENCE) != TSR_OK)
            snprintf(line, SENTENCE, "its instructions could not be tried");
        if (!strcmp(line, "pass"))
            line[0] = 0;
        tsri_opencl_log(dev->state, TSR_LOG_DEBUG, "%s on %s/%s: %s", table[probe].file,
                        dev->facts.common.platform, dev->facts.common.name,
                        *line ? line : "passed");
    }
    *why = line;
    return !*line;
}

void tsri_opencl_probe_refused(const tsr_dev *dev, tsri_opencl_probe probe, const char **why) {
    if (dev->probes->asked[probe] && *dev->probes->why[probe])
        *why = dev->probes->why[probe];
}
