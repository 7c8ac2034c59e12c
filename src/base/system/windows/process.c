/* base/system/windows/process.c - the running program, and the machine that it runs on. */
#include "base/system/files.h"
#include "base/system/system.h"

#include "base/system/windows/text.h"

#include <string.h>
#include <windows.h>

#include <bcrypt.h>
#include <psapi.h>

/* The arguments that the C library gives to main are in the system's old encoding. */
static void take_wide_arguments(int *argc, char ***argv) {
    int n = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &n);
    char **narrow = wide ? calloc((size_t)n + 1, sizeof *narrow) : NULL;
    bool whole = narrow != NULL;
    for (int i = 0; i < n && whole; i++)
        whole = (narrow[i] = tsri_windows_narrow(wide[i])) != NULL;
    LocalFree(wide);
    if (!whole)
        return;
    *argc = n;
    *argv = narrow;
}

void tsri_system_begin(int *argc, char ***argv) {
    for (int fd = 0; fd < 3; fd++)
        (void)_setmode(fd, _O_BINARY);
    SetConsoleOutputCP(CP_UTF8);
    SetConsoleCP(CP_UTF8);
    take_wide_arguments(argc, argv);
}

/* The path of a module, NULL: of the program. */
static bool module_path(HMODULE module, char *path, size_t room) {
    wchar_t wide[PATH_MAX];
    const DWORD n = GetModuleFileNameW(module, wide, PATH_MAX);
    char *narrow = n > 0 && n < PATH_MAX ? tsri_windows_narrow(wide) : NULL;
    const bool fits = narrow && strlen(narrow) < room;
    if (fits) {
        strcpy(path, narrow);
        tsri_windows_to_slashes(path);
    }
    free(narrow);
    return fits;
}

bool tsri_system_program(char *path, size_t room) {
    return module_path(NULL, path, room);
}

bool tsri_system_module(const void *address, char *path, size_t room) {
    HMODULE module;
    return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                  GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                              (const wchar_t *)address, &module) &&
           module_path(module, path, room);
}

bool tsri_system_random(void *out, size_t n) {
    return BCryptGenRandom(NULL, out, (ULONG)n, BCRYPT_USE_SYSTEM_PREFERRED_RNG) >= 0;
}

static PROCESS_MEMORY_COUNTERS memory_counters(void) {
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
    if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters))
        counters = (PROCESS_MEMORY_COUNTERS){0};
    return counters;
}

uint64_t tsri_system_resident(void) {
    return memory_counters().WorkingSetSize;
}

uint64_t tsri_system_resident_peak(void) {
    return memory_counters().PeakWorkingSetSize;
}

/* The C library doesn't tell whether a stream is free; its own lock is the process's. */
void tsri_system_flush_if_free(FILE *stream) {
    fflush(stream);
}

uint64_t tsri_system_memory(void) {
    MEMORYSTATUSEX status = {.dwLength = sizeof status};
    return GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : 0;
}

unsigned tsri_system_cores(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwNumberOfProcessors;
}

unsigned tsri_system_cores_allowed(void) {
    DWORD_PTR mine = 0, all = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &mine, &all))
        return 0;
    return (unsigned)__builtin_popcountll(mine);
}

void tsri_system_name(char *out, size_t room) {
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    *out = 0;
    if (GetVersionExW(&version))
        snprintf(out, room, "Windows %lu.%lu.%lu x86_64", version.dwMajorVersion,
                 version.dwMinorVersion, version.dwBuildNumber);
}

size_t tsri_system_page_size(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

void *tsri_system_new_aligned(size_t alignment, size_t bytes) {
    return _aligned_malloc(bytes, alignment);
}

void tsri_system_free_aligned(void *memory) {
    _aligned_free(memory);
}

/* Windows gives them only to accounts with a privilege of their own. */
void *tsri_system_new_large_pages(size_t bytes) {
    (void)bytes;
    return NULL;
}
