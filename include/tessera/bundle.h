/* tessera/bundle.h - kernels built in advance, in a folder, for devices that can't compile
 * (FPGAs). */
#ifndef TESSERA_BUNDLE_H
#define TESSERA_BUNDLE_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes the kernels that this model can use on its device for generating, scoring and reading
 * hidden states, for prefill and decode of one or many sequences. The folder gets program.cl, one
 * source, and manifest.json, which lists its contents. Nothing is compiled.
 *
 * model   opened on one device that was opened with tsr_device_open_options.record = 1; it can't
 *         run anything
 * thread  one call at a time for a model and its device
 * error   TSR_E_STATE        the device was not opened with record, or the model has no device
 *         TSR_E_UNSUPPORTED  the device's backend has no bundles; the model is on several devices
 *         TSR_E_IO           the folder can't be written
 */
TSR_API tsr_status tsr_bundle_export(tsr_model *model, const char *folder);

/**
 * Builds the folder's program on a device that compiles, or takes `binary`, the file that the
 * vendor's offline compiler made of program.cl. Checks that each kernel is there, then adds
 * program.bin to the folder, with its SHA-256 and the device's name. Devices of the same platform,
 * name and driver can then be opened with tsr_device_open_options.bundle.
 *
 * binary  NULL: the device compiles
 * thread  that of the device
 * error   TSR_E_FORMAT, TSR_E_IO  the folder was made by another engine, was changed, or can't be
 *                                 read
 *         TSR_E_BUILD             the source does not build, or the binary lacks a kernel
 *         TSR_E_UNSUPPORTED       the device has no compiler and no binary is given; several
 *                                 devices are open; the backend has no bundles
 */
TSR_API tsr_status tsr_bundle_build(tsr_device *device, const char *folder, const char *binary);

#ifdef __cplusplus
}
#endif
#endif
