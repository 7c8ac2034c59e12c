/* backends/opencl/driver/discover.c - finds every device of every platform, and notes a sentence
 * for each driver that gives none. */
#include "backends/opencl/driver/discover.h"
#include "backends/opencl/driver/drivers.h"
#include "backends/opencl/driver/marker.h"
#include "backends/opencl/driver/nodes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/system/system.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NO_PLATFORM = -1001, ICD_LIMIT = 4096, WHY = 512 };

static const char default_vendors[] = "/etc/OpenCL/vendors";

/* pocl hides its devices where it can't write its cache; this tries writing as pocl does. NULL
 * where it can; else the folder, in new memory. */
static char *unwritable_pocl_cache(void) {
    char *folder = tsri_opencl_pocl_cache();
    if (!folder)
        return NULL;
    char *probe = tsri_base_join(folder, "tessera-probe-XXXXXX");
    bool writable = false;
    if (probe && tsri_base_make_folders(folder) == TSR_OK) {
        const int fd = mkstemp(probe);
        if (fd >= 0) {
            writable = true;
            close(fd);
            unlink(probe);
        }
    }
    free(probe);
    if (writable) {
        free(folder);
        return NULL;
    }
    return folder;
}

/* Where that folder can be made but not written, pocl lists its devices and every build fails;
 * *skip tells the caller to skip its devices. */
static tsr_status check_pocl_cache(tsr_state *state, const char *name, bool *skip) {
    char *folder = unwritable_pocl_cache();
    const char *given = getenv("POCL_CACHE_DIR"); /* the command's own choice is writable */
    *skip = folder != NULL;
    const tsr_status status =
        folder ? tsri_opencl_note(state,
                                  "%s: it gives no device, because its cache folder %s "
                                  "can't be written: set %s to a folder that can be written",
                                  name, folder,
                                  given ? "POCL_CACHE_DIR" : "TESSERA_CACHE (or POCL_CACHE_DIR)")
               : TSR_OK;
    free(folder);
    return status;
}

/* Whether one of the drivers that RUSTICL_ENABLE names is of a GPU. With the numbers of their
 * devices: "llvmpipe,radeonsi:0,2". */
static bool names_gpu(const char *drivers) {
    static const char *const of_cpus[] = {"llvmpipe", "softpipe", "swrast"};
    for (const char *at = drivers; *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t length = strcspn(at, ":,");
        bool cpu = !length || (*at >= '0' && *at <= '9');
        for (size_t i = 0; i < sizeof of_cpus / sizeof *of_cpus; i++)
            cpu |= strlen(of_cpus[i]) == length && !strncmp(at, of_cpus[i], length);
        if (!cpu)
            return true;
    }
    return false;
}

static tsr_status note_empty_platform(tsr_state *state, const char *name) {
    char why[WHY];
    const uint32_t effects = tsri_opencl_effects_of(name, NULL, NULL, NULL);
    const char *chosen = getenv("POCL_DEVICES"), *mesa = getenv("RUSTICL_ENABLE");
    if ((effects & TSRI_OPENCL_READS_POCL_DEVICES) && chosen)
        return tsri_opencl_note(
            state, "%s: a platform without devices; POCL_DEVICES=\"%s\" may exclude them", name,
            chosen);
    if ((effects & TSRI_OPENCL_NEEDS_RUSTICL_ENABLE) && !mesa)
        return tsri_opencl_note(state,
                                "%s: a platform without devices: RUSTICL_ENABLE is not set "
                                "(RUSTICL_ENABLE=llvmpipe gives the CPU, radeonsi or iris a GPU)",
                                name);
    if (((effects & TSRI_OPENCL_NEEDS_RUSTICL_ENABLE) && names_gpu(mesa) &&
         tsri_opencl_files_closed("/dev/dri/renderD*", why, sizeof why)) ||
        ((effects & TSRI_OPENCL_OPENS_KFD) &&
         tsri_opencl_files_closed("/dev/kfd", why, sizeof why)))
        return tsri_opencl_note(state, "%s: a platform without devices: %s", name, why);
    const char *by_runtime = getenv("ROCR_VISIBLE_DEVICES"),
               *by_opencl = getenv("GPU_DEVICE_ORDINAL");
    if ((effects & TSRI_OPENCL_READS_ROCM_DEVICES) && (by_runtime || by_opencl))
        return tsri_opencl_note(state, "%s: a platform without devices; %s=\"%s\" may exclude them",
                                name, by_runtime ? "ROCR_VISIBLE_DEVICES" : "GPU_DEVICE_ORDINAL",
                                by_runtime ? by_runtime : by_opencl);
    return tsri_opencl_note(state, "%s: a platform without devices", name);
}

