/* Builds plugins that break one rule each, and a folder that holds them. */
#include "backend/plugins.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static char folder[PATH_MAX];

void plugins_begin(void) {
    snprintf(folder, sizeof folder, "%s/tessera-plugins-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
    cr_assert_not_null(mkdtemp(folder));
    setenv("OCL_ICD_VENDORS", folder,
           1); /* so that an installed OpenCL backend finds no platform */
    unsetenv("TESSERA_BACKEND_PATH");
    unsetenv("TESSERA_DEVICE");
}

void plugins_end(void) {
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

const char *plugins_folder(void) {
    return folder;
}

const char *plugins_make(const char *file, const char *macros) {
    static char paths[8][PATH_MAX + 64];
    static int next;
    char *path = paths[next++ % 8];
    char command[4 * PATH_MAX];
    snprintf(path, sizeof *paths, "%s/%s", folder, file);
    const char *compiler = getenv("CC");
    snprintf(
        command, sizeof command,
        "%s -std=c11 -shared -fPIC -I'%s/include' %s -o '%s' '%s/tests/backend/plugins/fake.c'",
        compiler ? compiler : "cc", TESSERA_SOURCE_DIR, macros, path, TESSERA_SOURCE_DIR);
    cr_assert_eq(system(command), 0, "%s", command);
    return path;
}
