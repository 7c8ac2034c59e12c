/* model/load/cache_place.c - what the files of caches have in common. */
#include "model/load/cache_place.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/system/files.h"

#include <stdlib.h>
#include <string.h>

char *tsri_model_first_root(const tsri_model_root *roots, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (roots[i].root && *roots[i].root)
            return roots[i].below ? tsri_base_join(roots[i].root, roots[i].below)
                                  : tsri_base_copy_text(roots[i].root, strlen(roots[i].root));
    return NULL;
}

tsr_status tsri_model_each_entry(const char *folder,
                                 tsr_status (*each)(void *data, const char *folder,
                                                    const char *name),
                                 void *data) {
    struct dirent **entries = NULL;
    tsr_status status = TSR_OK;
    const int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (status == TSR_OK && entries[i]->d_name[0] != '.')
            status = each(data, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return status;
}