static bool found_any(const tsr_state *state, uint32_t effect) {
    for (size_t i = 0; i < state->n_found; i++)
        if (state->found[i].effects & effect)
            return true;
    return false;
}

/* Notes where a driver that could be loaded has no platform, if the reason is known. */
static tsr_status check_nodes(tsr_state *state, const char *path, const char *library) {
    const uint32_t effects = tsri_opencl_effects_of_library(library);
    char why[WHY];
    if ((effects & TSRI_OPENCL_OPENS_RENDER_NODES) &&
        !found_any(state, TSRI_OPENCL_OPENS_RENDER_NODES) &&
        tsri_opencl_files_closed("/dev/dri/renderD*", why, sizeof why))
        return tsri_opencl_note(state, "%s: its driver %s gives no platform: %s", path, library,
                                why);
    return TSR_OK;
}

/* Reads one .icd file, whose first line names a library, and notes where that can't be loaded or
 * gives nothing. */
static tsr_status check_icd(tsr_state *state, const char *path) {
    tsri_bytes text = {0};
    tsr_status status;
    if (tsri_base_read_whole(path, ICD_LIMIT, &text) != TSR_OK)
        return tsri_opencl_note(state, "%s: can't be read as a vendor file", path);
    char *library = text.data ? text.data : "";
    library[strcspn(library, "\r\n")] = 0;
    void *handle = *library ? tsri_system_library_open_lazily(library) : NULL;
    if (!*library)
        status = tsri_opencl_note(
            state, "%s: an empty vendor file: it should name a driver's library", path);
    else if (handle)
        status = check_nodes(state, path, library);
    else
        status = tsri_opencl_note(state, "%s: its driver %s can't be loaded (%s)", path, library,
                                  tsri_system_library_error());
    if (handle)
        tsri_system_library_close(handle);
    tsri_base_bytes_clear(&text);
    return status;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_icd(const struct dirent *entry) {
    const size_t n = strlen(entry->d_name);
    return n > 4 && !strcmp(entry->d_name + n - 4, ".icd");
}

static tsr_status check_icds(tsr_state *state, const char *folder,
                             const tsri_opencl_drivers *drivers) {
    struct dirent **entries = NULL;
    tsr_status status = TSR_OK;
    const int n = scandir(folder, &entries, is_icd, by_name);
    for (int i = 0; i < n; i++) {
        char *path = status == TSR_OK ? tsri_base_join(folder, entries[i]->d_name) : NULL;
        if (path && !tsri_opencl_driver_is_dead(drivers, path))
            status = check_icd(state, path);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static tsr_status add_device(tsr_state *state, cl_platform_id platform, cl_device_id id) {
    TRY(tsri_base_grow(&state->found, &state->found_capacity, state->n_found + 1,
                       sizeof *state->found));
    TRY(tsri_opencl_read_facts(platform, id, &state->found[state->n_found]));
    state->n_found++;
    return TSR_OK;
}

static tsr_status add_platform(tsr_state *state, cl_platform_id platform, const char *name) {
    cl_uint n = 0;
    bool skip = false;
    const cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n);
    if (tsri_opencl_effects_of(name, NULL, NULL, NULL) & TSRI_OPENCL_CACHE_FOLDER)
        TRY(check_pocl_cache(state, name, &skip));
    if (skip)
        return TSR_OK;
    if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && !n))
        return note_empty_platform(state, name);
    if (code != CL_SUCCESS)
        return tsri_opencl_note(state, "%s: its driver can't list its devices (error %d)", name,
                                code);
    cl_device_id *ids = NULL;
    TRY(tsri_base_new(n, sizeof *ids, &ids));
    tsr_status status = TSR_OK;
    const cl_int given = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, NULL);
    if (given != CL_SUCCESS)
        status = tsri_opencl_note(state,
                                  "%s: its driver counts %u devices and can't list them (error %d)",
                                  name, n, given);
    else
        for (cl_uint i = 0; i < n && status == TSR_OK; i++)
            status = add_device(state, platform, ids[i]);
    free(ids);
    return status;
}

