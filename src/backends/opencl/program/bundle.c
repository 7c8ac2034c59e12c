/* backends/opencl/program/bundle.c - reads, checks and uses a bundle. */
#include "backends/opencl/program/bundle.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/program/bundle_files.h"
#include "backends/opencl/program/constants.h"
#include "backends/opencl/variants/variants.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MANIFEST_LIMIT = 16 << 20, DEPTH = 8, MOST_KERNELS = 4096 };

void tsri_opencl_bundle_free(tsri_opencl_bundle *bundle) {
    if (!bundle)
        return;
    for (size_t i = 0; i < bundle->n; i++) {
        free(bundle->kernels[i].name);
        free(bundle->kernels[i].instance);
    }
    if (bundle->program)
        clReleaseProgram(bundle->program);
    free(bundle->kernels);
    free(bundle->folder);
    free(bundle->path);
    free(bundle->binary);
    free(bundle);
}

/* --- the manifest --- */

/* A text that the manifest must have. */
static tsr_status text_at(const json_t *object, const char *what, const char *key,
                          const char **out) {
    *out = NULL;
    TRY(tsri_base_json_text(object, what, key, out));
    return *out && **out ? TSR_OK : tsri_base_fail(TSR_E_FORMAT, "%s has no \"%s\"", what, key);
}

static tsr_status check_manifest(const tsr_dev *dev, const json_t *manifest, const char *path) {
    const char *format, *engine, *sources;
    int64_t version = 0, abi = 0;
    char own[65];
    if (!json_is_object(manifest))
        return tsri_base_fail(TSR_E_FORMAT, "%s is not a JSON object", path);
    TRY(text_at(manifest, path, "format", &format));
    TRY(tsri_base_json_int(manifest, path, "version", 0, INT32_MAX, &version));
    if (strcmp(format, TSRI_OPENCL_BUNDLE_FORMAT) != 0 || version != TSRI_OPENCL_BUNDLE_VERSION)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s is a \"%s\" of version %" PRId64 "; this Tessera reads %s of "
                              "version %d",
                              path, format, version, TSRI_OPENCL_BUNDLE_FORMAT,
                              TSRI_OPENCL_BUNDLE_VERSION);
    TRY(text_at(manifest, path, "engine", &engine));
    if (strcmp(engine, dev->state->host->version) != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s was exported by Tessera %s, and this is %s: export and build the "
                              "bundle again",
                              path, engine, dev->state->host->version);
    TRY(tsri_base_json_int(manifest, path, "kernel_abi", 0, INT32_MAX, &abi));
    if (abi != TSRI_OPENCL_KERNEL_ABI)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s has kernels of ABI %" PRId64 "; this Tessera's is %d: export and "
                              "build the bundle again",
                              path, abi, TSRI_OPENCL_KERNEL_ABI);
    TRY(text_at(manifest, path, "sources", &sources));
    TRY(tsri_opencl_bundle_sources(own));
    if (strcmp(sources, own) != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s was exported from other kernel files than this Tessera has: "
                              "export and build the bundle again",
                              path);
    return TSR_OK;
}

static tsr_status read_tunables(const json_t *entry, const char *what,
                                tsri_opencl_bundled *kernel) {
    const json_t *tunables = json_object_get(entry, "tunables");
    const char *name;
    json_t *value;
    if (!json_is_object(tunables))
        return tsri_base_fail(TSR_E_FORMAT, "%s has no \"tunables\"", what);
    json_object_foreach((json_t *)tunables, name, value) {
        int t = 0;
        while (t < TSRI_OPENCL_TUNABLES && kernel->variant && kernel->variant->tunables[t].name &&
               strcmp(kernel->variant->tunables[t].name, name) != 0)
            t++;
        if (!kernel->variant || t == TSRI_OPENCL_TUNABLES || !kernel->variant->tunables[t].name ||
            !json_is_integer(value))
            return tsri_base_fail(
                TSR_E_FORMAT,
                "%s: %s is not a tunable of its kernel variant, or is not a whole number", what,
                name);
        const json_int_t number = json_integer_value(value);
        if (number < kernel->variant->tunables[t].lowest ||
            number > kernel->variant->tunables[t].highest)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: %s = %" JSON_INTEGER_FORMAT " is out of its range", what,
                                  name, number);
        kernel->values.set[t] = true;
        kernel->values.value[t] = (int)number;
    }
    return TSR_OK;
}

/* "linear/plain:TN=4" names the variant linear/plain; a stage has no op before a slash. */
static tsr_status read_row(const char *what, tsri_opencl_bundled *kernel) {
    const size_t n = strcspn(kernel->instance, ":");
    char *name = tsri_base_copy_text(kernel->instance, n);
    if (!name)
        return TSR_E_HOST_MEMORY;
    kernel->variant = kernel->values.variant = tsri_opencl_find_variant(name);
    const bool known = kernel->variant || !strchr(name, '/');
    free(name);
    return known ? TSR_OK
                 : tsri_base_fail(TSR_E_FORMAT,
                                  "%s is of kernel variant %.*s, which this Tessera does not have",
                                  what, (int)n, kernel->instance);
}

