/* base/plugins.c - finds plugins, opens them, and checks their tables. */
#include "base/plugins.h"

#include "base/error.h"
#include "base/system/files.h"
#include "base/system/system.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static tsr_status check_name(const tsri_base_plugin_kind *kind, const char *path,
                             const char *name) {
    if (!name || !*name)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: the %s has no name", path, kind->noun);
    for (const char *c = name; *c; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_' && *c != '-')
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: the %s's name \"%s\" is not one lower-case word", path,
                                  kind->noun, name);
    return TSR_OK;
}

tsr_status tsri_base_plugin_check(const tsri_base_plugin_kind *kind, const char *path,
                                  const void *given) {
    const tsri_base_plugin_table *table = given;
    const char *noun = kind->noun;
    const uint32_t major = kind->abi >> 16, minor = kind->abi & 0xffff;
    if (!table)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: the plugin does not support %s ABI %u.%u, which this Tessera uses", path, noun,
            major, minor);
    if (table->struct_size <
        offsetof(tsri_base_plugin_table, name)) /* not even its ABI can be read */
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: the %s's table has %u bytes; at least %zu are needed", path,
                              noun, table->struct_size, kind->smallest);
    if (table->abi >> 16 != major)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: the plugin was built for %s ABI %u.%u; this Tessera loads %u.x: rebuild it", path,
            noun, table->abi >> 16, table->abi & 0xffff, major);
    if (table->struct_size < kind->smallest)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: the %s's table has %u bytes; ABI %u.%u needs at least %zu: rebuild it", path, noun,
            table->struct_size, major, minor, kind->smallest);
    TRY(check_name(kind, path, table->name));
    for (size_t i = 0; i < kind->n_required; i++) {
        void *entry;
        memcpy(&entry, (const char *)given + kind->required[i].at, sizeof entry);
        if (!entry)
            return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: the %s's entry \"%s\" is NULL", path,
                                  noun, kind->required[i].name);
    }
    return TSR_OK;
}

static tsr_status fail_to_load(const tsri_base_plugin_kind *kind, const char *path) {
    const char *why = tsri_system_library_error(), *sentence = NULL;
    if (kind->explain)
        sentence = kind->explain(why);
    return sentence ? tsri_base_fail(TSR_E_UNSUPPORTED, "%s: %s (%s)", path, sentence, why)
                    : tsri_base_fail(TSR_E_UNSUPPORTED, "%s: it can't be loaded: %s", path, why);
}

tsr_status tsri_base_plugin_load(const tsri_base_plugin_kind *kind, const char *path, void **handle,
                                 const void **table) {
    void *library = tsri_system_library_open(path);
    if (!library)
        return fail_to_load(kind, path);
    const void *(*get)(uint32_t abi);
    void *symbol = tsri_system_library_symbol(library, kind->symbol);
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from object to function pointers */
    tsr_status status;
    if (!symbol)
        status =
            tsri_base_fail(TSR_E_UNSUPPORTED, "%s: it has no symbol %s, so it is not a Tessera %s",
                           path, kind->symbol, kind->noun);
    else
        status = tsri_base_plugin_check(kind, path, *table = get(kind->abi));
    if (status != TSR_OK)
        tsri_system_library_close(library);
    else
        *handle = library;
    return status;
}

/* ---- searching ---- */

static int is_library(const struct dirent *entry) {
    static const char suffix[] = TSRI_SYSTEM_LIBRARY_SUFFIX;
    const size_t n = strlen(entry->d_name), end = sizeof suffix - 1;
    return entry->d_name[0] != '.' && n > end && strcmp(entry->d_name + n - end, suffix) == 0;
}

/* Adds a path that is not listed yet: a folder may be named twice, and what can't be used would be
 * tried again. */
static tsr_status add_file(const char *folder, const char *name, tsri_bytes *paths) {
    const size_t begin = paths->size;
    TRY(tsri_base_bytes_printf(paths, "%s/%s", folder, name));
    TRY(tsri_base_bytes_append(paths, "", 1));
    for (size_t at = 0; at < begin; at += strlen(paths->data + at) + 1)
        if (!strcmp(paths->data + at, paths->data + begin)) {
            paths->size = begin;
            break;
        }
    return TSR_OK;
}

static tsr_status add_folder(const char *folder, tsri_bytes *paths) {
    char real[PATH_MAX];
    struct dirent **entries = NULL;
    if (!realpath(folder, real))
        return TSR_OK; /* a folder that doesn't exist has no plugins */
    const int n = scandir(real, &entries, is_library, alphasort);
    tsr_status status = TSR_OK;
    for (int i = 0; i < n; i++) {
        if (status == TSR_OK)
            status = add_file(real, entries[i]->d_name, paths);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* The path of the file that contains this code: the library, or the program that it was linked
 * into. */
static const char *own_file(char path[PATH_MAX]) {
    static const char here;
    char module[PATH_MAX];
    if (tsri_system_module(&here, module, sizeof module) && tsri_system_last_slash(module) &&
        realpath(module, path))
        return path;
    /* a program that was started by its name alone */
    return tsri_system_program(module, sizeof module) ? realpath(module, path) : NULL;
}

static tsr_status add_install_folder(const tsri_base_plugin_kind *kind, tsri_bytes *paths) {
    static const char *const below[] = {"", "../lib/"};
    char file[PATH_MAX], folder[PATH_MAX + 64];
    if (!own_file(file))
        return TSR_OK;
    *tsri_system_last_slash(file) = 0;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(folder, sizeof folder, "%s/%s%.32s", file, below[i], kind->folder);
        TRY(add_folder(folder, paths));
    }
    return TSR_OK;
}

tsr_status tsri_base_plugin_search(const tsri_base_plugin_kind *kind, const char *given,
                                   tsri_bytes *paths,
                                   tsr_status (*note)(void *data, const char *sentence),
                                   void *data) {
    for (const char *at = given ? given : ""; *at;) {
        const size_t n = strcspn(at, TSRI_SYSTEM_BETWEEN_FOLDERS);
        char folder[PATH_MAX], sentence[PATH_MAX + 80];
        snprintf(folder, sizeof folder, "%.*s", (int)(n < PATH_MAX ? n : PATH_MAX - 1), at);
        if (tsri_system_is_absolute(folder))
            TRY(add_folder(folder, paths));
        else if (folder[0]) {
            snprintf(sentence, sizeof sentence,
                     "%.32s: \"%s\" is skipped: it is not an absolute path", kind->variable,
                     folder);
            TRY(note(data, sentence));
        }
        at += n + (at[n] != 0);
    }
    return add_install_folder(kind, paths);
}
