/* backends/opencl/driver/tiles.h - asks the system for the tile registers of AMX, which a process may
 * not use without. For the backend and for the helper, each in its own process. */
#ifndef TSRI_OPENCL_DRIVER_TILES_H
#define TSRI_OPENCL_DRIVER_TILES_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

/* True where all threads of this process, those that run kernels among them, may use tiles from now
 * on: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) of Linux 5.16. Asking again is harmless. */
static inline bool tsri_opencl_allow_tiles(void) {
    return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}
#else
static inline bool tsri_opencl_allow_tiles(void) {
    return false;
}
#endif

#endif