static tsr_status add_platforms(tsr_state *state, cl_uint n, bool *simulated) {
    cl_platform_id *ids = NULL;
    TRY(tsri_base_new(n, sizeof *ids, &ids));
    tsr_status status = TSR_OK;
    const cl_int code = clGetPlatformIDs(n, ids, NULL);
    if (code != CL_SUCCESS)
        status = tsri_opencl_note(
            state, "the OpenCL loader counts %u platforms and can't list them (error %d)", n, code);
    else
        for (cl_uint i = 0; i < n && status == TSR_OK; i++) {
            char *name = tsri_opencl_platform_text(ids[i], CL_PLATFORM_NAME);
            if (!name) {
                status = TSR_E_HOST_MEMORY;
                break;
            }
            *simulated |=
                (tsri_opencl_effects_of(name, NULL, NULL, NULL) & TSRI_OPENCL_IS_LOADER) != 0;
            status = add_platform(state, ids[i], name);
            free(name);
        }
    free(ids);
    return status;
}

/* Lists every device of every driver that is not hidden. */
static tsr_status ask_loader(tsr_state *state, const char *vendors, bool chosen, bool *simulated) {
    cl_uint n = 0;
    const cl_int code = clGetPlatformIDs(0, NULL, &n);
    if (code == NO_PLATFORM || (code == CL_SUCCESS && !n))
        return tsri_opencl_note(state,
                                "no OpenCL platform: no driver in %s (%s); install one, on Debian "
                                "pocl-opencl-icd, intel-opencl-icd, "
                                "mesa-opencl-icd or nvidia-opencl-icd, or point OCL_ICD_VENDORS at "
                                "a folder of .icd files "
                                "(by default /etc/OpenCL/vendors)",
                                vendors, chosen ? "OCL_ICD_VENDORS" : "the default folder");
    if (code != CL_SUCCESS)
        return tsri_opencl_note(state, "the OpenCL loader can't list platforms (error %d)", code);
    return add_platforms(state, n, simulated);
}

/* Where the loader looks for vendor files, in new memory: the variable may change. It takes the name of
 * a file without a folder for one of the default folder first. */
static char *place_of(const char *vendors) {
    char *installed = strchr(vendors, '/') ? NULL : tsri_base_join(default_vendors, vendors);
    if (installed && tsri_base_is_file(installed))
        return installed;
    free(installed);
    return tsri_base_copy_text(vendors, strlen(vendors));
}

/* Whether the loader is the simulator Oclgrind, which asks no driver. */
static bool simulates(void) {
    char loader[PATH_MAX];
    return tsri_system_module((void *)(uintptr_t)clGetPlatformIDs, loader, sizeof loader) &&
           strstr(loader, "oclgrind");
}

tsr_status tsri_opencl_discover(tsr_state *state) {
    const char *chosen = getenv("OCL_ICD_VENDORS");
    const char *vendors = chosen && *chosen ? chosen : default_vendors;
    char *place = place_of(vendors);
    bool simulated = simulates();
    tsri_opencl_drivers drivers = {0};
    tsr_status status = place ? TSR_OK : TSR_E_HOST_MEMORY;
    if (tsri_opencl_look_after_crashes(state))
        tsri_opencl_drivers_forget(state);
    if (status == TSR_OK && !simulated)
        status = tsri_opencl_drivers_try(state, place, &drivers);
    if (status == TSR_OK)
        status = tsri_opencl_drivers_hide(&drivers);
    tsri_opencl_marker *marker = tsri_opencl_mark(state, "listing the devices of OpenCL drivers");
    if (status == TSR_OK)
        status = ask_loader(state, place, chosen && *chosen, &simulated);
    tsri_opencl_unmark(&marker);
    tsri_opencl_drivers_show(&drivers, &state->vendors);
    for (size_t i = 0; i < state->n_found && status == TSR_OK; i++)
        status = tsri_opencl_drivers_judge(&drivers, state->found, i);
    /* A simulator replaces the loader, so vendor files play no part. */
    if (status == TSR_OK && !simulated && tsri_base_is_folder(place))
        status = check_icds(state, place, &drivers);
    else if (status == TSR_OK && !simulated) {
        const size_t length = strlen(place);
        if (length > 4 && !strcmp(place + length - 4, ".icd") &&
            !tsri_opencl_driver_is_dead(&drivers, place))
            status = check_icd(state, place);
    }
    tsri_opencl_drivers_clear(&drivers);
    free(place);
    return status;
}
