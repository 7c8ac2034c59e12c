/* backends/opencl/tuning/tuning_file.c - reads and writes the user's file of tuned values, and
 * writes tables. */
#include "backends/opencl/tuning/tuning_file.h"
#include "backends/opencl/driver/host.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_LIMIT = 4 << 20, HEX = 64 };

static const char seal[] = "# sha256 ", note[] = "#> ";

static tsr_status write_head(const tsr_dev *dev, tsri_bytes *out) {
    const tsr_facts *facts = &dev->facts.common;
    return tsri_base_bytes_printf(out,
                                  "# tessera tuned 1\n# engine %s\n# platform %s\n# device %s\n"
                                  "# driver %s\n",
                                  dev->state->host->version, facts->platform, facts->name,
                                  facts->driver);
}

/* New memory; NULL where there is no cache folder, or no memory. */
static char *path_of(const tsr_dev *dev, const tsri_bytes *head) {
    char hex[HEX + 1], name[64];
    const char *cache = dev->state->host->cache_folder;
    if (!cache || tsri_base_hash_bytes(head->data, head->size, hex) != TSR_OK)
        return NULL;
    snprintf(name, sizeof name, "tuned/opencl-%.16s.tsv", hex);
    return tsri_base_join(cache, name);
}

/* NULL where the file is sound, else what is wrong with it. */
static const char *damage(const tsri_bytes *file, const tsri_bytes *head) {
    const size_t end = strlen(seal) + HEX + 1;
    char hex[HEX + 1];
    if (file->size < end || strlen(file->data) != file->size)
        return "it is cut off";
    const char *last = file->data + file->size - end;
    if (strncmp(last, seal, strlen(seal)) != 0)
        return "its last line is not a checksum";
    if (tsri_base_hash_bytes(file->data, file->size - end, hex) != TSR_OK ||
        strncmp(last + strlen(seal), hex, HEX) != 0)
        return "it was changed or damaged";
    if (file->size < head->size || memcmp(file->data, head->data, head->size) != 0)
        return "it belongs to another device, driver or engine";
    return NULL;
}

tsr_status tsri_opencl_tuning_read_here(tsr_dev *dev, char **path, tsri_bytes *text) {
    tsri_bytes head = {0};
    TRY(write_head(dev, &head));
    const char *wrong = NULL;
    *path = path_of(dev, &head);
    if (*path && access(*path, F_OK) == 0) {
        if (tsri_base_read_whole(*path, FILE_LIMIT, text) != TSR_OK)
            wrong = "it can't be read";
        else
            wrong = damage(text, &head);
    }
    if (wrong) {
        if (!atomic_exchange(&dev->state->tuning_warned, true))
            tsri_opencl_log(dev->state, TSR_LOG_WARNING,
                            "%s is not used: %s; run tessera tune again, or remove it", *path,
                            wrong);
        tsri_base_bytes_clear(text);
    }
    tsri_base_bytes_clear(&head);
    return TSR_OK;
}

/* Whether the first five fields, which say what a line is about, are the same. */
static bool same_subject(const char *text, size_t n, const tsri_opencl_tuned_line *line) {
    const char *const fields[] = {line->platform, line->device, line->type, line->variant,
                                  line->condition};
    const char *end = text + n;
    for (int i = 0; i < 5; i++) {
        const size_t length = strlen(fields[i]);
        if ((size_t)(end - text) <= length || memcmp(text, fields[i], length) != 0 ||
            text[length] != '\t')
            return false;
        text += length + 1;
    }
    return true;
}

static bool replaced(const char *text, size_t n, const tsri_opencl_tuned_line *lines,
                     size_t n_lines) {
    for (size_t i = 0; i < n_lines; i++)
        if (same_subject(text, n, &lines[i]))
            return true;
    return false;
}

