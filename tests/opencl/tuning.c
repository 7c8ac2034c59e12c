/* Values of tunables: forced, from tables, and tuned on this machine; and what can be wrong with
 * each. */
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char pocl[] = "Portable Computing Language";

typedef struct seen {
    char name[320], tunables[700];
    int score, found;
} seen;

static void see_packed(void *data, const tsr_variant *variant) {
    seen *s = data;
    if (strncmp(variant->name, "linear/packed:", 14) != 0)
        return;
    snprintf(s->name, sizeof s->name, "%s", variant->name);
    snprintf(s->tunables, sizeof s->tunables, "%s", variant->tunables);
    s->score = variant->score;
    s->found++;
}

/* What explain says about linear/packed in a plan of RIG_T rows, whose result must be right. */
static seen packed_of(rig *r, const char *kernels) {
    rig_linear linear;
    seen s = {0};
    cr_assert_eq(rig_linear_make(r, r->dev, kernels, &linear), TSR_OK, "%s", r->sentence);
    cr_assert_eq(rig_linear_run(r, r->dev, &linear), TSR_OK, "%s", r->sentence);
    cr_expect_eq(rig_linear_error(&linear), 0.0);
    cr_expect_eq(r->backend->plan_explain(linear.plan, 0, see_packed, &s), TSR_OK);
    rig_linear_free(r, &linear);
    if (!s.found) {
        rig_end(r);
        cr_skip_test("linear/packed is made for CPUs");
    }
    return s;
}

/* Whether it fits or not. */
static void see_score(void *data, const tsr_variant *variant) {
    seen *s = data;
    if (strcmp(variant->name, "linear/packed") != 0)
        return;
    s->score = variant->score;
    s->found++;
}

/* The same on a device that records, so that nothing is built. */
static seen listed_by(rig *r, tsr_variant_visitor see) {
    const tsr_device_options options = {.struct_size = sizeof options, .record = true};
    tsr_dev *dev = NULL;
    rig_linear linear;
    seen s = {0};
    cr_assert_eq(r->backend->device_open(r->state, r->index, &options, &dev), TSR_OK, "%s",
                 r->sentence);
    cr_assert_eq(rig_linear_make(r, dev, NULL, &linear), TSR_OK, "%s", r->sentence);
    cr_assert_eq(r->backend->plan_explain(linear.plan, 0, see, &s), TSR_OK, "%s", r->sentence);
    rig_linear_free(r, &linear);
    r->backend->device_close(dev);
    if (!s.found) {
        rig_end(r);
        cr_skip_test("linear/packed is made for CPUs");
    }
    return s;
}

static seen listed(rig *r) {
    return listed_by(r, see_packed);
}

static void expect(const seen *s, const char *name, const char *from) {
    cr_expect(strstr(s->name, name), "%s in %s", name, s->name);
    cr_expect(strstr(s->tunables, from), "%s in %s", from, s->tunables);
}

Test(opencl_tuning, forced) {
    static const struct {
        const char *kernels, *fragment;
    } wrong[] = {
        {"linear=packed:MR=99", "linear=packed:MR=99: linear/packed takes MR from 1 to"},
        {"linear=packed:MR=0", "takes MR from 1 to"},
        {"linear=packed:RM=4", "linear/packed has no tunable RM; it has MR"},
        {"linear=packed:MR", "\"MR\" is not of the form tunable=number"},
        {"linear=packed:MR=x", "\"MR=x\" is not of the form tunable=number"},
        {"linear=packed:MR=", "is not of the form tunable=number"},
        {"linear=packed,linear=packed:MR=3", "linear is forced twice"},
    };
    rig r;
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    seen s = packed_of(&r, NULL);
    expect(&s, "MR=", "(default; 1 to ");
    s = packed_of(&r, "linear=packed:MR=3");
    expect(&s, "MR=3", "MR=3 (forced; 1 to ");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rig_linear linear;
        cr_expect_eq(rig_linear_make(&r, r.dev, wrong[i].kernels, &linear), TSR_E_ARGUMENT, "%s",
                     wrong[i].kernels);
        cr_expect(strstr(r.sentence, wrong[i].fragment), "%s: \"%s\"", wrong[i].kernels,
                  r.sentence);
        rig_linear_free(&r, &linear);
    }
    rig_end(&r);
}

