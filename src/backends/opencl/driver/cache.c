/* backends/opencl/driver/cache.c - files of the cache folder, checked before use. */
#include "backends/opencl/driver/cache.h"
#include "backends/opencl/driver/host.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 8, DIGEST = 32, LENGTH = 8, HEADER = MAGIC + DIGEST + LENGTH + DIGEST };

static const char magic[MAGIC + 1] = "TSROCL1\n";
static const uint64_t cap = UINT64_C(256) << 20; /* the limit of all files together */

static char *folder_of(const tsr_state *state) {
    return state->host->cache_folder ? tsri_base_join(state->host->cache_folder, "opencl") : NULL;
}

static char *path_of(const char *folder, const tsri_opencl_key *key, const char *kind) {
    char hex[65], name[96];
    tsri_base_hash_hex(key->digest, hex);
    snprintf(name, sizeof name, "%s.%s", hex, kind);
    return tsri_base_join(folder, name);
}

static tsr_status digest_of(const void *data, size_t n, unsigned char digest[DIGEST]) {
    tsri_hash *hash = NULL;
    TRY(tsri_base_hash_begin(&hash));
    tsri_base_hash_add(hash, data, n);
    tsri_base_hash_end(&hash, digest);
    return TSR_OK;
}

static void put_length(unsigned char *out, uint64_t n) {
    for (int i = 0; i < LENGTH; i++)
        out[i] = (unsigned char)(n >> (8 * i));
}

static uint64_t get_length(const unsigned char *in) {
    uint64_t n = 0;
    for (int i = 0; i < LENGTH; i++)
        n |= (uint64_t)in[i] << (8 * i);
    return n;
}

/* NULL for a sound file, else what is wrong with it. */
static const char *damage(const tsri_bytes *file, const tsri_opencl_key *key) {
    const unsigned char *data = (const unsigned char *)file->data;
    unsigned char digest[DIGEST];
    if (file->size < HEADER)
        return "it is too short";
    if (memcmp(data, magic, MAGIC) != 0)
        return "it does not begin as a cache file does";
    if (memcmp(data + MAGIC, key->digest, DIGEST) != 0)
        return "it belongs to another key";
    if (get_length(data + MAGIC + DIGEST) != file->size - HEADER)
        return "its length is not the one that it states";
    if (digest_of(data + HEADER, file->size - HEADER, digest) != TSR_OK ||
        memcmp(data + MAGIC + DIGEST + LENGTH, digest, DIGEST) != 0)
        return "its contents have changed";
    return NULL;
}

tsr_status tsri_opencl_cache_load(const tsr_state *state, const tsri_opencl_key *key,
                                  const char *kind, tsri_bytes *payload, bool *found) {
    tsri_bytes file = {0};
    tsr_status status = TSR_OK;
    *found = false;
    char *folder = folder_of(state);
    char *path = folder ? path_of(folder, key, kind) : NULL;
    if (!path || access(path, F_OK) != 0)
        goto out;
    if (tsri_base_read_whole(path, (size_t)cap, &file) != TSR_OK) {
        tsri_opencl_log(state, TSR_LOG_WARNING, "%s can't be read; it is made again", path);
        goto out;
    }
    const char *wrong = damage(&file, key);
    if (wrong) {
        tsri_opencl_log(state, TSR_LOG_WARNING,
                        "the cache file %s is damaged (%s); it is made again", path, wrong);
        goto out;
    }
    status = tsri_base_bytes_append(payload, file.data + HEADER, file.size - HEADER);
    if (status == TSR_OK) {
        *found = true;
        /* Sets the time of last use, by which the oldest files are removed. A cache whose files
         * can't be touched still serves. */
        (void)!utimensat(AT_FDCWD, path, NULL, 0);
    }
out:
    tsri_base_bytes_clear(&file);
    free(path);
    free(folder);
    return status;
}

typedef struct aged {
    char *path;
    struct timespec time;
    uint64_t size;
} aged;

static int by_age(const void *a, const void *b) {
    const aged *x = a, *y = b;
    if (x->time.tv_sec != y->time.tv_sec)
        return x->time.tv_sec < y->time.tv_sec ? -1 : 1;
    return (x->time.tv_nsec > y->time.tv_nsec) - (x->time.tv_nsec < y->time.tv_nsec);
}

/* Removes the oldest files until the rest is within the limit. */
static void trim(const char *folder) {
    aged *files = NULL;
    size_t n = 0, capacity = 0;
    uint64_t total = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        struct stat info;
        char *path = entry->d_name[0] == '.' ? NULL : tsri_base_join(folder, entry->d_name);
        if (!path || lstat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
            tsri_base_grow(&files, &capacity, n + 1, sizeof *files) != TSR_OK) {
            free(path);
            continue;
        }
        files[n++] = (aged){path, info.st_mtim, (uint64_t)info.st_size};
        total += (uint64_t)info.st_size;
    }
    if (dir)
        closedir(dir);
    if (n)
        qsort(files, n, sizeof *files, by_age);
    for (size_t i = 0; i < n; i++) {
        if (total > cap && unlink(files[i].path) == 0)
            total -= files[i].size;
        free(files[i].path);
    }
    free(files);
}

void tsri_opencl_cache_save(const tsr_state *state, const tsri_opencl_key *key, const char *kind,
                            const void *payload, size_t n) {
    unsigned char header[HEADER];
    tsri_file_writer *writer = NULL;
    char *folder = folder_of(state);
    char *path = folder ? path_of(folder, key, kind) : NULL;
    tsr_status status = path ? TSR_OK : TSR_E_IO;
    if (!folder)
        return;
    memcpy(header, magic, MAGIC);
    memcpy(header + MAGIC, key->digest, DIGEST);
    put_length(header + MAGIC + DIGEST, n);
    if (status == TSR_OK)
        status = digest_of(payload, n, header + MAGIC + DIGEST + LENGTH);
    if (status == TSR_OK)
        status = tsri_base_make_folders(folder);
    if (status == TSR_OK)
        status = tsri_base_writer_begin(path, &writer);
    if (status == TSR_OK)
        status = tsri_base_writer_write(writer, header, sizeof header);
    if (status == TSR_OK)
        status = tsri_base_writer_write(writer, payload, n);
    if (status == TSR_OK)
        status = tsri_base_writer_commit(&writer);
    else if (writer)
        tsri_base_writer_abandon(&writer);
    if (status == TSR_OK)
        trim(folder);
    else
        tsri_opencl_log(state, TSR_LOG_WARNING,
                        "%s can't be written: kernels are built again next time", folder);
    free(path);
    free(folder);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    (void)!remove(path);
    return 0;
}

void tsri_opencl_remove_folder(const char *folder) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
