/* backend/host.c - the set of backends: loads them, asks them for their devices, and orders
 * these. */
#include "backend/host.h"

#include "backend/load.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/plugins.h"
#include "base/system/paths.h"
#include "base/system/system.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct loaded {
    const tsr_backend *backend;
    tsr_state *state;
    void *handle; /* NULL: built in */
    char *path;
} loaded;

struct tsri_backend_set {
    tsr_host host;
    char *cache_folder;
    void (*log)(void *data, tsr_log_level level, const char *line);
    void *log_data;
    int (*progress)(void *data, const tsr_progress *progress);
    void *progress_data;
    uint32_t threads;
    loaded *backends;
    size_t n_backends, backends_capacity;
    tsri_backend_entry *entries;
    size_t n_entries, entries_capacity;
    char **notes;
    size_t n_notes, notes_capacity;
};

static const char *host_reported(void *data) {
    (void)data;
    return tsri_base_reported();
}

static void host_report(void *data, tsr_status status, const char *sentence) {
    (void)data;
    (void)tsri_base_fail(status, "%s", sentence);
}

static void host_log(void *data, tsr_log_level level, const char *line) {
    const tsri_backend_set *set = data;
    if (set->log)
        set->log(set->log_data, level, line);
}

static int host_progress(void *data, const tsr_progress *progress) {
    const tsri_backend_set *set = data;
    return set->progress ? set->progress(set->progress_data, progress) : 0;
}

static tsr_status add_note(void *data, const char *sentence) {
    tsri_backend_set *set = data;
    TRY(tsri_base_grow(&set->notes, &set->notes_capacity, set->n_notes + 1, sizeof *set->notes));
    char *copy = tsri_base_copy_text(sentence, strlen(sentence));
    if (!copy)
        return TSR_E_HOST_MEMORY;
    set->notes[set->n_notes++] = copy;
    return TSR_OK;
}

/* Finds a folder that backends may write to; where there is none, adds a note. */
static tsr_status find_cache(tsri_backend_set *set) {
    set->cache_folder = tsri_base_cache_folder();
    if (!set->cache_folder)
        return add_note(set, "no cache folder: set TESSERA_CACHE, XDG_CACHE_HOME or HOME; until "
                             "then kernels are built again each time");
    if (tsri_base_make_folders(set->cache_folder) == TSR_OK) {
        if (access(set->cache_folder, W_OK) == 0) {
            set->host.cache_folder = set->cache_folder;
            return TSR_OK;
        }
        (void)tsri_base_fail(TSR_E_IO, "%s: it can't be written to", set->cache_folder);
    }
    tsri_bytes sentence = {0};
    tsr_status status = tsri_base_bytes_printf(
        &sentence, "no cache folder: %s; kernels are built again each time", tsri_base_reported());
    if (status == TSR_OK)
        status = add_note(set, sentence.data);
    tsri_base_bytes_clear(&sentence);
    return status;
}

/* Inserts a device: best first within a backend, then the unusable ones; equal ones in the order in
 * which the backend lists them. */
static void insert_entry(tsri_backend_set *set, size_t first, const tsri_backend_entry *entry) {
    size_t at = set->n_entries++;
    for (; at > first; at--) {
        const tsr_facts *before = &set->entries[at - 1].facts;
        const int rank = before->usable ? before->score : INT_MIN,
                  mine = entry->facts.usable ? entry->facts.score : INT_MIN;
        if (rank >= mine)
            break;
        set->entries[at] = set->entries[at - 1];
    }
    set->entries[at] = *entry;
}

static void fill_missing(tsr_facts *facts) {
    const char **texts[] = {&facts->platform, &facts->name,      &facts->vendor, &facts->driver,
                            &facts->version,  &facts->c_version, &facts->reason};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!*texts[i])
            *texts[i] = "";
    if (!facts->base_alignment)
        facts->base_alignment = TSRI_BASE_ALIGNMENT;
}

static const void *extension_of(const tsr_backend *backend, tsr_state *state, const char *name) {
    const size_t end = offsetof(tsr_backend, extension) + sizeof backend->extension;
    return backend->struct_size >= end && backend->extension ? backend->extension(state, name)
                                                             : NULL;
}

