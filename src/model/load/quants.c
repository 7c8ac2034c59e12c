/* model/load/quants.c - chooses a file in a folder of GGUF files. */
#include "model/load/quants.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"

#include <dirent.h>
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

bool tsri_model_has_quant(const char *file, const char *quant) {
    const size_t stem = stem_of(file), n = strlen(quant);
    return n && stem > n && strncasecmp(file + stem - n, quant, n) == 0 &&
           strchr("-._", file[stem - n - 1]) != NULL;
}

typedef struct choice {
    const char *quant;
    const char *found;
    size_t n;         /* that fit */
    tsri_bytes names; /* of all */
} choice;

static tsr_status consider(choice *c, const char *file) {
    if (!stem_of(file))
        return TSR_OK;
    if (!c->quant || tsri_model_has_quant(file, c->quant)) {
        c->found = file;
        c->n++;
    }
    return tsri_base_bytes_printf(&c->names, "%s%s", c->names.size ? ", " : "", file);
}

static tsr_status choose(choice *c, struct dirent *const *entries, int n) {
    for (int i = 0; i < n; i++)
        TRY(consider(c, entries[i]->d_name));
    if (c->quant || c->n < 2)
        return TSR_OK;
    c->quant = usual;
    c->n = 0;
    c->names.size = 0;
    for (int i = 0; i < n; i++)
        TRY(consider(c, entries[i]->d_name));
    return TSR_OK;
}

static tsr_status take(const choice *c, const char *quant, char **path) {
    if (!c->names.size && !quant)
        return TSR_OK;
    if (c->n != 1)
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: %s of its GGUF files fits%s%s: %s%s", *path,
                              c->n ? "more than one" : "none", quant ? " " : "", quant ? quant : "",
                              c->names.size ? "give the path of one of " : "it has none",
                              c->names.size ? c->names.data : "");
    char *file = tsri_base_join(*path, c->found);
    if (!file)
        return TSR_E_HOST_MEMORY;
    free(*path);
    *path = file;
    return TSR_OK;
}

tsr_status tsri_model_choose_gguf(char **path, const char *quant) {
    choice c = {.quant = quant};
    struct dirent **entries = NULL;
    char *config = tsri_base_is_folder(*path) ? tsri_base_join(*path, "config.json") : NULL;
    const bool other = !config || (!quant && tsri_base_is_file(config));
    free(config);
    if (other)
        return TSR_OK;
    const int n = scandir(*path, &entries, NULL, alphasort);
    tsr_status status = choose(&c, entries, n);
    if (status == TSR_OK)
        status = take(&c, quant, path);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    tsri_base_bytes_clear(&c.names);
    return status;
}
