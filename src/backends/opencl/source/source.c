/* backends/opencl/source/source.c - reads kernel files and resolves their includes. */
#include "backends/opencl/source/source.h"
#include "backends/opencl/source/sources.h"
#include "base/error.h"
#include "base/files.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 4 << 20, DEPTH_LIMIT = 8 };

static const char common[] = "common/", tables[] = "tuned/", include[] = "#include \"";

static bool begins(const char *text, const char *with) {
    return !strncmp(text, with, strlen(with));
}

/* Appends the text of a file, with a line end behind it. */
static tsr_status append_text(const char *folder, const char *path, tsri_bytes *out) {
    if (folder) {
        tsri_bytes text = {0};
        char *full = tsri_base_join(folder, path);
        tsr_status status =
            full ? tsri_base_read_whole(full, FILE_LIMIT, &text) : TSR_E_HOST_MEMORY;
        if (status == TSR_OK && text.size)
            status = tsri_base_bytes_append(out, text.data, text.size);
        if (status == TSR_OK)
            status = tsri_base_bytes_append(out, "\n", 1);
        tsri_base_bytes_clear(&text);
        free(full);
        return status;
    }
    for (const tsri_opencl_source *source = tsri_opencl_sources; source->path; source++)
        if (!strcmp(source->path, path)) {
            TRY(tsri_base_bytes_append(out, source->text, source->size));
            return tsri_base_bytes_append(out, "\n", 1);
        }
    return tsri_base_fail(TSR_E_IO, "there is no kernel file cl/%s", path);
}

static tsr_status paste(const char *folder, const char *path, int depth, tsri_bytes *out) {
    tsri_bytes text = {0};
    if (depth > DEPTH_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT, "cl/%s: its includes are nested more than %d deep",
                              path, DEPTH_LIMIT);
    tsr_status status = append_text(folder, path, &text);
    if (status == TSR_OK)
        status = tsri_base_bytes_printf(out, "#line 1 \"%s\"\n", path);
    int number = 0;
    for (const char *line = text.data, *end; status == TSR_OK && line && *line; line = end) {
        char name[256];
        end = strchr(line, '\n');
        end = end ? end + 1 : line + strlen(line);
        number++;
        if (!begins(line, include))
            status = tsri_base_bytes_append(out, line, (size_t)(end - line));
        else if (sscanf(line, "#include \"%255[^\"]\"", name) != 1)
            status = tsri_base_fail(
                TSR_E_FORMAT, "cl/%s:%d: an #include needs a file name in quotes", path, number);
        else if (begins(name, common))
            status = tsri_base_bytes_append(out, "\n", 1);
        else {
            status = paste(folder, name, depth + 1, out);
            if (status == TSR_OK)
                status = tsri_base_bytes_printf(out, "#line %d \"%s\"\n", number + 1, path);
        }
    }
    tsri_base_bytes_clear(&text);
    return status;
}

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

tsr_status tsri_opencl_source_common(const char *folder, tsri_bytes *out) {
    tsr_status status = TSR_OK;
    if (!folder) {
        for (const tsri_opencl_source *source = tsri_opencl_sources;
             source->path && status == TSR_OK; source++)
            if (begins(source->path, common))
                status = paste(NULL, source->path, 0, out);
        return status;
    }
    struct dirent **entries = NULL;
    char *inside = tsri_base_join(folder, "common");
    if (!inside)
        return TSR_E_HOST_MEMORY;
    const int n = scandir(inside, &entries, visible, alphasort);
    if (n < 0)
        status = tsri_base_fail(TSR_E_IO,
                                "TESSERA_KERNEL_PATH: %s is not a folder that can be read", inside);
    for (int i = 0; i < n; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s%s", common, entries[i]->d_name);
        if (status == TSR_OK)
            status = paste(folder, path, 0, out);
        free(entries[i]);
    }
    free(entries);
    free(inside);
    return status;
}

tsr_status tsri_opencl_source_file(const char *folder, const char *path, tsri_bytes *out) {
    return paste(folder, path, 0, out);
}

static int is_table(const struct dirent *entry) {
    const char *ending = strrchr(entry->d_name, '.');
    return visible(entry) && ending && !strcmp(ending, ".tsv");
}

tsr_status tsri_opencl_source_tables(const char *folder,
                                     tsr_status (*visit)(void *data, const char *path,
                                                         const char *text),
                                     void *data) {
    tsr_status status = TSR_OK;
    if (!folder) {
        for (const tsri_opencl_source *source = tsri_opencl_sources;
             source->path && status == TSR_OK; source++)
            if (begins(source->path, tables))
                status = visit(data, source->path, source->text);
        return status;
    }
    struct dirent **entries = NULL;
    char *inside = tsri_base_join(folder, "tuned");
    if (!inside)
        return TSR_E_HOST_MEMORY;
    const int n = scandir(inside, &entries, is_table, alphasort);
    for (int i = 0; i < n; i++) {
        tsri_bytes text = {0};
        char path[300];
        snprintf(path, sizeof path, "%s%s", tables, entries[i]->d_name);
        if (status == TSR_OK)
            status = append_text(folder, path, &text);
        if (status == TSR_OK)
            status = visit(data, path, text.data);
        tsri_base_bytes_clear(&text);
        free(entries[i]);
    }
    free(entries);
    free(inside);
    return status;
}