static tsr_status list_devices(tsri_backend_set *set, const loaded *plugin) {
    uint32_t count = 0;
    const size_t first = set->n_entries;
    TRY(plugin->backend->device_count(plugin->state, &count));
    TRY(tsri_base_grow(&set->entries, &set->entries_capacity, first + count, sizeof *set->entries));
    for (uint32_t i = 0; i < count; i++) {
        tsri_backend_entry entry = {.backend = plugin->backend,
                                    .state = plugin->state,
                                    .index = i,
                                    .facts.struct_size = sizeof entry.facts};
        TRY(plugin->backend->device_facts(plugin->state, i, &entry.facts));
        fill_missing(&entry.facts);
        insert_entry(set, first, &entry);
    }
    const tsr_backend_notes *notes = extension_of(plugin->backend, plugin->state, "tsr.notes/1");
    for (uint32_t i = 0, n = notes ? notes->count(plugin->state) : 0; i < n; i++)
        TRY(add_note(set, notes->note(plugin->state, i)));
    return TSR_OK;
}

/* Backends start one at a time, over all engines: two plugins may load the same drivers. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

static void hold(void) {
    pthread_mutex_lock(&starting);
}

static void give_up(void) {
    pthread_mutex_unlock(&starting);
}

/* No process may be forked while a backend starts: it would wait for a thread that it doesn't
 * have. */
static void mind_forks(void) {
    tsri_system_mind_forks(hold, give_up);
}

static tsr_status start_backend(const tsri_backend_set *set, const tsr_backend *backend,
                                tsr_state **state) {
    char threads[16];
    const char *names[] = {"threads"}, *values[] = {threads};
    const tsr_options options = {.struct_size = sizeof options,
                                 .count = set->threads ? 1 : 0,
                                 .names = names,
                                 .values = values};
    snprintf(threads, sizeof threads, "%u", set->threads);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, mind_forks);
    pthread_mutex_lock(&starting);
    const tsr_status status = backend->open(&set->host, &options, state);
    pthread_mutex_unlock(&starting);
    return status;
}

/* Takes over the handle, also on failure. */
static tsr_status add_backend(tsri_backend_set *set, const char *path, void *handle,
                              const tsr_backend *backend) {
    loaded plugin = {.backend = backend, .handle = handle};
    const size_t entries = set->n_entries, notes = set->n_notes;
    tsr_status status = tsri_base_grow(&set->backends, &set->backends_capacity, set->n_backends + 1,
                                       sizeof *set->backends);
    if (status == TSR_OK && !(plugin.path = tsri_base_copy_text(path, strlen(path))))
        status = TSR_E_HOST_MEMORY;
    if (status == TSR_OK) {
        if (handle)
            tsri_system_library_pin(path); /* drivers' threads and exit handlers */
        (void)tsri_base_fail(TSR_OK,
                             /* Replaced by the sentence that the backend reports */
                             "it gives no reason");
        status = start_backend(set, backend, &plugin.state);
        if (status == TSR_OK)
            status = list_devices(set, &plugin);
        if (status != TSR_OK)
            status = tsri_base_fail_within(status, "%s: backend \"%s\" does not start", path,
                                           backend->name);
    }
    if (status == TSR_OK) {
        set->backends[set->n_backends++] = plugin;
        return TSR_OK;
    }
    set->n_entries = entries;
    for (; set->n_notes > notes; set->n_notes--)
        free(set->notes[set->n_notes - 1]);
    if (plugin.state)
        backend->close(plugin.state);
    if (handle)
        tsri_system_library_close(handle);
    free(plugin.path);
    return status;
}

/* Adds the plugin of a file once, by its resolved path; refuses a name that is taken. Each failure
 * reports its sentence. */
