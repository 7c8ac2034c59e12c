/* Builds files for the tests of formats, byte by byte. */
#include "io/forge.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "io-XXXXXX";

void forge_folder(void) {
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

void forge_clean(void) {
    char command[64];
    cr_assert_eq(chdir(".."), 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

void forge_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(fwrite(data, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

tsri_io_archive *forge_open(const char *path, const tsri_bytes *file) {
    tsri_io_archive *a = NULL;
    forge_file(path, file->data, file->size);
    cr_assert_eq(tsri_io_open(path, &a), TSR_OK, "%s", tsri_base_reported());
    return a;
}

void forge_put(tsri_bytes *file, const void *data, size_t n) {
    cr_assert_eq(tsri_base_bytes_append(file, data, n), TSR_OK);
}

void forge_u32(tsri_bytes *file, uint32_t value) {
    forge_put(file, &value, sizeof value);
}

void forge_u64(tsri_bytes *file, uint64_t value) {
    forge_put(file, &value, sizeof value);
}

void forge_zeros(tsri_bytes *file, size_t n) {
    while (n-- > 0)
        forge_put(file, "", 1);
}

static void counting(tsri_bytes *file, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)i;
        forge_put(file, &byte, 1);
    }
}

void forge_safetensors(tsri_bytes *file, const char *header, size_t data) {
    forge_u64(file, strlen(header));
    forge_put(file, header, strlen(header));
    counting(file, data);
}

void forge_gguf(tsri_bytes *file, uint32_t version, uint64_t tensors, uint64_t keys) {
    forge_put(file, "GGUF", 4);
    forge_u32(file, version);
    forge_u64(file, tensors);
    forge_u64(file, keys);
}

void forge_text(tsri_bytes *file, const char *text) {
    forge_u64(file, strlen(text));
    forge_put(file, text, strlen(text));
}

void forge_key(tsri_bytes *file, const char *key, uint32_t type) {
    forge_text(file, key);
    forge_u32(file, type);
}

void forge_kv_u32(tsri_bytes *file, const char *key, uint32_t value) {
    forge_key(file, key, 4);
    forge_u32(file, value);
}

void forge_kv_u16(tsri_bytes *file, const char *key, uint16_t value) {
    forge_key(file, key, 2);
    forge_put(file, &value, sizeof value);
}

void forge_kv_text(tsri_bytes *file, const char *key, const char *text) {
    forge_key(file, key, 8);
    forge_text(file, text);
}

void forge_tensor(tsri_bytes *file, const char *name, uint32_t type, uint64_t offset, uint32_t rank,
                  const uint64_t *dims) {
    forge_text(file, name);
    forge_u32(file, rank);
    forge_put(file, dims, rank * sizeof *dims);
    forge_u32(file, type);
    forge_u64(file, offset);
}

void forge_data(tsri_bytes *file, size_t alignment, size_t n) {
    forge_zeros(file, (alignment - file->size % alignment) % alignment);
    counting(file, n);
}

void forge_refused(const char *path, tsr_status status, const char *fragment, const char *row) {
    tsri_io_archive *archive = NULL;
    const tsr_status got = tsri_io_open(path, &archive);
    cr_expect_eq(got, status, "bad-input %s: status %d, not %d (%s)", row, (int)got, (int)status,
                 got ? tsri_base_reported() : "it opened");
    cr_expect_null(archive);
    if (got)
        cr_expect_not_null(strstr(tsri_base_reported(), fragment),
                           "bad-input %s: \"%s\" is not in \"%s\"", row, fragment,
                           tsri_base_reported());
    tsri_io_close(&archive);
}

void forge_cut(const char *path, const tsri_bytes *file) {
    forge_file(path, file->data, file->size);
    for (size_t n = file->size; n-- > 0;) {
        tsri_io_archive *archive = NULL;
        cr_assert_eq(truncate(path, (off_t)n), 0);
        cr_expect_neq(tsri_io_open(path, &archive), TSR_OK,
                      "%s, cut off after %zu of %zu bytes, opened", path, n, file->size);
        cr_expect_gt(strlen(tsri_base_reported()), 0);
        tsri_io_close(&archive);
    }
}

static void read_all(const tsri_io_archive *archive) {
    for (size_t i = 0; i < archive->n_arrays; i++) {
        const tsri_io_array *array = &archive->arrays[i];
        cr_assert_leq(array->offset + array->bytes, archive->files[array->file]->size);
        char *stored = malloc((size_t)array->bytes + 1);
        float *values = malloc((size_t)array->elements * sizeof *values + 1);
        cr_assert(stored && values);
        const tsr_status status = tsri_io_read(archive, array, 0, (size_t)array->bytes, stored);
        cr_expect(status == TSR_OK || status == TSR_E_UNSUPPORTED, "%s", tsri_base_reported());
        if (status == TSR_OK)
            tsri_io_read_as(archive, array, TSR_F32, 0, (size_t)array->elements, values);
        free(stored);
        free(values);
    }
}

void forge_change(const char *path, const tsri_bytes *file, size_t n) {
    static const unsigned char masks[] = {0x01, 0x80, 0xff, 0};
    forge_file(path, file->data, file->size);
    const int fd = open(path, O_WRONLY);
    cr_assert_geq(fd, 0);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof masks; k++) { /* the last one puts the byte back */
            tsri_io_archive *archive = NULL;
            const unsigned char byte = (unsigned char)file->data[i] ^ masks[k];
            cr_assert_eq(pwrite(fd, &byte, 1, (off_t)i), 1);
            if (tsri_io_open(path, &archive) == TSR_OK)
                read_all(archive);
            tsri_io_close(&archive);
        }
    close(fd);
}
