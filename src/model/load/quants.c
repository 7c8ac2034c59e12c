/* model/load/quants.c - chooses a file in a folder of GGUF files. */
#include "model/load/quants.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/system/files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char usual[] = "Q4_K_M";

/* The length of a name without ".gguf" and without "-00001-of-00002"; 0 for other files. Later parts
 * count as other files. */
static size_t stem_of(const char *file) {
    enum { PART = 15 }; /* -00001-of-00002 */
    const size_t n = strlen(file);
    if (n <= 5 || strcasecmp(file + n - 5, ".gguf") != 0 || !strncasecmp(file, "mmproj", 6))
        return 0;
    const char *part = n > 5 + PART ? file + n - 5 - PART : "";
    if (part[0] != '-' || strncmp(part + 6, "-of-", 4) != 0)
        return n - 5;
    return strncmp(part, "-00001", 6) ? 0 : n - 5 - PART;
}

static bool has_quant(const char *file, const char *quant) {
    const size_t stem = stem_of(file), n = strlen(quant);
    return n && stem > n && strncasecmp(file + stem - n, quant, n) == 0 &&
           strchr("-._", file[stem - n - 1]) != NULL;
}

int tsri_model_quant_of(const char *file, const char **quant) {
    const size_t stem = stem_of(file);
    size_t at = stem;
    while (at && !strchr("-.", file[at - 1]))
        at--;
    *quant = file + at;
    return (int)(stem - at);
}

typedef struct choice {
    const char *prefix, *quant;
    const char *found;
    size_t n;         /* that fit */
    tsri_bytes names; /* of those that fit */
} choice;

static tsr_status consider(choice *c, const char *file) {
    const size_t before = strlen(c->prefix);
    if (strncasecmp(file, c->prefix, before) || !stem_of(file + before) ||
        (c->quant && !has_quant(file + before, c->quant)))
        return TSR_OK;
    c->found = file;
    c->n++;
    return tsri_base_bytes_printf(&c->names, "%s%s", c->names.size ? ", " : "", file);
}

static tsr_status consider_all(choice *c, struct dirent *const *entries, int n) {
    for (int i = 0; i < n; i++)
        TRY(consider(c, entries[i]->d_name));
    return TSR_OK;
}

static tsr_status choose(choice *c, const char *folder, struct dirent *const *entries, int n) {
    choice often = {.prefix = c->prefix, .quant = usual};
    TRY(consider_all(c, entries, n));
    if (c->n < 2)
        return TSR_OK;
    const tsr_status status = c->quant ? TSR_OK : consider_all(&often, entries, n);
    tsri_base_bytes_clear(&often.names);
    c->found = often.found;
    return status != TSR_OK || often.n == 1
               ? status
               : tsri_base_fail(TSR_E_ARGUMENT,
                                "%s: which of its files? Give the path of one of %s", folder,
                                c->names.data);
}

tsr_status tsri_model_find_gguf(const char *folder, const char *prefix, const char *quant,
                                char **path) {
    choice c = {.prefix = prefix, .quant = quant};
    struct dirent **entries = NULL;
    *path = NULL;
    const int n = scandir(folder, &entries, NULL, alphasort);
    tsr_status status = choose(&c, folder, entries, n);
    if (status == TSR_OK && c.found) {
        *path = tsri_base_join(folder, c.found);
        status = *path ? TSR_OK : TSR_E_HOST_MEMORY;
    }
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    tsri_base_bytes_clear(&c.names);
    return status;
}

tsr_status tsri_model_enter_gguf(char **path) {
    char *config = tsri_base_is_folder(*path) ? tsri_base_join(*path, "config.json") : NULL,
         *file = NULL;
    const bool enters = config && !tsri_base_is_file(config);
    free(config);
    if (enters)
        TRY(tsri_model_find_gguf(*path, "", NULL, &file));
    if (file) {
        free(*path);
        *path = file;
    }
    return TSR_OK;
}
