/* backends/opencl/driver/drivers.h - whether this process may load a driver.
 *
 * Some drivers abort, crash or hang when they are loaded, when they are asked for their devices, or
 * when they build a first kernel. So each driver that is not known to be sound first does all that
 * in a process of its own (helper.h), with a kernel cache of its own that is removed afterwards. A
 * driver that dies there is not loaded; a device that dies there is not usable; the sentence says
 * why. The outcome is cached with the kernels, until a library that the driver loads or a variable
 * of the environment that steers it changes, or for an hour where it died. Without a cache folder,
 * every start tries the drivers.
 *
 * TESSERA_TRUST_DRIVERS=1 tries none. TESSERA_PROBE_SECONDS (30): a trial is ended when it has used
 * that many seconds of processor time, or has stood still for as long. */
#ifndef TSRI_OPENCL_DRIVER_DRIVERS_H
#define TSRI_OPENCL_DRIVER_DRIVERS_H

#include "backends/opencl/driver/state.h"

/* A vendor file, and what is known of the driver that it names. */
typedef struct tsri_opencl_driver {
    char *icd;     /* the file */
    char *library; /* its first line: the driver's library */
    char *text;    /* the whole file */
    char *dead;    /* why it is not loaded; NULL: it may be */
    char *devices; /* those that die: lines of platform, version, name, number and why, with tabs */
} tsri_opencl_driver;

typedef struct tsri_opencl_drivers {
    size_t n, capacity;
    tsri_opencl_driver *items;
    char *hidden; /* a folder of vendor files without the dead drivers, until `show`; NULL: none is
                     hidden */
    char *before; /* OCL_ICD_VENDORS as it was before that */
} tsri_opencl_drivers;

/* Reads one vendor file or all of a folder, and tries the drivers that are unknown. Each driver
 * that dies gets a note. Fails where memory runs out or the host asks to stop. */
tsr_status tsri_opencl_drivers_try(tsr_state *state, const char *vendors, tsri_opencl_drivers *out);
/* The OpenCL loader reads its folder once, at its first call. Until `show`, OCL_ICD_VENDORS names a
 * folder without the drivers that die. Does nothing where none dies. */
tsr_status tsri_opencl_drivers_hide(tsri_opencl_drivers *drivers);
/* *vendors gets that folder, in new memory: the caller removes it. NULL: none dies. */
void tsri_opencl_drivers_show(tsri_opencl_drivers *drivers, char **vendors);
bool tsri_opencl_driver_is_dead(const tsri_opencl_drivers *drivers, const char *icd);
/* Marks device number `which` of `all`, which are listed as the drivers list them, as not usable where
 * it died when it was tried. */
tsr_status tsri_opencl_drivers_judge(const tsri_opencl_drivers *drivers, tsri_opencl_found *all,
                                     size_t which);
void tsri_opencl_drivers_clear(tsri_opencl_drivers *drivers);
/* Forgets all outcomes: the next start tries every driver again. */
void tsri_opencl_drivers_forget(const tsr_state *state);

#endif
