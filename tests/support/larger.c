/* The folder of larger goldens, where there is one. */
#include "support/larger.h"

#include "base/files.h"

#include <stdlib.h>
#include <unistd.h>

char *larger_path(const char *name) {
    const char *folder = getenv("TESSERA_SHARED");
    char *path = folder && *folder ? tsri_base_join(folder, name) : NULL;
    if (path && access(path, F_OK) == 0)
        return path;
    free(path);
    return NULL;
}
