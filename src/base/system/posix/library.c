/* base/system/posix/library.c - shared libraries, by dlopen. */
#include "base/system/system.h"

#include <dlfcn.h>

void *tsri_system_library_open(const char *path) {
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void *tsri_system_library_open_lazily(const char *path) {
    return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

const char *tsri_system_library_error(void) {
    const char *why = dlerror();
    return why ? why : "no reason given";
}

void *tsri_system_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

void tsri_system_library_close(void *library) {
    dlclose(library);
}

void tsri_system_library_pin(const char *path) {
    void *again = dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    if (again)
        dlclose(again);
}
