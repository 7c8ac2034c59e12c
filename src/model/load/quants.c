/* model/load/quants.c - chooses a file in a folder of GGUF files. */
#include "model/load/quants.h"
#include "model/load/cache_place.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "io/archive.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char usual[] = "Q4_K_M";

size_t tsri_model_gguf_stem(const char *file, int *parts) {
    enum { PART = 15 }; /* -00001-of-00002 */
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    const size_t n = strlen(file);
    *parts = 1;
    if (strlen(base) <= 5 || strcasecmp(file + n - 5, ".gguf") != 0 ||
        !strncasecmp(base, "mmproj", 6))
        return 0;
    const char *part = strlen(base) > 5 + PART ? file + n - 5 - PART : "";
    if (part[0] != '-' || strncmp(part + 6, "-of-", 4) != 0)
        return n - 5;
    *parts = (int)strtol(part + 10, NULL, 10);
    return strncmp(part, "-00001", 6) ? 0 : n - 5 - PART;
}

static size_t stem_of(const char *file) {
    int parts;
    return tsri_model_gguf_stem(file, &parts);
}

/* ---- the quantisation in a name ---- */

/* Where the last part of a name of n bytes begins: at "Q4_K_M" of "model-Q4_K_M"; Unsloth's "UD-"
 * belongs to the part. */
static size_t last_part(const char *name, size_t n) {
    static const char dynamic[] = "UD-";
    const size_t before = sizeof dynamic - 1;
    size_t at = n;
    while (at && !strchr("-./", name[at - 1]))
        at--;
    return at > before && !strncasecmp(name + at - before, dynamic, before) &&
                   strchr("-./", name[at - before - 1])
               ? at - before
           : at == before && !strncasecmp(name, dynamic, before) ? 0
                                                                 : at;
}

/* Whether these n bytes are the name of a quantisation or of a type of floats. */
static bool is_quant(const char *name, size_t n) {
    static const char *const types[] = {"Q", "IQ", "TQ", "F", "BF", "FP", "MXFP", "NVFP"};
    const size_t dynamic = n > 3 && !strncasecmp(name, "UD-", 3) ? 3 : 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t digit = dynamic + strlen(types[i]);
        if (digit < n && !strncasecmp(name + dynamic, types[i], digit - dynamic) &&
            name[digit] >= '0' && name[digit] <= '9')
            return true;
    }
    return false;
}

int tsri_model_quant_of(const char *file, const char **quant) {
    const size_t stem = stem_of(file), at = last_part(file, stem);
    const char *slash = strrchr(file, '/');
    const size_t folder = slash ? (size_t)(slash - file) : 0, above = last_part(file, folder);
    *quant = file + at;
    if (!stem || is_quant(*quant, stem - at) || !is_quant(file + above, folder - above))
        return (int)(stem - at);
    *quant = file + above;
    return (int)(folder - above);
}

/* Whether the first n bytes of a name end in the quantisation. */
static bool ends_in(const char *name, size_t n, const char *quant) {
    const size_t size = strlen(quant);
    return size && n >= size && strncasecmp(name + n - size, quant, size) == 0 &&
           (n == size || strchr("-._/", name[n - size - 1]));
}

static bool has_quant(const char *file, const char *quant) {
    const char *slash = strrchr(file, '/');
    return ends_in(file, stem_of(file), quant) ||
           (slash && ends_in(file, (size_t)(slash - file), quant));
}

/* ---- the files of a folder ---- */

typedef struct walk {
    tsr_status (*each)(void *data, const char *folder, const char *file);
    void *data;
    const char *folder;
    const char *below; /* the folder in it whose files are visited; NULL: its own files are */
} walk;

static tsr_status visit_entry(void *data, const char *folder, const char *entry) {
    const walk *w = data;
    const bool is_gguf = stem_of(entry) > 0;
    if (!is_gguf && w->below)
        return TSR_OK;
    if (is_gguf && !w->below)
        return w->each(w->data, folder, entry);
    char *path = tsri_base_join(is_gguf ? w->below : folder, entry);
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && is_gguf)
        status = w->each(w->data, w->folder, path);
    else if (status == TSR_OK && tsri_base_is_folder(path)) {
        walk inner = *w;
        inner.below = entry;
        status = tsri_model_each_entry(path, visit_entry, &inner);
    }
    free(path);
    return status;
}