static tsr_status add_plugin(tsri_backend_set *set, const char *given) {
    char path[PATH_MAX];
    void *handle = NULL;
    const tsr_backend *backend = NULL;
    if (!realpath(given, path))
        return tsri_base_fail(TSR_E_IO, "%s: can't find a backend there: %s", given,
                              strerror(errno));
    for (size_t i = 0; i < set->n_backends; i++)
        if (strcmp(set->backends[i].path, path) == 0)
            return TSR_OK;
    TRY(tsri_backend_load(path, &handle, &backend));
    const char *owner = strcmp(backend->name, "reference") == 0 ? "the library itself" : NULL;
    for (size_t i = 0; i < set->n_backends && !owner; i++)
        if (strcmp(set->backends[i].backend->name, backend->name) == 0)
            owner = set->backends[i].path;
    if (owner) {
        const tsr_status status = tsri_base_fail(
            TSR_E_UNSUPPORTED, "%s: skipped: a backend named \"%s\" came first, from %s", path,
            backend->name, owner);
        tsri_system_library_close(handle);
        return status;
    }
    return add_backend(set, path, handle, backend);
}

static tsr_status add_found(tsri_backend_set *set) {
    tsri_bytes paths = {0};
    tsr_status status = tsri_backend_search(&paths, add_note, set);
    for (size_t at = 0; at < paths.size && status == TSR_OK; at += strlen(paths.data + at) + 1) {
        status = add_plugin(set, paths.data + at);
        if (status != TSR_OK && status != TSR_E_CANCELLED)
            status = add_note(set, tsri_base_reported());
    }
    tsri_base_bytes_clear(&paths);
    return status;
}

tsr_status tsri_backend_set_open(const tsri_backend_options *options, tsri_backend_set **out) {
    tsri_backend_set *set = NULL;
    const tsri_base_kept before = tsri_base_keep();
    TRY(tsri_base_new(1, sizeof *set, &set));
    set->log = options->log;
    set->log_data = options->log_data;
    set->progress = options->progress;
    set->progress_data = options->progress_data;
    set->threads = options->threads;
    set->host = (tsr_host){.struct_size = sizeof set->host,
                           .abi = TSR_BACKEND_ABI,
                           .data = set,
                           .report = host_report,
                           .log = host_log,
                           .version = TESSERA_VERSION,
                           .progress = host_progress,
                           .reference = tsri_backend_compute,
                           .reported = host_reported};
    tsr_status status = find_cache(set);
    for (size_t i = 0; i < options->n_plugins && status == TSR_OK; i++)
        status = add_plugin(set, options->plugins[i]);
    if (status == TSR_OK && !options->reference_alone)
        status = add_found(set);
    if (status == TSR_OK)
        status = add_backend(set, "reference", NULL, tsri_reference_get(TSR_BACKEND_ABI));
    if (status == TSR_OK) /* what failed on the way became notes */
        tsri_base_restore(TSR_OK, &before);
    else
        tsri_backend_set_close(&set);
    *out = set;
    return status;
}

void tsri_backend_set_close(tsri_backend_set **set) {
    tsri_backend_set *s = *set;
    if (!s)
        return;
    while (s->n_backends > 0) {
        const loaded *plugin = &s->backends[--s->n_backends];
        plugin->backend->close(plugin->state);
        if (plugin->handle)
            tsri_system_library_close(plugin->handle);
        free(plugin->path);
    }
    while (s->n_notes > 0)
        free(s->notes[--s->n_notes]);
    free(s->notes);
    free(s->entries);
    free(s->backends);
    free(s->cache_folder);
    free(s);
    *set = NULL;
}

size_t tsri_backend_count(const tsri_backend_set *set) {
    return set->n_entries;
}

const tsri_backend_entry *tsri_backend_at(const tsri_backend_set *set, size_t device) {
    return &set->entries[device];
}

size_t tsri_backend_note_count(const tsri_backend_set *set) {
    return set->n_notes;
}

const char *tsri_backend_note(const tsri_backend_set *set, size_t i) {
    return set->notes[i];
}

const void *tsri_backend_extension(const tsri_backend_set *set, size_t device, const char *name) {
    const tsri_backend_entry *entry = tsri_backend_at(set, device);
    return extension_of(entry->backend, entry->state, name);
}

const char *tsri_backend_cache_folder(const tsri_backend_set *set) {
    return set->host.cache_folder;
}
