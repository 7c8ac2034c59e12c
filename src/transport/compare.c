/* transport/compare.c - compares what the ranks were asked for. */
#include "transport/compare.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/structs.h"
#include "transport/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 160 }; /* bytes of a value in a message */

tsr_status tsri_ranks_list_add(tsri_bytes *list, const char *what, const char *value) {
    const size_t from = list->size + strlen(what) + 1;
    TRY(tsri_base_bytes_printf(list, "%s\t%s\n", what, value ? value : "none"));
    for (size_t i = from; i + 1 < list->size; i++)
        if (list->data[i] == '\n' || list->data[i] == '\t')
            list->data[i] = ' ';
    return TSR_OK;
}

tsr_status tsri_ranks_list_file(tsri_bytes *list, const char *what, const char *name,
                                const char *path) {
    char text[SHOWN], hex[65];
    uint64_t size;
    if (!name || !path || !tsri_base_is_file(path))
        return tsri_ranks_list_add(list, what, name);
    TRY(tsri_base_file_digest(path, &size, hex));
    snprintf(text, sizeof text, "%.64s with SHA-256 %.16s", name, hex);
    return tsri_ranks_list_add(list, what, text);
}

/* The value of a line "what\tvalue\n". */
static void split(const char *line, char what[64], char value[SHOWN]) {
    const size_t n = strcspn(line, "\t\n"), rest = line[n] == '\t' ? n + 1 : n;
    snprintf(what, 64, "%.*s", (int)n, line);
    snprintf(value, SHOWN, "%.*s", (int)strcspn(line + rest, "\n"), line + rest);
}

/* The first line in which two lists differ. */
static tsr_status differ(const tsr_ranks *ranks, uint32_t rank, const char *first,
                         const char *other) {
    char what[64], value[SHOWN], others[SHOWN], unused[64];
    for (;;) {
        const size_t n = strcspn(first, "\n"), m = strcspn(other, "\n");
        if (n != m || memcmp(first, other, n) != 0 || !first[n])
            break;
        first += n + 1;
        other += m + 1;
    }
    split(first, what, value);
    split(other, unused, others);
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "%s differs: rank 0 on %s has %s, rank %u on %s has %s; start all ranks "
                          "with the same",
                          what, tsri_ranks_host(ranks, 0), value, rank,
                          tsri_ranks_host(ranks, rank), others);
}

tsr_status tsr_ranks_compare(tsr_ranks *ranks, const char *list) {
    TRY(NEED(list));
    const uint32_t n = tsri_ranks_size(ranks), rank = tsri_ranks_rank(ranks);
    uint64_t *sizes = NULL;
    char **lists = NULL;
    const uint64_t size = strlen(list) + 1; /* with the 0 byte */
    tsr_status status = tsri_base_new(n, sizeof *sizes, &sizes);
    if (status == TSR_OK)
        status = tsri_base_new(n, sizeof *lists, &lists);
    if (status == TSR_OK)
        status = tsri_ranks_gather_equal(ranks, &size, sizes, sizeof size);
    for (uint32_t r = 0; r < n && status == TSR_OK; r++)
        status = tsri_base_new(sizes[r], 1, &lists[r]);
    if (status == TSR_OK) {
        memcpy(lists[rank], list, size);
        const tsr_parts parts = {
            .struct_size = sizeof parts, .data = (void *const *)lists, .bytes = sizes};
        status = tsri_ranks_all_gather(ranks, &parts);
    }
    for (uint32_t r = 1; r < n && status == TSR_OK; r++)
        if (strcmp(lists[0], lists[r]) != 0)
            status = differ(ranks, r, lists[0], lists[r]);
    for (uint32_t r = 0; lists && r < n; r++)
        free(lists[r]);
    free(lists);
    free(sizes);
    return status;
}
