/* verify/variants.c - the kernel variants of an op on a device, and which of them fit a case. */
#include "verify/verify.h"

#include "backend/opened.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "graph/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel variant is identified by its name up to the constants, which may differ between
 * cases. */
static void see(void *data, const tsr_variant *offered) {
    tsri_verify_variants *seen = data;
    const size_t n = strcspn(offered->name, ":");
    size_t i = 0;
    while (i < seen->n &&
           (strlen(seen->list[i].name) != n || strncmp(seen->list[i].name, offered->name, n) != 0))
        i++;
    if (i == TSRI_VERIFY_MAX_VARIANTS) {
        seen->full = true;
        return;
    }
    tsri_verify_variant *variant = &seen->list[i];
    if (i == seen->n) {
        seen->n++;
        *variant = (tsri_verify_variant){0};
        snprintf(variant->name, sizeof variant->name, "%.*s", (int)n, offered->name);
    }
    variant->here = true;
    variant->fits = offered->fits;
    variant->fitted |= offered->fits;
    variant->varies = offered->batch_variant;
    if (offered->fits && seen->best < 0)
        seen->best = (int)i;
    if (!offered->fits && !variant->tried)
        snprintf(variant->why, sizeof variant->why, "%s", offered->why);
}

tsr_status tsri_verify_ask(const tsri_backend_device *device, const tsri_case *c,
                           tsri_verify_variants *seen, bool *any) {
    tsri_graph *graph = NULL;
    tsri_graph_op_store store;
    tsr_bounds bounds;
    TRY(tsri_case_graph(c, &c->attrs, &graph));
    tsri_case_bounds(c, &bounds);
    tsr_op op = *tsri_graph_as_op(graph, tsri_graph_node_at(graph, 0), &store);
    op.bounds = &bounds;
    seen->cost = tsri_graph_op_find(c->op)->cost(&op, c->sizes);
    seen->compute = tsri_run_compute_of(tsri_graph_node_at(graph, 0));
    for (size_t i = 0; i < seen->n; i++)
        seen->list[i].fits = seen->list[i].here = false;
    seen->best = -1;
    const tsr_status status = device->backend->op_variants(device->dev, &op, see, seen);
    tsri_graph_destroy(&graph);
    if (status == TSR_OK && seen->full)
        return tsri_base_fail(TSR_E_INTERNAL, "the op has more than %d kernel variants",
                              TSRI_VERIFY_MAX_VARIANTS);
    *any = false;
    for (size_t i = 0; i < seen->n; i++)
        *any |= seen->list[i].here;
    return status;
}

const char *tsri_verify_own_name(const char *op, const char *variant) {
    const size_t n = strlen(op);
    return strncmp(variant, op, n) == 0 && variant[n] == '/' ? variant + n + 1 : variant;
}

void tsri_verify_force(const char *op, const char *variant, const char *tunables,
                       char text[TSRI_VERIFY_FORCED]) {
    snprintf(text, TSRI_VERIFY_FORCED, "%s=%s%.*s", op, tsri_verify_own_name(op, variant),
             (int)strcspn(tunables, ","), tunables);
}

/* Each case is asked: a device may offer a variant for some of them only. */
tsr_status tsr_verify_variants(tsr_device *device, const char *op,
                               void (*visit)(void *data, const char *variant, uint32_t fits),
                               void *data) {
    TRY(NEED(device));
    TRY(NEED(op));
    TRY(NEED(visit));
    const tsri_graph_op_row *row = tsri_graph_op_named(op);
    if (!row)
        return tsri_base_fail(TSR_E_ARGUMENT, "no op is called \"%s\"", op);
    tsri_verify_variants *seen = NULL;
    tsri_case_list list = {0};
    bool any = false;
    TRY(tsri_base_new(1, sizeof *seen, &seen));
    tsr_status status = tsri_cases_of(row->id, &list);
    for (size_t i = 0; i < list.n && status == TSR_OK; i++)
        status =
            tsri_verify_ask(tsri_backend_opened(device)->devices[0], &list.cases[i], seen, &any);
    for (size_t i = 0; i < seen->n && status == TSR_OK; i++)
        visit(data, tsri_verify_own_name(op, seen->list[i].name), seen->list[i].fitted);
    free(list.cases);
    free(seen);
    return status;
}
