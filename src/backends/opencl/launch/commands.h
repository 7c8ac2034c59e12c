/* backends/opencl/launch/commands.h - the launches of a run, recorded once as a command buffer
 * (cl_khr_command_buffer) and enqueued by one call in later runs.
 *
 * A driver takes 2 to 10 us for each launch that it is given, and a decoder has some 150 of them a
 * token. From one token to the next nothing changes but the table of sizes, which lies in a buffer,
 * and now and then a grid. So the second run with the same grids is timed, and if it is short enough
 * for a display's watchdog, it is recorded; the recording serves until a grid changes. Another process may
 * have kept a run waiting, so one that took too long is followed by further timed ones, each after twice as
 * many runs as the one before. A run may start while the one before is under way: where the device allows
 * that only for different command buffers, there are two, in turn. */
#ifndef TSRI_OPENCL_LAUNCH_COMMANDS_H
#define TSRI_OPENCL_LAUNCH_COMMANDS_H

#include "backends/opencl/device/device.h"

/* Finds the extension's functions, if the device has them and they are wanted. */
void tsri_opencl_commands_open(tsr_dev *dev);

/* Prepares a plan whose launches are bound. A plan that can't be recorded is left as it is. */
tsr_status tsri_opencl_commands_begin(tsr_plan *plan);

/* How a run goes. */
typedef enum tsri_opencl_way {
    TSRI_OPENCL_BY_LAUNCHES,
    TSRI_OPENCL_TIMED, /* the same, and tsri_opencl_commands_took is told how long it took */
    TSRI_OPENCL_RECORDED
} tsri_opencl_way;

/* Chooses the way of the run of these sizes; makes a recording where one is due. */
tsr_status tsri_opencl_commands_choose(tsr_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                                       tsri_opencl_way *way);
void tsri_opencl_commands_took(tsr_plan *plan, uint64_t ns);
/* Enqueues the recording. *last (where not NULL) gets its event. *ran is false, and nothing was
 * enqueued, where both recordings are still under way and the device allows each only once. */
tsr_status tsri_opencl_commands_enqueue(tsr_plan *plan, cl_event *last, bool *ran);

/* Gives the recording up: an argument of a kernel has changed. */
void tsri_opencl_commands_forget(tsr_plan *plan);
void tsri_opencl_commands_end(tsr_plan *plan);

#endif
