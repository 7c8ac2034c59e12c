/* Builds a backend plugin from one source file. */
#include "support/plugin.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

void build_plugin(const char *source, const char *plugin) {
    char command[4 * PATH_MAX];
    const char *compiler = getenv("CC");
    snprintf(command, sizeof command,
             "%s -std=c11 -O1 -shared -fPIC -fvisibility=hidden -I'%s/include' -o '%s' '%s/%s' -lm",
             compiler ? compiler : "cc", TESSERA_SOURCE_DIR, plugin, TESSERA_SOURCE_DIR, source);
    cr_assert_eq(system(command), 0, "%s", command);
}
