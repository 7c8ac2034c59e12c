/* transport/compare.c - compares what the ranks were asked for. */
#include "transport/compare.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/structs.h"
#include "transport/ranks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 160 }; /* bytes of a value in a message */

tsr_status tsri_ranks_list_add(tsri_bytes *list, const char *what, const char *value) {
    static const char escaped[] = "\n\t\\", letters[] = "nt\\";
    TRY(tsri_base_bytes_printf(list, "%s\t", what));
    for (const char *c = value ? value : "none"; *c;) {
        const size_t n = strcspn(c, escaped);
        TRY(tsri_base_bytes_append(list, c, n));
        c += n;
        if (*c)
            TRY(tsri_base_bytes_printf(list, "\\%c", letters[strchr(escaped, *c++) - escaped]));
    }
    return tsri_base_bytes_append(list, "\n", 1);
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

/* A line "what\tvalue\n"; `what` of n bytes is "" behind the end of a list. */
typedef struct line {
    const char *what, *value;
    size_t n, size;
} line;

static line split(const char *text) {
    const size_t n = strcspn(text, "\t\n");
    const char *value = text + n + (text[n] == '\t');
    return (line){.what = text, .n = n, .value = value, .size = strcspn(value, "\n")};
}

static bool is_inside(char c) { /* a character of UTF-8 */
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Writes a value: of a long one, the part around the byte `at`. */
static void show(const line *l, size_t at, char text[SHOWN + 8]) {
    size_t from = l->size <= SHOWN || at < SHOWN / 2 ? 0 : at - SHOWN / 2, n = l->size - from;
    while (from && from < l->size && is_inside(l->value[from]))
        from++, n--;
    if (n > SHOWN)
        for (n = SHOWN; n && is_inside(l->value[from + n]);)
            n--;
    snprintf(text, SHOWN + 8, "%s%.*s%s", from ? "..." : "", (int)n, l->value + from,
             from + n < l->size ? "..." : "");
}

/* The first line in which two lists differ. */
static tsr_status differ(const tsr_ranks *ranks, uint32_t rank, const char *first,
                         const char *other) {
    char own[SHOWN + 8], others[SHOWN + 8];
    line a = split(first), b = split(other);
    size_t at = 0;
    while (a.n && a.n == b.n && a.size == b.size &&
           !memcmp(a.what, b.what, (size_t)(a.value + a.size - a.what))) {
        first = a.value + a.size;
        other = b.value + b.size;
        a = split(first + (*first == '\n'));
        b = split(other + (*other == '\n'));
    }
    const char *host = tsri_ranks_host(ranks, 0), *others_host = tsri_ranks_host(ranks, rank);
    if (a.n != b.n || memcmp(a.what, b.what, a.n) != 0)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "rank 0 on %s compares \"%.*s\", and rank %u on %s \"%.*s\": start all "
            "ranks with the same program and command",
            host, (int)a.n, a.what, rank, others_host, (int)b.n, b.what);
    while (at < a.size && at < b.size && a.value[at] == b.value[at])
        at++;
    show(&a, at, own);
    show(&b, at, others);
    return tsri_base_fail(
        TSR_E_ARGUMENT,
        "%.*s differs: rank 0 on %s has %s, rank %u on %s has %s; start all ranks "
        "with the same",
        (int)a.n, a.what, host, own, rank, others_host, others);
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
