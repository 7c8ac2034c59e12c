/* cli/base/devices.h - what is known of the open device; and work on every device, one after the other. */
#ifndef TESSERA_CLI_BASE_DEVICES_H
#define TESSERA_CLI_BASE_DEVICES_H

#include "cli/base/app.h"

/* What is known of the device that is open; of several that split a model, the first one's facts with the
 * description of all as the name. Returns an exit code, and prints what went wrong. */
int tsri_cli_device_info(const tsri_cli_app *app, tsr_device_info *out);

/* The work on a device; device_name is its number during the call. Returns an exit code. */
typedef int tsri_cli_device_fn(void *data, const tsr_device_info *device);

/* Calls `run` for every device that can be opened, and closes what it opened; and `leave_out`, where it is
 * not NULL, for every other. Goes on after a device that failed (CLI_DEVICE) or missed (CLI_MISS), and ends
 * after any other code and after a signal. Returns the highest exit code. */
int tsri_cli_each_device(tsri_cli_app *app, tsri_cli_device_fn *run, tsri_cli_device_fn *leave_out,
                         void *data);

#endif
