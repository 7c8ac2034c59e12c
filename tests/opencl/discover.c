/* A platform or driver that is found and gives no device is named in a note, with what to do. */
#include "backends/opencl/driver/nodes.h"
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool noted(rig *r, const char *fragment, const char *more) {
    const tsr_backend_notes *notes = r->backend->extension(r->state, "tsr.notes/1");
    for (uint32_t i = 0; i < notes->count(r->state); i++) {
        const char *note = notes->note(r->state, i);
        if (strstr(note, fragment) && strstr(note, more))
            return true;
    }
    return false;
}

static char folder[128];

static void make_folder(void) {
    snprintf(folder, sizeof folder, "%s/tessera-icd-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
}

static void write_text(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_folder(void) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

Test(opencl_discover, no_driver_at_all) {
    rig r;
    uint32_t n = 1;
    make_folder();
    setenv("OCL_ICD_VENDORS", folder, 1);
    rig_begin(&r, NULL, NULL);
    cr_expect_eq(r.backend->device_count(r.state, &n), TSR_OK);
    cr_expect_eq(n, 0);
    cr_expect(noted(&r, "no OpenCL platform", "OCL_ICD_VENDORS"));
    cr_expect(noted(&r, "/etc/OpenCL/vendors", "pocl-opencl-icd"));
    rig_end(&r);
    remove_folder();
}

Test(opencl_discover, broken_vendor_files) {
    rig r;
    make_folder();
    write_text("a.icd", "/nowhere/libbroken.so\n");
    write_text("b.icd", "");
    setenv("OCL_ICD_VENDORS", folder, 1);
    rig_begin(&r, NULL, NULL);
    cr_expect(noted(&r, "a.icd", "/nowhere/libbroken.so can't be loaded"));
    cr_expect(noted(&r, "b.icd", "empty vendor file"));
    rig_end(&r);
    remove_folder();
}

static bool closed(const char *name, const char *fragment) {
    char pattern[256], why[512] = "";
    snprintf(pattern, sizeof pattern, "%s/%s", folder, name);
    const bool none = tsri_opencl_files_closed(pattern, why, sizeof why);
    cr_expect(strstr(why, fragment), "%s: \"%s\" is not in \"%s\"", name, fragment, why);
    return none;
}

/* As those of GPUs, which a user often may not open. */
Test(opencl_discover, files_that_a_driver_opens) {
    char path[256];
    make_folder();
    cr_expect(closed("kfd", "there is no /"));
    cr_expect(closed("renderD*", "renderD*: the GPU's kernel driver is not loaded"));
    write_text("renderD128", "");
    cr_expect_not(closed("renderD*", ""));
    write_text("renderD129", "");
    snprintf(path, sizeof path, "%s/renderD128", folder);
    cr_assert_eq(chmod(path, 0), 0);
    snprintf(path, sizeof path, "%s/renderD129", folder);
    cr_assert_eq(chmod(path, 0666), 0);
    const bool root = geteuid() == 0; /* who may open anything */
    if (root)
        cr_assert(chmod(folder, 0777) == 0 && seteuid(65534) == 0);
    if (faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) == 0) { /* not below a TMPDIR of root's own */
        cr_expect_not(closed("renderD*", ""), "the second one can be opened");
        cr_expect(
            closed("renderD128", "renderD128 can't be opened (Permission denied); add this user"));
    }
    if (root)
        cr_assert_eq(seteuid(0), 0);
    cr_expect(closed("", "can't be opened (Is a directory)"));
    remove_folder();
}

/* below: in a folder that can't even be made; otherwise pocl lists its device, but could not
 * build. */
static void expect_unwritable(const char *below) {
    rig r;
    char path[200];
    uint32_t n = 1;
    const char *vendors =
        getenv("OCL_ICD_VENDORS") ? getenv("OCL_ICD_VENDORS") : "/etc/OpenCL/vendors";
    snprintf(path, sizeof path, "%s/pocl.icd", vendors);
    if (access(path, F_OK) != 0)
        cr_skip_test("no pocl in %s", vendors);
    make_folder();
    write_text("file", "not a folder");
    snprintf(path, sizeof path, "%s/file%s", folder, below);
    setenv("POCL_CACHE_DIR", path, 1);
    rig_begin(&r, NULL, NULL);
    cr_expect_eq(r.backend->device_count(r.state, &n), TSR_OK);
    for (uint32_t i = 0; i < n; i++) {
        tsr_facts facts = {.struct_size = sizeof facts};
        cr_expect_eq(r.backend->device_facts(r.state, i, &facts), TSR_OK);
        cr_expect_null(strstr(facts.platform, "Portable Computing Language"));
    }
    cr_expect(noted(&r, "Portable Computing Language", path));
    cr_expect(noted(&r, "can't be written", "POCL_CACHE_DIR"));
    rig_end(&r);
    remove_folder();
}

Test(opencl_discover, a_pocl_cache_that_is_a_file) {
    expect_unwritable("");
}

Test(opencl_discover, a_pocl_cache_that_cannot_be_made) {
    expect_unwritable("/below");
}
