/* tests/run/rig.h - a public graph (tessera/graph.h) on a device that is opened for it. */
#ifndef TESTS_RUN_RIG_H
#define TESTS_RUN_RIG_H

#include "tessera/graph.h"

enum { RIG_DEVICES = 2 };

typedef struct rig {
    tsr_engine *engine;
    tsr_device *device;
    tsr_graph *graph;
} rig;

/* The reference, and the default device */
extern const char *const rig_devices[RIG_DEVICES];

rig rig_open(const char *device);
void rig_close(rig *r);

/* The graph failed with this, and keeps failing so. Then r is a new one. */
void rig_refused(rig *r, tsr_status status, const char *fragment);
tsr_value rig_unary(tsr_graph *g, tsr_op_id op, tsr_value x);

#endif
