/* backends/opencl/driver/drivers.h - may this process load a driver?
 *
 * Some drivers abort, crash or hang when they are loaded, asked for their devices, or build a first
 * kernel. So each that was not seen fine before does all that in a process of its own first
 * (helper.h), with a kernel cache of its own that is removed. One that dies there is not loaded; a
 * device that dies there is not usable; the sentence says why. What was seen is cached with the
 * kernels, until a library that the driver loads changes, or for an hour where it died. Without a
 * cache folder every start tries them.
 *
 * TESSERA_TRUST_DRIVERS=1 tries none. TESSERA_PROBE_SECONDS: after so many seconds of processor
 * time, or of standing still, a trial is ended (30). */
#ifndef TSRI_OPENCL_DRIVER_DRIVERS_H
#define TSRI_OPENCL_DRIVER_DRIVERS_H

#include "backends/opencl/driver/state.h"

/* A vendor file and what is known of the driver that it names. */
typedef struct tsri_opencl_driver {
    char *icd;     /* the file */
    char *library; /* its first line */
    char *text;    /* all of it */
    char *dead;    /* why it is not loaded; NULL: it may be */
    char *devices; /* those that die: lines of "platform, its version, name, why" with tabs */
} tsri_opencl_driver;

typedef struct tsri_opencl_drivers {
    size_t n, capacity;
    tsri_opencl_driver *items;
    char *hidden; /* the folder of vendor files that hides the dead ones; NULL: nothing is hidden */
    char *before; /* OCL_ICD_VENDORS while that is so */
} tsri_opencl_drivers;

/* Reads the vendor files of a folder, or one, and tries those that are unknown. Each that dies is a
 * note. Fails where memory is out or the host asks to stop. */
tsr_status tsri_opencl_drivers_try(tsr_state *state, const char *vendors, tsri_opencl_drivers *out);
/* The OpenCL loader reads its folder once, at its first call: until `show`, OCL_ICD_VENDORS names
 * one without the drivers that die. Nothing happens where none does. */
tsr_status tsri_opencl_drivers_hide(tsri_opencl_drivers *drivers);
void tsri_opencl_drivers_show(tsri_opencl_drivers *drivers);
bool tsri_opencl_driver_is_dead(const tsri_opencl_drivers *drivers, const char *icd);
/* Marks the device not usable where it died. */
tsr_status tsri_opencl_drivers_judge(const tsri_opencl_drivers *drivers, tsri_opencl_found *found);
void tsri_opencl_drivers_clear(tsri_opencl_drivers *drivers);
/* Forgets what was seen: the next start tries every driver again. */
void tsri_opencl_drivers_forget(const tsr_state *state);

#endif
