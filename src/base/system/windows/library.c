/* base/system/windows/library.c - shared libraries, by LoadLibrary. */
#include "base/system/system.h"

#include "base/system/windows/text.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

static _Thread_local char why[512];

/* Windows's own sentence about GetLastError(), in one line. */
static void note_error(void) {
    wchar_t wide[256];
    const DWORD error = GetLastError();
    const DWORD n = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
                                   error, 0, wide, 256, NULL);
    char *narrow = n ? tsri_windows_narrow(wide) : NULL;
    snprintf(why, sizeof why, "%s", narrow ? narrow : "no reason given");
    free(narrow);
    why[strcspn(why, "\r\n")] = 0;
}

void *tsri_system_library_open(const char *path) {
    wchar_t *wide = tsri_windows_wide(path);
    HMODULE library = wide ? LoadLibraryW(wide) : NULL;
    free(wide);
    if (!library)
        note_error();
    return library;
}

void *tsri_system_library_open_lazily(const char *path) {
    return tsri_system_library_open(path);
}

const char *tsri_system_library_error(void) {
    return *why ? why : "no reason given";
}

void *tsri_system_library_symbol(void *library, const char *name) {
    const FARPROC found = GetProcAddress(library, name);
    void *address;
    memcpy(&address, &found, sizeof address);
    return address;
}

void tsri_system_library_close(void *library) {
    FreeLibrary(library);
}

void tsri_system_library_pin(const char *path) {
    HMODULE module;
    wchar_t *wide = tsri_windows_wide(path);
    if (wide)
        GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN, wide, &module);
    free(wide);
}
