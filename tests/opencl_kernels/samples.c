/* opencl_kernels/samples.c - ops for the builds of a kernel variant: those of src/cases that fit
 * it. */
#include "recorder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { OPS = 128 };

static const tsri_opencl_facts cpu = {.common = {.type = TSR_DEVICE_CPU,
                                                 .compute_units = 64,
                                                 .max_work_group = 4096,
                                                 .local_memory = 1 << 20,
                                                 .compiler = 1},
                                      .cpu = true,
                                      .vector16 = true};
static const tsri_opencl_facts small_gpu = {.common = {.type = TSR_DEVICE_GPU,
                                                       .max_work_group = 64,
                                                       .local_memory = 32 << 10,
                                                       .int_dot = 1},
                                            .sub_groups = true};

tsri_opencl_facts sample_cpu(void) {
    return cpu;
}

tsri_opencl_facts sample_gpu(void) {
    return small_gpu;
}

/* ---- the ops ---- */

static void make_samples(tsr_op_id id, sample_list *out) {
    tsri_case_list list = {0};
    cr_assert_eq(tsri_cases_of(id, &list), TSR_OK, "%s", tsr_error_last());
    out->samples = calloc(list.n, sizeof *out->samples);
    cr_assert_not_null(out->samples);
    out->n = list.n;
    for (size_t i = 0; i < list.n; i++) {
        sample *s = &out->samples[i];
        cr_assert_eq(tsri_case_graph(&list.cases[i], &list.cases[i].attrs, &s->graph), TSR_OK, "%s",
                     tsr_error_last());
        tsri_case_bounds(&list.cases[i], &s->bounds);
        memcpy(s->name, list.cases[i].name, sizeof s->name);
        s->op = *tsri_graph_as_op(s->graph, tsri_graph_node_at(s->graph, 0), &s->store);
        s->op.bounds = &s->bounds;
    }
    free(list.cases);
}

const sample_list *samples_of(tsr_op_id id) {
    static sample_list lists[OPS];
    cr_assert_lt((int)id, OPS);
    if (!lists[id].samples)
        make_samples(id, &lists[id]);
    return &lists[id];
}

/* ---- those of a variant ---- */

/* On a device that has all that variants ask for. */
bool sample_fits(const tsri_opencl_variant *variant, const sample *s) {
    const char *why = "";
    for (int gpu = 0; gpu < 2; gpu++) {
        tsri_opencl_facts facts = gpu ? small_gpu : cpu;
        facts.extension_fp16 = true;
        if (!variant->fits || variant->fits(variant, &facts, &s->op, &why))
            return true;
    }
    return false;
}

/* What the variant and its stage define for the sample. */
static void define_all(const tsri_opencl_variant *variant, const sample *s,
                       tsri_opencl_defines *out) {
    *out = (tsri_opencl_defines){.variant = variant};
    if (variant->define)
        variant->define(variant, &s->op, out);
    const tsri_opencl_stage *stage = tsri_opencl_stage_of(variant, &s->op);
    if (stage && stage->define)
        stage->define(variant, &s->op, out);
}

/* Whether a line "#define NAME VALUE" is not among those `seen`. Of a number, two values are enough:
 * flags have no more, and sizes have too many. */
static bool is_news(const char *line, const char *seen) {
    const size_t name = strlen("#define ") + strcspn(line + strlen("#define "), " ");
    const bool number = strchr("-0123456789", line[name + 1]) != NULL;
    int values = 0;
    for (const char *at = seen; *at; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, line, name + 1) != 0)
            continue;
        if (!strncmp(at, line, strcspn(line, "\n") + 1))
            return false;
        values++;
    }
    return !number || values < 2;
}

/* Counts the lines of a text that are news, and adds them to what was seen where `keep`. */
static int news(const char *text, char *seen, bool keep) {
    int n = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (is_news(line, seen)) {
            n++;
            if (keep)
                strncat(seen, line, strcspn(line, "\n") + 1);
        }
    return n;
}

int choose_samples(const tsri_opencl_variant *variant, const sample *chosen[SAMPLES]) {
    const sample_list *all = samples_of(variant->op);
    char seen[SAMPLES * sizeof((tsri_opencl_defines *)NULL)->text] = "";
    int n = 0;
    for (; n < SAMPLES; n++) {
        tsri_opencl_defines defines;
        const sample *best = NULL;
        int most = -1;
        for (size_t i = 0; i < all->n; i++) {
            if (!sample_fits(variant, &all->samples[i]))
                continue;
            define_all(variant, &all->samples[i], &defines);
            const int gain = news(defines.text, seen, false);
            if (gain > most) {
                most = gain;
                best = &all->samples[i];
            }
        }
        if (!best || (n >= 2 && most == 0))
            break;
        define_all(variant, best, &defines);
        news(defines.text, seen, true);
        chosen[n] = best;
    }
    return n;
}