/* Uses a folder of kernels whose only table is `text`; it is inside the rig's cache folder. */
static void begin_with(rig *r, const char *text) {
    char command[1024], path[300];
    const char *source = getenv("TESSERA_SOURCE");
    rig_begin(r, NULL, NULL);
    if (!source)
        cr_skip_test("TESSERA_SOURCE isn't set");
    snprintf(command, sizeof command, "mkdir -p '%s/cl/tuned' && ln -s '%s'/cl/[a-su-z]* '%s/cl/'",
             r->cache, source, r->cache);
    cr_assert_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/cl/tuned/t.tsv", r->cache);
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    snprintf(path, sizeof path, "%s/cl", r->cache);
    setenv("TESSERA_KERNEL_PATH", path, 1);
}

Test(opencl_tuning, the_line_that_says_most_wins) {
    static const struct {
        const char *text, *name, *from;
    } table[] = {
        {"", "MR=", "default"},
        {"# none\n\n", "MR=", "default"},
        {"*\t*\t*\tlinear/packed\t-\tMR=1\n", "MR=1", "MR=1 (table cl/tuned/t.tsv:1; 1 to "},
        {"*\t*\tcpu\tlinear/packed\t-\tMR=2\n*\t*\t*\tlinear/packed\t-\tMR=1\n", "MR=2", ":1;"},
        {"*\t*\tgpu\tlinear/packed\t-\tMR=2\n*\t*\t*\tlinear/packed\t-\tMR=1\n", "MR=1", ":2;"},
        {"*ortable*\t*\t*\tlinear/packed\t-\tMR=3\n*\t*\tcpu\tlinear/packed\t-\tMR=1\n", "MR=3",
         ":1;"},
        {"*\t*pthread*\t*\tlinear/packed\t-\tMR=4\n*ortable*\t*\tcpu\tlinear/packed\t-\tMR=1\n",
         "MR=4", ":1;"},
        {"*\t*\t*\tlinear/packed\trows=9-63\tMR=5\n*\t*\t*\tlinear/packed\t-\tMR=1\n", "MR=5",
         ":1;"},
        {"*\t*\t*\tlinear/packed\trows=10-\tMR=5\n*\t*\t*\tlinear/packed\trows=9\tMR=1\n", "MR=1",
         ":2;"},
        {"*\t*\t*\tlinear/packed\tcolumns=75\tMR=5\n*\t*\t*\tlinear/packed\t-\tMR=1\n", "MR=5",
         ":1;"},
        {"*\t*\t*\tlinear/packed\tcolumns=76-\tMR=5\n*\t*\t*\tlinear/packed\t-\tMR=1\n", "MR=1",
         ":2;"},
        {"*\t*\t*\tlinear/packed\tW_DTYPE=F32,HAS_BIAS=1\tMR=2\n", "MR=2", ":1;"},
        {"*\t*\t*\tlinear/packed\tW_DTYPE=F16\tMR=2\n", "MR=", "default"},
        {"Nobody\t*\t*\tlinear/packed\t-\tMR=2\n", "MR=", "default"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig r;
        begin_with(&r, table[i].text);
        rig_open(&r, pocl, false);
        if (getenv("TESSERA_TEST_PLATFORM") && strstr(table[i].text, "pthread")) {
            rig_end(&r);
            continue;
        }
        const seen s = listed(&r);
        expect(&s, table[i].name, table[i].from);
        rig_end(&r);
    }
}

Test(opencl_tuning, a_score_moves_a_row) {
    rig r;
    begin_with(&r, "*\t*\t*\tlinear/packed\trows=9-\tscore=1\n");
    rig_open(&r, pocl, false);
    const seen s = listed_by(&r, see_score);
    cr_expect_eq(s.score, 1);
    rig_end(&r);
}

/* --- on a device with small work-groups --- */

static void see_chosen(void *data, const tsr_variant *variant) {
    seen *s = data;
    if (!variant->chosen)
        return;
    snprintf(s->name, sizeof s->name, "%s", variant->name);
    snprintf(s->tunables, sizeof s->tunables, "%s", variant->tunables);
}

/* What a line does that a device takes, and one that it does not take: a work-group of linear/tiled
 * has 16 * GM work-items, 64 by default. */
Test(opencl_tuning, a_line_that_does_not_fit_gives_way_to_the_defaults) {
    static const struct {
        const char *group, *kernel_group, *line, *name, *tunables;
    } table[] = {
        {"64", "0", "-\tGM=2", "GM=2", "GM=2 (table cl/tuned/t.tsv:1; 1 to 16)"},
        {"64", "0", "-\tGM=16", "GM=4",
         "; not GM=16 (table cl/tuned/t.tsv:1): needs work-groups of 256 and"},
        {"64", "0", "W_DTYPE=F32,HAS_BIAS=1\tGM=16,TM=4", "GM=4,TM=8",
         "; not GM=16 (table cl/tuned/t.tsv:1), TM=4 (table cl/tuned/t.tsv:1): needs"},
        {"64", "0", "W_DTYPE=F16\tGM=16", "GM=4", "GM=4 (default; 1 to 16)"},
        {"32", "0", "-\tGM=2", "GM=2", "GM=2 (table"}, /* the defaults would not fit */
        {"256", "64", "-\tGM=16", "GM=4", "the device allows 64 for this kernel"},
    };
    setenv("OPENCL_LAYERS", GPU_LAYER, 1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[160];
        rig r;
        rig_linear linear;
        seen s = {0};
        setenv("TSR_GPU_GROUP", table[i].group, 1);
        setenv("TSR_GPU_KERNEL_GROUP", table[i].kernel_group, 1);
        snprintf(text, sizeof text,
                 "*\t*\tgpu\tlinear/tiled\t%s\n*\t*\tgpu\tlinear/tiled\t-\tscore=65\n",
                 table[i].line);
        begin_with(&r, text);
        rig_open(&r, pocl, false);
        cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
        cr_assert_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK, "%s", r.sentence);
        cr_expect_eq(rig_linear_error(&linear), 0.0);
        cr_expect_eq(r.backend->plan_explain(linear.plan, 0, see_chosen, &s), TSR_OK);
        cr_expect(strstr(s.name, "linear/tiled:"), "%s: %s", table[i].line, s.name);
        expect(&s, table[i].name, table[i].tunables);
        rig_linear_free(&r, &linear);
        rig_end(&r);
    }
}

