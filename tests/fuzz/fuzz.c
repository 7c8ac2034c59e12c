/* The list of harnesses, the parts of an input, and the folder that a harness may write to. */
#include "fuzz.h"

#include "base/error.h"
#include "base/files.h"

#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PARTS = 8 };

/* A bug on purpose: "a" of a header's entries must be a list, or the harness fails. */
static void planted(const fuzz_part *parts, size_t n) {
    json_t *root = n > 1 ? json_loadb(parts[0].data, parts[0].size, 0, NULL) : NULL;
    const json_t *shape = json_object_get(json_object_get(root, "a"), "shape");
    fuzz_must(!shape || json_is_array(shape), "the planted bug is not there");
    json_decref(root);
}

static const fuzz_target fuzz_planted = {"planted", NULL, planted, 2}; /* not listed */

static const fuzz_target *const tables[] = {
    fuzz_io_targets,     fuzz_text_targets,    fuzz_model_targets,
    fuzz_train_targets,  fuzz_results_targets,
#ifdef FUZZ_OPENCL
    fuzz_opencl_targets,
#endif
#ifdef FUZZ_SERVE
    fuzz_serve_targets,
#endif
};

static char folder[64];

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk) {
    (void)facts, (void)kind, (void)walk;
    return remove(path);
}

static void remove_folder(void) {
    if (chdir("/") == 0)
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const fuzz_target *fuzz_begin(const char *name) {
    const fuzz_target *found = name && !strcmp(name, fuzz_planted.name) ? &fuzz_planted : NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const fuzz_target *target = tables[i]; target->name; target++) {
            if (!name)
                puts(target->name);
            else if (!strcmp(target->name, name))
                found = target;
        }
    if (!found)
        return NULL;
    snprintf(folder, sizeof folder, "%s/tessera-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    fuzz_must(mkdtemp(folder) && chdir(folder) == 0, "a folder to work in");
    atexit(remove_folder);
    setenv("TESSERA_CACHE", folder, 1);
    if (found->begin)
        found->begin();
    return found;
}

void fuzz_run(const fuzz_target *target, const uint8_t *data, size_t n) {
    static const char between[] = "\n====\n";
    enum { BETWEEN = sizeof between - 1 };
    fuzz_part parts[MOST_PARTS] = {{(const char *)data, n}};
    size_t count = 1;
    while (count < target->parts) {
        fuzz_part *last = &parts[count - 1];
        const char *cut = memmem(last->data, last->size, between, BETWEEN);
        if (!cut)
            break;
        parts[count++] =
            (fuzz_part){cut + BETWEEN, last->size - (size_t)(cut - last->data) - BETWEEN};
        last->size = (size_t)(cut - last->data);
    }
    tsri_base_report(TSR_OK, "");
    target->run(parts, count);
}

void fuzz_must(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "fuzz: this check failed: %s\nfuzz: the last message: %s\n", what,
            tsri_base_reported());
    abort();
}

bool fuzz_is_ok(tsr_status status) {
    if (status == TSR_OK)
        return true;
    const unsigned char *sentence = (const unsigned char *)tsri_base_reported();
    fuzz_must(*sentence, "a failure has a message");
    fuzz_must(status != TSR_E_INTERNAL, "no input is an internal failure");
    fuzz_must(status != TSR_E_HOST_MEMORY, "no small input takes all memory");
    for (; *sentence; sentence++) {
        fuzz_must(*sentence >= ' ' || *sentence == '\n' || *sentence == '\t' ||
                      (*sentence == '\r' && sentence[1] == '\n'),
                  "a message has no control characters");
        fuzz_must(sentence[0] != 0xC2 || sentence[1] < 0x80 || sentence[1] > 0x9F,
                  "a message has no C1 control characters");
    }
    tsri_base_report(TSR_OK, ""); /* the next failure has its own message */
    return false;
}

void fuzz_write(const char *path, const void *data, size_t n) {
    FILE *file = fopen(path, "wb");
    fuzz_must(file && fwrite(data, 1, n, file) == n, path);
    fuzz_must(fclose(file) == 0, path);
}

void fuzz_write_part(const char *path, const fuzz_part *parts, size_t n, size_t index) {
    if (index < n)
        fuzz_write(path, parts[index].data, parts[index].size);
    else
        unlink(path);
}

void fuzz_copy_golden(const char *golden, const char *path) {
    tsri_bytes bytes = {0};
    char from[1024];
    snprintf(from, sizeof from, "%s/tests/golden/%s", TESSERA_SOURCE_DIR, golden);
    fuzz_must(tsri_base_read_whole(from, 1u << 26, &bytes) == TSR_OK, from);
    fuzz_write(path, bytes.data, bytes.size);
    tsri_base_bytes_clear(&bytes);
}

/* The bytes of data that the header's entries need. */
static size_t wanted_data(const fuzz_part *header) {
    enum { MOST = 1 << 16 };
    json_int_t most = 0;
    json_t *root = json_loadb(header->data, header->size, 0, NULL), *entry;
    const char *name;
    json_object_foreach(root, name, entry) {
        const json_int_t end =
            json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 1));
        most = end > most ? end : most;
    }
    json_decref(root);
    return most > MOST ? MOST : (size_t)most;
}

void fuzz_write_safetensors(const char *path, const fuzz_part *parts, size_t n) {
    if (n < 2) {
        fuzz_write(path, n ? parts[0].data : "", n ? parts[0].size : 0);
        return;
    }
    static const char zeros[1 << 16];
    tsri_bytes file = {0};
    const uint64_t length = parts[0].size;
    const size_t wanted = wanted_data(parts),
                 given = parts[1].size < wanted ? parts[1].size : wanted;
    fuzz_must(tsri_base_bytes_append(&file, &length, sizeof length) == TSR_OK &&
                  tsri_base_bytes_append(&file, parts[0].data, parts[0].size) == TSR_OK &&
                  tsri_base_bytes_append(&file, parts[1].data, given) == TSR_OK &&
                  tsri_base_bytes_append(&file, zeros, wanted - given) == TSR_OK,
              "memory for a file");
    fuzz_write(path, file.data, file.size);
    tsri_base_bytes_clear(&file);
}
