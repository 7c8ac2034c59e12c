/* model/load/cache_hugging_face.c - the Hugging Face cache: models--org--name with refs/REVISION, which
 * holds a commit, and snapshots/COMMIT, a folder of links. */
#include "model/load/cache_place.h"
#include "model/load/quants.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"

#include <stdlib.h>
#include <string.h>

static const char before[] = "models--";

/* As in Python's library, "~" at the beginning is the user's home folder, also where no shell has replaced it. */
static char *folder(void) {
    const char *home = getenv("HOME");
    const tsri_model_root roots[] = {{getenv("HF_HUB_CACHE"), NULL},
                                     {getenv("HUGGINGFACE_HUB_CACHE"), NULL}, /* the older name */
                                     {getenv("HF_HOME"), "hub"},
                                     {getenv("XDG_CACHE_HOME"), "huggingface/hub"},
                                     {home, ".cache/huggingface/hub"}};
    char *found = tsri_model_first_root(roots, sizeof roots / sizeof *roots);
    if (!found || !home || found[0] != '~' || (found[1] && found[1] != '/'))
        return found;
    char *expanded = tsri_base_join(home, found + 1 + (found[1] == '/'));
    free(found);
    return expanded;
}

/* ---- one repository ---- */

typedef struct only {
    size_t n;
    tsri_bytes name;
} only;

static tsr_status count(void *data, const char *snapshots, const char *name) {
    only *o = data;
    (void)snapshots;
    o->name.size = 0;
    return o->n++ ? TSR_OK : tsri_base_bytes_append(&o->name, name, strlen(name));
}

/* Appends the commit of a revision, which is in refs/, or is a commit itself; without refs/main the
 * only snapshot is meant. */
static tsr_status commit_of(const char *repository, const char *revision, tsri_bytes *commit) {
    tsri_bytes path = {0};
    tsr_status status =
        tsri_base_bytes_printf(&path, "%s/refs/%s", repository, revision ? revision : "main");
    if (status == TSR_OK && tsri_base_is_file(path.data))
        status = tsri_base_read_whole(path.data, 256, commit);
    else if (status == TSR_OK && revision)
        status = tsri_base_bytes_append(commit, revision, strlen(revision));
    else if (status == TSR_OK) {
        only o = {0};
        path.size = 0;
        status = tsri_base_bytes_printf(&path, "%s/snapshots", repository);
        if (status == TSR_OK)
            status = tsri_model_each_entry(path.data, count, &o);
        if (status == TSR_OK && o.n == 1)
            status = tsri_base_bytes_append(commit, o.name.data, o.name.size);
        tsri_base_bytes_clear(&o.name);
    }
    tsri_base_bytes_clear(&path);
    while (commit->size && strchr(" \r\n\t", commit->data[commit->size - 1]))
        commit->data[--commit->size] = 0;
    return status;
}

/* The folder of a revision, appended; nothing where there is none. */
static tsr_status snapshot_of(const char *repository, const char *revision, tsri_bytes *path) {
    tsri_bytes commit = {0};
    tsr_status status =
        revision && strstr(revision, "..") ? TSR_OK : commit_of(repository, revision, &commit);
    if (status == TSR_OK && commit.size && !strchr(commit.data, '/'))
        status = tsri_base_bytes_printf(path, "%s/snapshots/%s", repository, commit.data);
    tsri_base_bytes_clear(&commit);
    if (path->size && !tsri_base_is_folder(path->data))
        path->size = 0;
    return status;
}

static tsr_status find(const char *cache, const tsri_model_asked *asked, char **path) {
    tsri_bytes repository = {0}, snapshot = {0};
    tsr_status status = tsri_base_bytes_printf(&repository, "%s/%s", cache, before);
    for (const char *c = asked->repository; *c && status == TSR_OK; c++)
        status = tsri_base_bytes_append(&repository, *c == '/' ? "--" : c, *c == '/' ? 2 : 1);
    if (status == TSR_OK && tsri_base_is_folder(repository.data))
        status = snapshot_of(repository.data, asked->revision, &snapshot);
    if (status == TSR_OK && snapshot.size && asked->tag)
        status = tsri_model_find_gguf(snapshot.data, "", asked->tag, path);
    else if (status == TSR_OK && snapshot.size) {
        *path = snapshot.data;
        snapshot = (tsri_bytes){0};
    }
    tsri_base_bytes_clear(&repository);
    tsri_base_bytes_clear(&snapshot);
    return status;
}

/* ---- all ---- */

typedef struct walk {
    const tsri_model_visit *visit;
    const char *repository, *main; /* its folder, and that of its main revision */
    tsri_bytes name;               /* org/name */
    tsri_bytes revision;           /* the path below refs/ */
    size_t found;                  /* GGUF files of a snapshot */
} walk;

