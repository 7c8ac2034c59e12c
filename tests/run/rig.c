/* tests/run/rig.c - opens, refuses and closes the graphs of rig.h. */
#include "rig.h"

#include <criterion/criterion.h>
#include <string.h>

const char *const rig_devices[RIG_DEVICES] = {"reference", NULL};

rig rig_open(const char *device) {
    rig r = {0};
    cr_assert_eq(tsr_engine_create(NULL, &r.engine), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_device_open(r.engine, device, NULL, &r.device), TSR_OK, "%s",
                 tsr_error_last());
    cr_assert_eq(tsr_graph_create(r.device, &r.graph), TSR_OK, "%s", tsr_error_last());
    return r;
}

void rig_close(rig *r) {
    tsr_graph_destroy(&r->graph);
    cr_assert_null(r->graph);
    tsr_device_close(&r->device);
    tsr_engine_destroy(&r->engine);
}

void rig_refused(rig *r, tsr_status status, const char *fragment) {
    float nothing;
    cr_assert_eq(tsr_graph_status(r->graph), status, "%s", tsr_error_last());
    cr_assert(strstr(tsr_error_last(), fragment), "%s", tsr_error_last());
    cr_assert_eq(tsr_graph_input(r->graph, "late", TSR_F32, 0, NULL, &nothing), TSR_VALUE_NONE);
    tsr_graph_output(r->graph, "late", 0, &nothing, sizeof nothing);
    cr_assert_eq(tsr_graph_run(r->graph), status);
    cr_assert(strstr(tsr_error_last(), fragment), "%s", tsr_error_last());
    rig_close(r);
    *r = rig_open("reference");
}

tsr_value rig_unary(tsr_graph *g, tsr_op_id op, tsr_value x) {
    return tsr_graph_op(g, op, NULL, &x, 1);
}