static tsr_status read_kernel(const json_t *entry, const char *path, size_t index,
                              tsri_opencl_bundled *kernel) {
    const char *name, *instance;
    int64_t n_args = -1;
    char what[512];
    snprintf(what, sizeof what, "%.400s: kernels[%zu]", path, index);
    if (!json_is_object(entry))
        return tsri_base_fail(TSR_E_FORMAT, "%s is not an object", what);
    TRY(text_at(entry, what, "name", &name));
    TRY(text_at(entry, what, "variant", &instance));
    TRY(tsri_base_json_int(entry, what, "arguments", 1, 1024, &n_args));
    if (n_args < 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s has no \"arguments\"", what);
    kernel->n_args = (uint32_t)n_args;
    kernel->name = tsri_base_copy_text(name, strlen(name));
    kernel->instance = tsri_base_copy_text(instance, strlen(instance));
    if (!kernel->name || !kernel->instance)
        return TSR_E_HOST_MEMORY;
    TRY(read_row(what, kernel));
    return read_tunables(entry, what, kernel);
}

static tsr_status read_kernels(const json_t *manifest, const char *path,
                               tsri_opencl_bundle *bundle) {
    const json_t *list = json_object_get(manifest, "kernels");
    const size_t n = json_array_size(list);
    if (!n || n > MOST_KERNELS)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"kernels\" is not a list of 1 to %d", path,
                              MOST_KERNELS);
    TRY(tsri_base_new(n, sizeof *bundle->kernels, &bundle->kernels));
    for (; bundle->n < n; bundle->n++) {
        const tsr_status status = read_kernel(json_array_get(list, bundle->n), path, bundle->n,
                                              &bundle->kernels[bundle->n]);
        if (status != TSR_OK) {
            bundle->n++;
            return status;
        }
    }
    return TSR_OK;
}

/* --- the binary --- */

static tsr_status check_device(const tsr_dev *dev, const json_t *binary, const char *path) {
    const tsr_facts *facts = &dev->facts.common;
    const char *platform, *device, *driver;
    TRY(text_at(binary, path, "platform", &platform));
    TRY(text_at(binary, path, "device", &device));
    TRY(text_at(binary, path, "driver", &driver));
    if (!strcmp(platform, facts->platform) && !strcmp(device, facts->name) &&
        !strcmp(driver, facts->driver))
        return TSR_OK;
    return tsri_base_fail(
        TSR_E_UNSUPPORTED,
        "%s: its binary is for %s/%s, driver %s; this device is %s/%s, driver %s: "
        "build the bundle for it (tessera kernels build)",
        path, platform, device, driver, facts->platform, facts->name, facts->driver);
}

/* No byte goes to a driver before the length and the hash are right: drivers crash on damaged
 * binaries. */
static tsr_status read_binary(const tsr_dev *dev, const json_t *manifest,
                              const tsri_opencl_bundle *bundle, tsri_bytes *out) {
    const json_t *binary = json_object_get(manifest, "binary");
    const char *wanted, *path = bundle->path;
    char hex[65];
    int64_t bytes = -1;
    if (!json_is_object(binary))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s has no binary yet: tessera kernels build %s --device D makes it, "
                              "or takes the one of an offline compiler (--binary FILE)",
                              path, bundle->folder);
    TRY(check_device(dev, binary, path));
    TRY(text_at(binary, path, "sha256", &wanted));
    TRY(tsri_base_json_int(binary, path, "bytes", 0, (int64_t)TSRI_OPENCL_BUNDLE_LIMIT, &bytes));
    TRY(tsri_base_read_whole(bundle->binary, TSRI_OPENCL_BUNDLE_LIMIT, out));
    if ((int64_t)out->size != bytes)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s has %zu bytes and the manifest says %" PRId64
            ": it is cut off, or belongs to another manifest; build the bundle again",
            bundle->binary, out->size, bytes);
    TRY(tsri_base_hash_bytes(out->data, out->size, hex));
    return strcmp(hex, wanted) == 0
               ? TSR_OK
               : tsri_base_fail(
                     TSR_E_FORMAT,
                     "%s is damaged: its SHA-256 is not the manifest's; build the bundle again",
                     bundle->binary);
}

/* Checks that the program has the kernel, with as many arguments as the manifest says. */
static tsr_status check_kernel(const tsr_dev *dev, cl_program program, const char *file,
                               const tsri_opencl_bundled *wanted) {
    cl_int code = CL_SUCCESS;
    cl_uint n_args = 0;
    cl_kernel kernel = clCreateKernel(program, wanted->name, &code);
    if (!kernel)
        return tsri_base_fail(TSR_E_BUILD, "%s has no kernel %s (%s): %s (%d) on %s/%s", file,
                              wanted->name, wanted->instance, tsri_opencl_code_name(code), code,
                              dev->facts.common.platform, dev->facts.common.name);
    code = clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n_args, &n_args, NULL);
    clReleaseKernel(kernel);
    if (code == CL_SUCCESS && n_args != wanted->n_args)
        return tsri_base_fail(TSR_E_BUILD,
                              "%s: its kernel %s has %u arguments, and the manifest says %u", file,
                              wanted->name, n_args, wanted->n_args);
    return TSR_OK;
}