static tsr_status list_file(void *data, const char *snapshot, const char *file) {
    walk *w = data;
    const size_t size = w->name.size;
    const char *quant;
    const int n = tsri_model_quant_of(file, &quant);
    char *path = n ? tsri_base_join(snapshot, file) : NULL;
    if (!n)
        return TSR_OK;
    const tsr_status status =
        path ? tsri_base_bytes_printf(&w->name, ":%.*s", n, quant) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        tsri_model_visit_hub(w->visit, w->name.data, path);
    w->found++;
    w->name.size = size;
    w->name.data[size] = 0;
    free(path);
    return status;
}

/* A folder of GGUF files is listed by its files. */
static tsr_status list_snapshot(walk *w, const char *snapshot) {
    w->found = 0;
    if (tsri_model_is_gguf_folder(snapshot))
        TRY(tsri_model_each_gguf(snapshot, list_file, w));
    if (!w->found)
        tsri_model_visit_hub(w->visit, w->name.data, snapshot);
    return TSR_OK;
}

static void cut(tsri_bytes *text, size_t size) {
    if (text->size > size)
        text->data[text->size = size] = 0;
}

/* A snapshot as org/name@REVISION. */
static tsr_status list_revision(walk *w, const char *revision, const char *snapshot) {
    const size_t size = w->name.size;
    tsr_status status = tsri_base_bytes_printf(&w->name, "@%s", revision);
    if (status == TSR_OK)
        status = list_snapshot(w, snapshot);
    cut(&w->name, size);
    return status;
}

/* Where no revision is named, a snapshot is found by its commit. */
static tsr_status list_commit(void *data, const char *snapshots, const char *commit) {
    char *snapshot = tsri_base_join(snapshots, commit);
    const tsr_status status = !snapshot ? TSR_E_HOST_MEMORY
                              : tsri_base_is_folder(snapshot)
                                  ? list_revision(data, commit, snapshot)
                                  : TSR_OK;
    free(snapshot);
    return status;
}

/* Lists a revision whose snapshot isn't that of main; its name may have slashes. */
static tsr_status list_ref(void *data, const char *folder, const char *entry) {
    walk *w = data;
    const size_t size = w->revision.size;
    tsri_bytes snapshot = {0};
    char *path = tsri_base_join(folder, entry);
    tsr_status status =
        path ? tsri_base_bytes_printf(&w->revision, size ? "/%s" : "%s", entry) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && tsri_base_is_folder(path))
        status = tsri_model_each_entry(path, list_ref, w);
    else if (status == TSR_OK) {
        status = snapshot_of(w->repository, w->revision.data, &snapshot);
        if (status == TSR_E_IO || status == TSR_E_FORMAT)
            status = TSR_OK; /* a file that names no snapshot */
        if (status == TSR_OK && snapshot.size && strcmp(snapshot.data, w->main) != 0)
            status = list_revision(w, w->revision.data, snapshot.data);
    }
    cut(&w->revision, size);
    tsri_base_bytes_clear(&snapshot);
    free(path);
    return status;
}

static tsr_status list_refs(walk *w, const char *repository, const char *main) {
    char *refs = tsri_base_join(repository, "refs");
    w->repository = repository;
    w->main = main;
    const tsr_status status = refs ? tsri_model_each_entry(refs, list_ref, w) : TSR_E_HOST_MEMORY;
    tsri_base_bytes_clear(&w->revision);
    free(refs);
    return status;
}

/* The snapshot of refs/main and those of other revisions, else all. */
static tsr_status list_snapshots(walk *w, const char *repository) {
    tsri_bytes snapshot = {0};
    tsr_status status = snapshot_of(repository, NULL, &snapshot);
    if (status == TSR_OK && snapshot.size) {
        status = list_snapshot(w, snapshot.data);
        if (status == TSR_OK)
            status = list_refs(w, repository, snapshot.data);
    } else if (status == TSR_OK) {
        char *snapshots = tsri_base_join(repository, "snapshots");
        status = snapshots ? tsri_model_each_entry(snapshots, list_commit, w) : TSR_E_HOST_MEMORY;
        free(snapshots);
    }
    tsri_base_bytes_clear(&snapshot);
    return status;
}

static tsr_status list_repository(void *data, const char *cache, const char *entry) {
    walk w = {.visit = data};
    const size_t skipped = sizeof before - 1;
    if (strncmp(entry, before, skipped))
        return TSR_OK;
    const char *slash = strstr(entry + skipped, "--");
    char *repository = tsri_base_join(cache, entry);
    tsr_status status = repository ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = slash ? tsri_base_bytes_printf(&w.name, "%.*s/%s", (int)(slash - entry - skipped),
                                                entry + skipped, slash + 2)
                       : tsri_base_bytes_printf(&w.name, "%s", entry + skipped);
    if (status == TSR_OK)
        status = list_snapshots(&w, repository);
    free(repository);
    tsri_base_bytes_clear(&w.name);
    return status;
}

static tsr_status list(const char *cache, const tsri_model_visit *visit) {
    return tsri_model_each_entry(cache, list_repository, (void *)visit);
}

const tsri_model_place tsri_model_hugging_face = {
    .name = "Hugging Face", .is_hub = true, .folder = folder, .find = find, .list = list};
