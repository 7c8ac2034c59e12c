/* tessera/bundle.h - kernels built ahead, in a folder, for devices that can't compile (FPGAs). */
#ifndef TESSERA_BUNDLE_H
#define TESSERA_BUNDLE_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes the kernels that generating, scoring and reading hidden states with this model can use on
 * its device, for prefill and decode of one or many sequences: program.cl, one source, and
 * manifest.json, what is in it. Nothing is compiled.
 *
 * owner  the model was opened on one device, itself opened with tsr_device_open_options.record = 1;
 *        it can't run anything else
 * error  TSR_E_STATE        the device wasn't opened so, or the model has none
 *        TSR_E_UNSUPPORTED  its backend has no bundles
 *        TSR_E_IO           the folder can't be written
 */
TSR_API tsr_status tsr_bundle_export(tsr_model *model, const char *folder);

/**
 * Builds the folder's program on a device that compiles, or takes `binary`, the file that the
 * vendor's offline compiler made of program.cl; checks that each kernel is there; adds program.bin
 * and its SHA-256 and device to the folder. Devices of the same platform, name and driver can then
 * be opened with tsr_device_open_options.bundle.
 *
 * error  TSR_E_FORMAT, TSR_E_IO  the folder is of another engine, was changed, or can't be read
 *        TSR_E_BUILD             it doesn't build, or the binary lacks a kernel
 *        TSR_E_UNSUPPORTED       the device has no compiler and no binary is given; or several
 *                                devices; or a backend without bundles
 */
TSR_API tsr_status tsr_bundle_build(tsr_device *device, const char *folder, const char *binary);

#ifdef __cplusplus
}
#endif
#endif
