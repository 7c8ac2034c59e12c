/* What a host hears while kernels are built, and a host that asks to stop. */
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct heard {
    uint64_t most; /* most kernels that were announced */
    int open;      /* number of jobs that began and have not ended */
    bool backwards, stop;
} heard;

static heard ear;

static int hear(void *data, const tsr_progress *progress) {
    (void)data;
    if (!progress)
        return ear.stop;
    ear.backwards |= progress->done > progress->total;
    ear.open = progress->done < progress->total;
    if (!strcmp(progress->doing, "building kernels") && progress->total > ear.most)
        ear.most = progress->total;
    return ear.stop;
}

static void begin(rig *r) {
    rig_begin(r, NULL, NULL);
    ear = (heard){0};
    r->host.progress = hear;
    rig_open(r, "Portable Computing Language", false);
}

Test(opencl_progress, builds_are_told_and_end) {
    rig r;
    rig_linear linear;
    begin(&r);
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    cr_expect_gt(ear.most, 0);
    cr_assert_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK, "%s", r.sentence);
    cr_expect_eq(ear.open, 0);
    cr_expect(!ear.backwards);
    rig_linear_free(&r, &linear);
    rig_end(&r);
}

Test(opencl_progress, a_host_that_stops_gets_no_plan_and_may_go_on) {
    rig r;
    rig_linear linear = {0};
    begin(&r);
    ear.stop = true;
    cr_expect_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_E_CANCELLED, "%s", r.sentence);
    cr_expect(strstr(r.sentence, "stopped while building kernels"), "%s", r.sentence);
    rig_linear_free(&r, &linear);
    ear.stop = false;
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    cr_expect_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK, "%s", r.sentence);
    rig_linear_free(&r, &linear);
    rig_end(&r);
}