/* Keeps the lines of the old text that are not replaced; a note goes with the line below it. */
static tsr_status keep_old(const char *old, const tsri_opencl_tuned_line *lines, size_t n_lines,
                           bool comments, tsri_bytes *out) {
    for (const char *at = old; at && *at;) {
        const size_t n = strcspn(at, "\n") + 1;
        const bool noted = !strncmp(at, note, strlen(note));
        const char *subject = noted ? at + n : at;
        const bool drop = (*at == '#' && !noted && !comments) ||
                          replaced(subject, strcspn(subject, "\n"), lines, n_lines);
        if (!drop)
            TRY(tsri_base_bytes_append(out, at, n));
        at += n;
    }
    return TSR_OK;
}

static tsr_status add_new(const tsri_opencl_tuned_line *lines, size_t n, tsri_bytes *out) {
    for (size_t i = 0; i < n; i++) {
        const tsri_opencl_tuned_line *l = &lines[i];
        if (l->note && *l->note)
            TRY(tsri_base_bytes_printf(out, "%s%s\n", note, l->note));
        TRY(tsri_base_bytes_printf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", l->platform, l->device, l->type,
                                   l->variant, l->condition, l->values));
    }
    return TSR_OK;
}

/* Writes a table that ships: its comments stay, and it has no seal. */
static tsr_status store_table(const char *path, const tsri_opencl_tuned_line *lines, size_t n) {
    tsri_bytes old = {0}, out = {0};
    tsr_status status = TSR_OK;
    if (access(path, F_OK) == 0)
        status = tsri_base_read_whole(path, FILE_LIMIT, &old);
    else
        status = tsri_base_bytes_printf(&old, "# platform\tdevice\ttype\trow\tcondition\tvalues\n");
    if (status == TSR_OK && old.size && old.data[old.size - 1] != '\n')
        status = tsri_base_bytes_append(&old, "\n", 1);
    if (status == TSR_OK)
        status = keep_old(old.data, lines, n, true, &out);
    if (status == TSR_OK)
        status = add_new(lines, n, &out);
    if (status == TSR_OK)
        status = tsri_base_write_whole(path, out.data, out.size);
    tsri_base_bytes_clear(&old);
    tsri_base_bytes_clear(&out);
    return status;
}

static tsr_status make_folder_of(const char *path) {
    char *folder = tsri_base_copy_text(path, strlen(path));
    char *slash = folder ? strrchr(folder, '/') : NULL;
    tsr_status status = folder ? TSR_OK : TSR_E_HOST_MEMORY;
    if (slash) {
        *slash = 0;
        status = tsri_base_make_folders(folder);
    }
    free(folder);
    return status;
}

static tsr_status store_here(tsr_dev *dev, const tsri_opencl_tuned_line *lines, size_t n) {
    tsri_bytes old = {0}, out = {0};
    char hex[HEX + 1], *path = NULL;
    tsr_status status = tsri_opencl_tuning_read_here(dev, &path, &old);
    if (status == TSR_OK && !path)
        status = tsri_base_fail(TSR_E_IO, "there is no cache folder to keep tuned values in: set "
                                          "TESSERA_CACHE, or XDG_CACHE_HOME, or HOME");
    if (status == TSR_OK)
        status = make_folder_of(path);
    if (status == TSR_OK)
        status = write_head(dev, &out);
    if (status == TSR_OK)
        status = keep_old(old.data, lines, n, false, &out);
    if (status == TSR_OK)
        status = add_new(lines, n, &out);
    if (status == TSR_OK)
        status = tsri_base_hash_bytes(out.data, out.size, hex);
    if (status == TSR_OK)
        status = tsri_base_bytes_printf(&out, "%s%s\n", seal, hex);
    if (status == TSR_OK)
        status = tsri_base_write_whole(path, out.data, out.size);
    tsri_base_bytes_clear(&old);
    tsri_base_bytes_clear(&out);
    free(path);
    return status;
}

tsr_status tsri_opencl_tuning_store(tsr_dev *dev, const char *path,
                                    const tsri_opencl_tuned_line *lines, size_t n) {
    return path ? store_table(path, lines, n) : store_here(dev, lines, n);
}