tsr_status tsri_opencl_bundle_program(tsr_dev *dev, tsri_opencl_bundle *bundle, const char *file,
                                      const tsri_bytes *binary) {
    const unsigned char *data = (const unsigned char *)binary->data;
    cl_int code = CL_SUCCESS, status = CL_SUCCESS;
    if (!binary->size)
        return tsri_base_fail(TSR_E_FORMAT, "%s is empty", file);
    bundle->program =
        clCreateProgramWithBinary(dev->context, 1, &dev->id, &binary->size, &data, &status, &code);
    if (bundle->program && code == CL_SUCCESS && status == CL_SUCCESS)
        code = clBuildProgram(bundle->program, 1, &dev->id, bundle->options, NULL, NULL);
    else if (code == CL_SUCCESS)
        code = status != CL_SUCCESS ? status : CL_INVALID_BINARY;
    if (code != CL_SUCCESS)
        return tsri_base_fail(TSR_E_BUILD, "%s: %s/%s does not take it as a program: %s (%d)", file,
                              dev->facts.common.platform, dev->facts.common.name,
                              tsri_opencl_code_name(code), code);
    for (size_t i = 0; i < bundle->n; i++)
        TRY(check_kernel(dev, bundle->program, file, &bundle->kernels[i]));
    return TSR_OK;
}

tsr_status tsri_opencl_bundle_read(const tsr_dev *dev, const char *folder, json_t **manifest,
                                   tsri_opencl_bundle **out) {
    tsri_opencl_bundle *bundle = NULL;
    *manifest = NULL;
    TRY(tsri_base_new(1, sizeof *bundle, &bundle));
    *out = bundle;
    bundle->folder = tsri_base_copy_text(folder, strlen(folder));
    bundle->path = tsri_base_join(folder, TSRI_OPENCL_BUNDLE_MANIFEST);
    bundle->binary = tsri_base_join(folder, TSRI_OPENCL_BUNDLE_BINARY);
    if (!bundle->folder || !bundle->path || !bundle->binary)
        return TSR_E_HOST_MEMORY;
    TRY(tsri_base_json_load(bundle->path, MANIFEST_LIMIT, DEPTH, manifest));
    TRY(check_manifest(dev, *manifest, bundle->path));
    TRY(tsri_base_json_text(*manifest, bundle->path, "options", &bundle->options));
    return read_kernels(*manifest, bundle->path, bundle);
}

tsr_status tsri_opencl_bundle_load(tsr_dev *dev, const char *folder, tsri_opencl_bundle **out) {
    tsri_opencl_bundle *bundle = NULL;
    json_t *manifest = NULL;
    tsri_bytes binary = {0};
    tsr_status status = tsri_opencl_bundle_read(dev, folder, &manifest, &bundle);
    if (status == TSR_OK)
        status = read_binary(dev, manifest, bundle, &binary);
    if (status == TSR_OK)
        status = tsri_opencl_bundle_program(dev, bundle, bundle->binary, &binary);
    tsri_base_bytes_clear(&binary);
    if (bundle)
        bundle->options = NULL; /* it belongs to the manifest, which is freed */
    json_decref(manifest);
    if (status != TSR_OK)
        tsri_opencl_bundle_free(bundle);
    else
        *out = bundle;
    return status;
}

/* --- use --- */

const tsri_opencl_bundled *tsri_opencl_bundle_find(const tsri_opencl_bundle *bundle,
                                                   const char *instance) {
    for (size_t i = 0; i < bundle->n; i++)
        if (!strcmp(bundle->kernels[i].instance, instance))
            return &bundle->kernels[i];
    return NULL;
}

tsr_status tsri_opencl_bundle_has(const tsr_dev *dev, const tsri_opencl_variant *variant,
                                  const tsr_op *op, const tsri_opencl_wish *wish, bool *has) {
    tsri_opencl_defines defines;
    tsri_opencl_values values;
    tsri_bytes name = {0};
    *has = false;
    if (!variant->file || variant->enqueue)
        return TSR_OK;
    TRY(tsri_opencl_settle(dev, variant, op, wish, &values));
    tsr_status status = tsri_opencl_defines_of(variant, op, &values, &defines);
    if (status == TSR_OK)
        status = tsri_opencl_defines_name(variant, NULL, &defines, &name);
    if (status == TSR_OK)
        *has = tsri_opencl_bundle_find(dev->bundle, name.data) != NULL;
    tsri_opencl_defines_clear(&defines);
    tsri_base_bytes_clear(&name);
    const tsri_opencl_stage *stage = tsri_opencl_stage_of(variant, op);
    if (status != TSR_OK || !*has || !stage)
        return status;
    status = tsri_opencl_defines_before(variant, op, &values, &defines);
    if (status == TSR_OK)
        status = tsri_opencl_defines_name(variant, stage, &defines, &name);
    if (status == TSR_OK)
        *has = tsri_opencl_bundle_find(dev->bundle, name.data) != NULL;
    tsri_opencl_defines_clear(&defines);
    tsri_base_bytes_clear(&name);
    return status;
}