/* Nor does it need a self-test: the driver says what the kernel takes. */
Test(opencl_tuning, a_line_that_the_kernel_does_not_take_gives_way_without_a_self_test) {
    rig r;
    rig_linear linear;
    seen s = {0};
    setenv("OPENCL_LAYERS", GPU_LAYER, 1);
    setenv("TSR_GPU_GROUP", "256", 1);
    setenv("TSR_GPU_KERNEL_GROUP", "64", 1);
    begin_with(&r, "*\t*\tgpu\tlinear/tiled\t-\tGM=16\n*\t*\tgpu\tlinear/tiled\t-\tscore=65\n");
    rig_open(&r, pocl, false);
    r.host.reference = NULL;
    cr_expect_eq(rig_linear_make(&r, r.dev, "linear=tiled:GM=16", &linear), TSR_E_UNSUPPORTED,
                 "a forced value is not given up: %s", r.sentence);
    rig_linear_free(&r, &linear);
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    cr_assert_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK, "%s", r.sentence);
    cr_expect_eq(rig_linear_error(&linear), 0.0);
    cr_expect_eq(r.backend->plan_explain(linear.plan, 0, see_chosen, &s), TSR_OK);
    expect(&s, "GM=4", "the device allows 64 for this kernel");
    cr_expect(strstr(r.log, "the device allows 64 for this kernel; its default values are used"),
              "%s", r.log);
    rig_linear_free(&r, &linear);
    rig_end(&r);
}

