/* base/system/posix/process.c - the running program, and the machine that it runs on. */
#include "base/system/files.h"
#include "base/system/system.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/utsname.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

void tsri_system_begin(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
}

bool tsri_system_program(char *path, size_t room) {
#ifdef __APPLE__
    uint32_t size = (uint32_t)room;
    return _NSGetExecutablePath(path, &size) == 0;
#else
    const ssize_t n = room ? readlink("/proc/self/exe", path, room) : 0;
    if (n <= 0 || (size_t)n >= room)
        return false;
    path[n] = 0;
    return true;
#endif
}

bool tsri_system_module(const void *address, char *path, size_t room) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname &&
           (size_t)snprintf(path, room, "%s", info.dli_fname) < room;
}

bool tsri_system_random(void *out, size_t n) {
    return getentropy(out, n) == 0;
}

static uint64_t status_bytes(const char *format) {
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long kib = 0;
    while (file && fgets(line, sizeof line, file) && sscanf(line, format, &kib) != 1)
        ;
    if (file)
        fclose(file);
    return kib * 1024;
}

uint64_t tsri_system_resident(void) {
    return status_bytes("VmRSS: %llu kB");
}

uint64_t tsri_system_resident_peak(void) {
    return status_bytes("VmHWM: %llu kB");
}

void tsri_system_flush_if_free(FILE *stream) {
    if (ftrylockfile(stream) != 0)
        return;
#ifdef __linux__
    fflush_unlocked(stream);
#else
    fflush(stream);
#endif
    funlockfile(stream);
}

uint64_t tsri_system_memory(void) {
    const long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? (uint64_t)pages * tsri_system_page_size() : 0;
}

unsigned tsri_system_cores(void) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 0;
}

unsigned tsri_system_cores_allowed(void) {
#ifdef __linux__
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 0;
#else
    return tsri_system_cores();
#endif
}

void tsri_system_name(char *out, size_t room) {
    struct utsname system;
    *out = 0;
    if (uname(&system) == 0)
        snprintf(out, room, "%s %s %s", system.sysname, system.release, system.machine);
}

size_t tsri_system_page_size(void) {
    return (size_t)getpagesize();
}

void *tsri_system_new_aligned(size_t alignment, size_t bytes) {
    return aligned_alloc(alignment, bytes);
}

void tsri_system_free_aligned(void *memory) {
    free(memory);
}

void *tsri_system_new_large_pages(size_t bytes) {
#ifdef MADV_HUGEPAGE
    enum { PAGE = 2 << 20 };
    void *memory = bytes % PAGE == 0 ? aligned_alloc(PAGE, bytes) : NULL;
    if (memory)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
#else
    (void)bytes;
    return NULL;
#endif
}
