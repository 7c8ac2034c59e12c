/* backends/opencl/program/bundle_write.c - exports a bundle from what plans recorded, and builds
 * it. */
#include "backends/opencl/program/bundle_write.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/program/bundle_files.h"
#include "backends/opencl/program/compile.h"
#include "backends/opencl/program/program.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCE_LIMIT = 64 << 20 };

static tsr_status write_json(const char *folder, const json_t *manifest) {
    char *path = tsri_base_join(folder, TSRI_OPENCL_BUNDLE_MANIFEST);
    const tsr_status status =
        path ? tsri_base_json_save(path, manifest, JSON_INDENT(1)) : TSR_E_HOST_MEMORY;
    free(path);
    return status;
}

static tsr_status write_file(const char *folder, const char *name, const tsri_bytes *bytes) {
    char *path = tsri_base_join(folder, name);
    const tsr_status status =
        path ? tsri_base_write_whole(path, bytes->data, bytes->size) : TSR_E_HOST_MEMORY;
    free(path);
    return status;
}

static json_t *identity(const tsr_dev *dev) {
    const tsr_facts *facts = &dev->facts.common;
    return json_pack("{s:s,s:s,s:s}", "platform", facts->platform, "device", facts->name, "driver",
                     facts->driver);
}

static json_t *describe_kernel(const tsri_opencl_instance *instance) {
    json_t *tunables = json_object();
    const tsri_opencl_tunable *t = instance->variant->tunables;
    for (int i = 0; !instance->stage && i < TSRI_OPENCL_TUNABLES && t[i].name; i++)
        tsri_base_json_put(tunables, t[i].name, json_integer(instance->values.value[i]));
    return json_pack("{s:s,s:s,s:o,s:i}", "name", instance->kernel, "variant", instance->name,
                     "tunables", tunables, "arguments", (int)instance->n_args);
}

static json_t *describe(const tsr_dev *dev, tsri_opencl_instance *const *instances, size_t n,
                        const char *sources, const char *source) {
    json_t *kernels = json_array();
    for (size_t i = 0; i < n; i++)
        tsri_base_json_append(kernels, describe_kernel(instances[i]));
    return json_pack("{s:s,s:i,s:s,s:i,s:s,s:s,s:s,s:o,s:o}", "format", TSRI_OPENCL_BUNDLE_FORMAT,
                     "version", TSRI_OPENCL_BUNDLE_VERSION, "engine", dev->state->host->version,
                     "kernel_abi", TSRI_OPENCL_KERNEL_ABI, "sources", sources, "options",
                     tsri_opencl_program_options(dev, false), "source_sha256", source, "target",
                     identity(dev), "kernels", kernels);
}

static tsr_status export_bundle(tsr_dev *dev, const char *folder) {
    tsri_opencl_instance **instances = NULL;
    tsri_bytes source = {0};
    char sources[65], hex[65];
    size_t n = 0;
    json_t *manifest = NULL;
    tsri_opencl_enter(dev->state);
    if (!dev->record)
        return tsri_base_fail(TSR_E_STATE, "%s/%s was not opened to record kernels",
                              dev->facts.common.platform, dev->facts.common.name);
    tsr_status status = tsri_opencl_recorded(dev, &instances, &n, &source);
    if (status == TSR_OK && !n)
        status = tsri_base_fail(TSR_E_STATE,
                                "no plan was made on %s/%s: there is no kernel to "
                                "export",
                                dev->facts.common.platform, dev->facts.common.name);
    if (status == TSR_OK)
        status = tsri_base_hash_bytes(source.data, source.size, hex);
    if (status == TSR_OK)
        status = tsri_opencl_bundle_sources(sources);
    if (status == TSR_OK) {
        manifest = describe(dev, instances, n, sources, hex);
        status = tsri_base_json_made(manifest, folder);
    }
    if (status == TSR_OK)
        status = tsri_base_make_folders(folder);
    if (status == TSR_OK)
        status = write_file(folder, TSRI_OPENCL_BUNDLE_SOURCE, &source);
    if (status == TSR_OK)
        status = write_json(folder, manifest);
    json_decref(manifest);
    tsri_base_bytes_clear(&source);
    free(instances);
    return status;
}

/* --- building --- */