/* What is forced is not given up: it is an error. */
Test(opencl_tuning, a_forced_value_that_does_not_fit_is_refused) {
    rig r;
    rig_linear linear;
    setenv("OPENCL_LAYERS", GPU_LAYER, 1);
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    cr_expect_eq(rig_linear_make(&r, r.dev, "linear=tiled:GM=16", &linear), TSR_E_ARGUMENT);
    cr_expect(strstr(r.sentence, "(tiled: needs work-groups of 256 and "), "%s", r.sentence);
    rig_linear_free(&r, &linear);
    rig_end(&r);
}

/* The values among which linear/tiled is tuned. */
static void see_sub(void *data, const tsr_tunable_variant *variant) {
    tsr_tunable *sub = data;
    for (uint32_t i = 0; !strcmp(variant->variant, "tiled") && i < variant->n_tunables; i++)
        if (!strcmp(variant->tunables[i]->name, "SUB"))
            *sub = *variant->tunables[i];
}

static tsr_tunable tuned_sub(const rig *r) {
    const tsr_backend_tune *tune = r->backend->extension(r->state, "tsr.tune/1");
    const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    const tsr_tensor w = {.struct_size = sizeof w,
                          .dtype = TSR_F32,
                          .rank = 2,
                          .kind = TSR_KIND_WEIGHT,
                          .dim = {{.factor = 8}, {.factor = 8}},
                          .stride = {{.factor = 8}, {.factor = 1}}};
    tsr_tensor x = w;
    x.kind = TSR_KIND_ACTIVATION;
    const tsr_tensor *in[] = {&x, &w}, *out[] = {&x};
    const tsr_op op = rig_linear_op(2, in, out, &attrs, &bounds);
    tsr_tunable sub = {.value = -1};
    cr_assert_eq(tune->rows(r->dev, &op, see_sub, &sub), TSR_OK, "%s", r->sentence);
    return sub;
}

/* Opens pocl as the GPU of a profile. */
static void begin_as(rig *r, const char *profile) {
    char path[300];
    const char *source = getenv("TESSERA_SOURCE");
    if (!source)
        cr_skip_test("TESSERA_SOURCE isn't set");
    snprintf(path, sizeof path, "%.200s/tests/opencl/profiles/%s", source, profile);
    setenv("OPENCL_LAYERS", GPU_LAYER, 1);
    setenv("TSR_GPU_PROFILE", path, 1);
    rig_begin(r, NULL, NULL);
    rig_open(r, pocl, false);
}

Test(opencl_tuning, sizes_of_sub_groups_are_tried_where_a_kernel_can_ask_for_one) {
    rig r;
    rig_linear linear;
    begin_as(&r, "pvc");
    const tsr_tunable sub = tuned_sub(&r);
    cr_expect(sub.value == 16 && sub.lowest == 0 && sub.highest == 32, "%d, %d to %d", sub.value,
              sub.lowest, sub.highest);
    cr_expect_eq(rig_linear_make(&r, r.dev, "linear=tiled:SUB=4", &linear), TSR_E_ARGUMENT);
    cr_expect(strstr(r.sentence, "asks for sub-groups of 4; the device has 16, 32"), "%s",
              r.sentence);
    rig_linear_free(&r, &linear);
    rig_end(&r);
}