tsr_status tsri_model_each_gguf(const char *folder,
                                tsr_status (*each)(void *data, const char *folder,
                                                   const char *file),
                                void *data) {
    walk w = {.each = each, .data = data, .folder = folder};
    return tsri_model_each_entry(folder, visit_entry, &w);
}

/* ---- the choice ---- */

typedef struct choice {
    const char *prefix, *quant;
    bool models;      /* files of adapters don't count */
    bool exact;       /* of those that fit: their quantisation is the one that was asked for */
    size_t n;         /* that fit */
    tsri_bytes found; /* the last of them */
    tsri_bytes names; /* of those that fit */
} choice;

static tsr_status is_adapter(const char *folder, const char *file, bool *is) {
    char *path = tsri_base_join(folder, file);
    *is = path && tsri_io_is_adapter(path);
    free(path);
    return path ? TSR_OK : TSR_E_HOST_MEMORY;
}

static tsr_status consider(void *data, const char *folder, const char *file) {
    choice *c = data;
    const size_t before = strlen(c->prefix);
    const char *quant;
    bool adapter = false;
    if (strncasecmp(file, c->prefix, before) || !stem_of(file + before) ||
        (c->quant && !has_quant(file + before, c->quant)))
        return TSR_OK;
    if (c->models)
        TRY(is_adapter(folder, file, &adapter));
    if (adapter)
        return TSR_OK;
    const size_t n = (size_t)tsri_model_quant_of(file + before, &quant);
    const bool exact = c->quant && n == strlen(c->quant);
    if (c->exact && !exact)
        return TSR_OK;
    if (exact && !c->exact)
        c->n = c->names.size = 0;
    c->exact = exact;
    c->n++;
    c->found.size = 0;
    TRY(tsri_base_bytes_printf(&c->found, "%s", file));
    return tsri_base_bytes_printf(&c->names, "%s%s", c->names.size ? ", " : "", file);
}

static tsr_status choose(choice *c, choice *often, const char *folder) {
    TRY(tsri_model_each_gguf(folder, consider, c));
    if (c->n < 2)
        return TSR_OK;
    if (!c->quant)
        TRY(tsri_model_each_gguf(folder, consider, often));
    return often->n == 1 ? TSR_OK
                         : tsri_base_fail(TSR_E_ARGUMENT,
                                          "%s: which of its files? Give the path of one of %s",
                                          folder, c->names.data);
}

static void forget(choice *c) {
    tsri_base_bytes_clear(&c->found);
    tsri_base_bytes_clear(&c->names);
}

tsr_status tsri_model_find_gguf(const char *folder, const char *prefix, const char *quant,
                                char **path) {
    choice c = {.prefix = prefix, .quant = quant, .models = !quant},
           often = {.prefix = prefix, .quant = usual, .models = !quant};
    *path = NULL;
    tsr_status status = choose(&c, &often, folder);
    if (status == TSR_OK && c.n) {
        *path = tsri_base_join(folder, often.n ? often.found.data : c.found.data);
        status = *path ? TSR_OK : TSR_E_HOST_MEMORY;
    }
    forget(&c);
    forget(&often);
    return status;
}

bool tsri_model_is_gguf_folder(const char *folder) {
    char *config = tsri_base_is_folder(folder) ? tsri_base_join(folder, "config.json") : NULL;
    const bool is = config && (!tsri_base_is_file(config) || !tsri_io_has_weights(folder));
    free(config);
    return is;
}

tsr_status tsri_model_enter_gguf(char **path) {
    char *file = NULL;
    if (tsri_model_is_gguf_folder(*path))
        TRY(tsri_model_find_gguf(*path, "", NULL, &file));
    if (file) {
        free(*path);
        *path = file;
    }
    return TSR_OK;
}