static tsr_status read_source(const char *folder, const json_t *manifest, tsri_bytes *out) {
    char hex[65], *path = tsri_base_join(folder, TSRI_OPENCL_BUNDLE_SOURCE);
    const char *wanted = json_string_value(json_object_get(manifest, "source_sha256"));
    tsr_status status = path ? tsri_base_read_whole(path, SOURCE_LIMIT, out) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_base_hash_bytes(out->data, out->size, hex);
    if (status == TSR_OK && (!wanted || strcmp(wanted, hex) != 0))
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s was changed after it was exported: export it again", path);
    free(path);
    return status;
}

static tsr_status binary_of(tsr_dev *dev, cl_program program, tsri_bytes *out) {
    size_t size = 0;
    unsigned char *binary = NULL;
    cl_int code = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    if (code != CL_SUCCESS || !size)
        return tsri_base_fail(TSR_E_BUILD, "%s/%s gives no binary of its program: %s (%d)",
                              dev->facts.common.platform, dev->facts.common.name,
                              tsri_opencl_code_name(code), code);
    TRY(tsri_base_new(size, 1, &binary));
    code = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    const tsr_status status = code == CL_SUCCESS ? tsri_base_bytes_append(out, binary, size)
                                                 : tsri_opencl_fail(dev, code, "clGetProgramInfo");
    free(binary);
    return status;
}

static tsr_status compile(tsr_dev *dev, const char *folder, const json_t *manifest,
                          const tsri_opencl_bundle *bundle, tsri_bytes *out) {
    const tsr_facts *facts = &dev->facts.common;
    tsri_bytes source = {0};
    cl_program program = NULL;
    char *log = NULL;
    if (!facts->compiler)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s/%s has no compiler: build %s/%s with its vendor's (options: %s) "
                              "and pass the result with --binary FILE",
                              facts->platform, facts->name, folder, TSRI_OPENCL_BUNDLE_SOURCE,
                              bundle->options);
    tsr_status status = read_source(folder, manifest, &source);
    if (status == TSR_OK)
        status = tsri_opencl_compile(dev, &source, bundle->options, NULL, 0, &program, &log);
    if (status == TSR_OK && !program)
        status =
            tsri_base_fail(TSR_E_BUILD, "%s/%s does not build on %s/%s: %s", folder,
                           TSRI_OPENCL_BUNDLE_SOURCE, facts->platform, facts->name, log ? log : "");
    if (status == TSR_OK)
        status = binary_of(dev, program, out);
    if (program)
        clReleaseProgram(program);
    tsri_base_bytes_clear(&source);
    free(log);
    return status;
}

static tsr_status seal(const tsr_dev *dev, const char *folder, json_t *manifest,
                       const tsri_bytes *binary) {
    char hex[65];
    TRY(tsri_base_hash_bytes(binary->data, binary->size, hex));
    json_t *entry = identity(dev);
    tsri_base_json_put(entry, "file", json_string(TSRI_OPENCL_BUNDLE_BINARY));
    tsri_base_json_put(entry, "bytes", json_integer((json_int_t)binary->size));
    tsri_base_json_put(entry, "sha256", json_string(hex));
    tsri_base_json_put(manifest, "binary", entry);
    TRY(write_file(folder, TSRI_OPENCL_BUNDLE_BINARY, binary));
    return write_json(folder, manifest);
}

static tsr_status build_bundle(tsr_dev *dev, const char *folder, const char *file) {
    tsri_opencl_bundle *bundle = NULL;
    json_t *manifest = NULL;
    tsri_bytes binary = {0};
    tsri_opencl_enter(dev->state);
    tsr_status status = tsri_opencl_bundle_read(dev, folder, &manifest, &bundle);
    if (status == TSR_OK)
        status = file ? tsri_base_read_whole(file, TSRI_OPENCL_BUNDLE_LIMIT, &binary)
                      : compile(dev, folder, manifest, bundle, &binary);
    /* Loads the result as a run will, before success is reported. */
    if (status == TSR_OK)
        status = tsri_opencl_bundle_program(dev, bundle, file ? file : folder, &binary);
    if (status == TSR_OK)
        status = seal(dev, folder, manifest, &binary);
    tsri_base_bytes_clear(&binary);
    json_decref(manifest);
    tsri_opencl_bundle_free(bundle);
    return status;
}

const tsr_backend_bundle tsri_opencl_bundles = {sizeof tsri_opencl_bundles, export_bundle,
                                                build_bundle};