/* Elsewhere a search would time the same kernel again and again. */
Test(opencl_tuning, sizes_of_sub_groups_are_not_tried_elsewhere) {
    rig r;
    begin_as(&r, "sm_90");
    const tsr_tunable sub = tuned_sub(&r);
    cr_expect(sub.value == 0 && sub.lowest == 0 && sub.highest == 0, "%d, %d to %d", sub.value,
              sub.lowest, sub.highest);
    rig_end(&r);
}

/* --- tables that are wrong --- */

Test(opencl_tuning, wrong_tables) {
    static const struct {
        const char *text, *fragment;
    } table[] = {
        {"*\t*\t*\tlinear/packed\t-\n", "cl/tuned/t.tsv:1: a line has 6 fields"},
        {"#\n*\t*\t*\tlinear/packed\t-\tMR=1\t\n", "t.tsv:2: a line has 6 fields"},
        {"*\t*\t*\tlinear/packed\t\tMR=1\n", "t.tsv:1: a line has 6 fields"},
        {"*\t*\t*\tlinear/fastest\t-\tMR=1\n",
         "t.tsv:1: there is no kernel variant linear/fastest"},
        {"*\t*\t*\tlinear\t-\tMR=1\n", "there is no kernel variant linear"},
        {"*\t*\tnpu\tlinear/packed\t-\tMR=1\n", "type \"npu\" is not one of cpu, gpu"},
        {"#\n\n*\t*\tgpu\tlinear/packed\t-\tMR=99\n", "t.tsv:3: linear/packed takes MR from 1 to"},
        {"*\t*\t*\tlinear/packed\t-\tXY=1\n", "linear/packed has no tunable XY; it has MR"},
        {"*\t*\t*\tlinear/packed\trows=x\tMR=1\n", "\"rows=x\" is not a condition"},
        {"*\t*\t*\tlinear/packed\tcolumns=x\tMR=1\n", "\"columns=x\" is not a condition"},
        {"*\t*\t*\tlinear/packed\trows=9-2\tMR=1\n", "is not a condition"},
        {"*\t*\t*\tlinear/packed\tF32\tMR=1\n", "\"F32\" is not a condition"},
        {"*\t*\t*\tlinear/packed\t-\tscore=high\n", "is not a score"},
        {"*\t*\t*\tlinear/packed\tW_DTYPE=F32\tscore=5\n", "a score can depend on rows="},
        {"*\t*\t*\tlinear/packed\tcolumns=9\tscore=5\n", "a score can depend on rows="},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig r;
        begin_with(&r, table[i].text);
        tsr_dev *dev = NULL;
        uint32_t n = 0;
        cr_assert_eq(r.backend->device_count(r.state, &n), TSR_OK);
        tsr_status status = TSR_E_UNSUPPORTED;
        for (uint32_t d = 0; d < n && status == TSR_E_UNSUPPORTED; d++)
            status = rig_open_index(&r, d, false, &dev);
        if (status != TSR_E_UNSUPPORTED) {
            cr_expect_eq(status, TSR_E_FORMAT, "%s", table[i].text);
            cr_expect(strstr(r.sentence, table[i].fragment), "%s in \"%s\"", table[i].fragment,
                      r.sentence);
        }
        rig_end(&r);
    }
}

/* --- tuned on this machine --- */

static void keep_value(rig *r, const char *path, const char *condition, const char *values) {
    const tsr_backend_tune *tune = r->backend->extension(r->state, "tsr.tune/1");
    const tsr_tuned one = {.struct_size = sizeof one,
                           .op = "linear",
                           .variant = "packed",
                           .condition = condition,
                           .values = values,
                           .note = "a note"};
    const tsr_tuned *const all[] = {&one};
    cr_assert_not_null(tune);
    cr_assert_eq(tune->keep(r->dev, path, all, 1), TSR_OK, "%s", r->sentence);
}

static void open_again(rig *r) {
    r->backend->device_close(r->dev);
    r->dev = NULL;
    r->log[0] = 0;
    rig_open(r, pocl, false);
}

