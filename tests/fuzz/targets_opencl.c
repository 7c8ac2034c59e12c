/* What the OpenCL backend reads from its folders, without a driver: bundles and tuned values. The
 * plugin's files are linked in. */
#include "fuzz.h"

#include "backends/opencl/program/bundle_files.h"
#include "backends/opencl/tuning/tuning.h"
#include "backends/opencl/tuning/tuning_file.h"
#include "base/files.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tsri_opencl_found found;
static tsr_state state;
static tsr_dev dev;
static const tsr_host *host;

static void begin(void) {
    static char folder[256];
    static tsr_host one = {.struct_size = sizeof one, .version = TESSERA_VERSION};
    fuzz_must(getcwd(folder, sizeof folder) != NULL, "a folder");
    one.cache_folder = folder;
    host = &one;
    state.host = host;
    found.facts.common.platform = "Platform";
    found.facts.common.name = "Device";
    found.facts.common.vendor = "Vendor";
    found.facts.common.driver = "1.0";
    dev.state = &state;
    dev.found = &found;
    dev.facts = found.facts;
}

/* manifest.json; what an engine checks first is made right: its version and the kernels' hash. */
static void bundle(const fuzz_part *parts, size_t n) {
    tsri_opencl_bundle *bundle = NULL;
    json_t *manifest = json_loadb(parts[0].data, parts[0].size, 0, NULL);
    char hex[65];
    (void)n;
    fuzz_must(tsri_opencl_bundle_sources(hex) == TSR_OK, "the kernels' hash");
    if (json_object_get(manifest, "engine"))
        json_object_set_new(manifest, "engine", json_string(TESSERA_VERSION));
    if (json_object_get(manifest, "sources"))
        json_object_set_new(manifest, "sources", json_string(hex));
    char *text = manifest ? json_dumps(manifest, JSON_ENCODE_ANY) : NULL;
    if (text)
        fuzz_write(TSRI_OPENCL_BUNDLE_MANIFEST, text, strlen(text));
    else
        fuzz_write(TSRI_OPENCL_BUNDLE_MANIFEST, parts[0].data, parts[0].size);
    free(text);
    json_decref(manifest);
    manifest = NULL;
    if (fuzz_is_ok(tsri_opencl_bundle_read(&dev, ".", &manifest, &bundle)))
        (void)tsri_opencl_bundle_find(bundle, "linear/plain:TN=4");
    if (bundle)
        bundle->options = NULL; /* the manifest's */
    tsri_opencl_bundle_free(bundle);
    json_decref(manifest);
}

static void begin_tuned(void) {
    begin();
    fuzz_must(tsri_base_make_folders("tuned") == TSR_OK, "a folder");
}

/* Lines of values that were tuned on this machine, in a file with the head and the seal that it
 * needs; and as a table of cl/tuned. */
static void tuned(const fuzz_part *parts, size_t n) {
    tsri_opencl_tuning *tuning = NULL;
    tsri_bytes file = {0}, none = {0};
    char *path = NULL, hex[65];
    (void)n;
    fuzz_must(tsri_opencl_tuning_read_here(&dev, &path, &none) == TSR_OK && path, "a path");
    fuzz_must(tsri_base_bytes_printf(&file,
                                     "# tessera tuned 1\n# engine %s\n# platform %s\n# device %s\n"
                                     "# driver %s\n%.*s\n",
                                     TESSERA_VERSION, "Platform", "Device", "1.0",
                                     (int)parts[0].size, parts[0].data) == TSR_OK &&
                  tsri_base_hash_bytes(file.data, file.size, hex) == TSR_OK &&
                  tsri_base_bytes_printf(&file, "# sha256 %s\n", hex) == TSR_OK,
              "a file");
    fuzz_write(path, file.data, file.size);
    (void)fuzz_is_ok(tsri_opencl_tuning_load(&dev, &tuning));
    tsri_opencl_tuning_free(tuning);
    fuzz_must(tsri_base_make_folders("kernels/tuned") == TSR_OK, "a folder");
    fuzz_write("kernels/tuned/x.tsv", parts[0].data, parts[0].size);
    setenv("TESSERA_KERNEL_PATH", "kernels", 1);
    tuning = NULL;
    (void)fuzz_is_ok(tsri_opencl_tuning_load(&dev, &tuning));
    tsri_opencl_tuning_free(tuning);
    unsetenv("TESSERA_KERNEL_PATH");
    unlink(path);
    free(path);
    tsri_base_bytes_clear(&file);
    tsri_base_bytes_clear(&none);
}

const fuzz_target fuzz_opencl_targets[] = {
    {"bundle", begin, bundle, 1},
    {"tuned", begin_tuned, tuned, 1},
    {0},
};