/* The only file of <cache>/tuned. */
static void tuned_file(const rig *r, char path[512]) {
    char folder[300];
    snprintf(folder, sizeof folder, "%s/tuned", r->cache);
    DIR *dir = opendir(folder);
    int n = 0;
    cr_assert_not_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.') {
            snprintf(path, 512, "%.250s/%.200s", folder, entry->d_name);
            n++;
        }
    closedir(dir);
    cr_assert_eq(n, 1);
}

static char *read_text(const char *path) {
    char *text = calloc(1, 65536);
    FILE *file = fopen(path, "r");
    cr_assert(file && text && fread(text, 1, 65535, file) > 0);
    fclose(file);
    return text;
}

static void write_text(const char *path, const char *text, size_t n) {
    FILE *file = fopen(path, "w");
    cr_assert(file && fwrite(text, 1, n, file) == n && fclose(file) == 0);
}

Test(opencl_tuning, tuned_here) {
    rig r;
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    (void)listed(&r);
    keep_value(&r, NULL, "W_DTYPE=F32,rows=9-63", "MR=2");
    keep_value(&r, NULL, "rows=64-", "MR=4");
    open_again(&r);
    seen s = listed(&r);
    expect(&s, "MR=2", "MR=2 (tuned here; 1 to ");
    keep_value(&r, NULL, "W_DTYPE=F32,rows=9-63", "MR=3");
    open_again(&r);
    s = packed_of(&r, NULL);
    expect(&s, "MR=3", "tuned here");
    s = packed_of(&r, "linear=packed:MR=5");
    expect(&s, "MR=5", "forced");
    cr_expect(!strstr(r.log, "is not used"), "%s", r.log);
    char path[512];
    tuned_file(&r, path);
    char *text = read_text(path);
    cr_expect(!strstr(text, "MR=2") && strstr(text, "MR=4"), "%s", text);
    free(text);
    rig_end(&r);
}

Test(opencl_tuning, a_damaged_or_foreign_file_is_not_used) {
    rig r;
    char path[512];
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    (void)listed(&r);
    keep_value(&r, NULL, "-", "MR=2");
    tuned_file(&r, path);
    char *text = read_text(path);
    const size_t n = strlen(text);
    for (size_t at = 0; at < n; at += 17) {
        text[at] ^= 1;
        write_text(path, text, n);
        text[at] ^= 1;
        ((char *)r.log)[0] = 0;
        r.backend->device_close(r.dev);
        r.backend->close(r.state);
        r.dev = NULL;
        const tsr_options none = {.struct_size = sizeof none};
        cr_assert_eq(r.backend->open(&r.host, &none, &r.state), TSR_OK);
        rig_open(&r, pocl, false);
        cr_expect(strstr(r.log, "is not used: "), "byte %zu: \"%s\"", at, r.log);
    }
    write_text(path, text, n / 2);
    open_again(&r);
    const seen s = listed(&r);
    expect(&s, "MR=", "default");
    free(text);
    rig_end(&r);
}

Test(opencl_tuning, a_table_is_written) {
    rig r;
    char path[300];
    rig_begin(&r, NULL, NULL);
    rig_open(&r, pocl, false);
    (void)listed(&r);
    snprintf(path, sizeof path, "%s/table.tsv", r.cache);
    write_text(path, "# a comment stays", 17);
    keep_value(&r, path, "rows=64-", "MR=2");
    keep_value(&r, path, "rows=64-", "MR=3");
    char *text = read_text(path);
    cr_expect(strstr(text, "# a comment stays\n#> a note\n"), "%s", text);
    cr_expect(strstr(text, "\tcpu\tlinear/packed\trows=64-\tMR=3\n"), "%s", text);
    cr_expect(!strstr(text, "MR=2"), "%s", text);
    free(text);
    rig_end(&r);
}
