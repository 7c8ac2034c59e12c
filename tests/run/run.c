/* Placement, weights, states and copies of run/, on the reference and on whatever device is the
 * default. */
#include "run/run.h"

#include "base/error.h"
#include "run/context.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { C = 12, CAPACITY = 8 };
enum { IN_X, IN_PAST, IN_LEN };

static const tsr_dim B = {.factor = 1, .symbols = TSR_SYM_B},
                     T = {.factor = 1, .symbols = TSR_SYM_T};

static tsr_dim n(int64_t size) {
    return tsri_tensor_const(size);
}

/* Two layers, y = gelu(x W0), z = y W1 + y; W1 and W0 are 12 x 12. */
static tsri_graph *two_layers(void) {
    tsri_graph *g;
    cr_assert_eq(tsri_graph_create(&g), TSR_OK);
    const tsr_linear_attrs gelu = {.struct_size = sizeof gelu,
                                   .trans_w = 1,
                                   .activation = TSR_ACT_GELU},
                           plain = {.struct_size = sizeof plain, .trans_w = 1};
    const tsri_value x =
        tsri_graph_leaf(g, TSR_KIND_INPUT, IN_X, "x", TSR_F32, 3, (tsr_dim[]){B, T, n(C)});
    tsri_value w[2];
    for (uint32_t i = 0; i < 2; i++)
        w[i] = tsri_graph_leaf(g, TSR_KIND_WEIGHT, i, i ? "w1" : "w0", TSR_F32, 2,
                               (tsr_dim[]){n(C), n(C)});
    tsri_graph_scope(g, 0, "layers.0");
    const tsri_value y = tsri_graph_op1(g, TSR_OP_LINEAR, &gelu, (tsri_value[]){x, w[0]}, 2);
    tsri_graph_scope(g, 1, "layers.1");
    const tsri_value z =
        tsri_graph_op1(g, TSR_OP_LINEAR, &plain, (tsri_value[]){y, w[1], TSRI_GRAPH_NONE, y}, 4);
    tsri_graph_output(g, 0, "z", z);
    tsri_graph_output(g, 1, "y", y);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

static tsr_status rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                       void *out) {
    (void)data;
    cr_assert_eq(dtype, TSR_F32);
    for (int64_t i = 0; i < count * C; i++)
        ((float *)out)[i] = sinf((float)(first * C + i) + 100.0f * (float)id);
    return TSR_OK;
}

static const tsri_run_source source = {.rows = rows};

typedef struct rig {
    tsri_backend_set *set;
    tsri_backend_device *devices[2];
    size_t n;
    tsri_run_context *context;
} rig;

static void open_rig(rig *r, const char *first, const char *second) {
    const tsri_backend_options none = {0};
    const char *names[] = {first, second};
    *r = (rig){.n = second ? 2 : 1};
    cr_assert_eq(tsri_backend_set_open(&none, &r->set), TSR_OK, "%s", tsr_error_last());
    for (size_t i = 0; i < r->n; i++) {
        size_t index;
        if (tsri_backend_select(r->set, names[i], 0, &index) != TSR_OK)
            cr_skip_test("%s", tsr_error_last());
        cr_assert_eq(tsri_backend_device_open(r->set, index, NULL, &r->devices[i]), TSR_OK, "%s",
                     tsr_error_last());
    }
    const tsri_run_options options = {.devices = r->devices, .n_devices = r->n, .set = r->set};
    cr_assert_eq(tsri_run_create(&options, &r->context), TSR_OK, "%s", tsr_error_last());
}

static void close_rig(rig *r) {
    tsri_run_destroy(&r->context);
    for (size_t i = 0; i < r->n; i++)
        tsri_backend_device_close(&r->devices[i]);
    tsri_backend_set_close(&r->set);
}

static const tsr_bounds bounds = {
    .struct_size = sizeof bounds, .lowest = {1, 1, 0, 0, 0}, .highest = {3, 5, 1, 1, 1}};

static void run_two_layers(rig *r, const tsri_graph *g, int64_t batch, int64_t tokens, float *z,
                           float *y) {
    const size_t count = (size_t)(batch * tokens * C);
    const int64_t sizes[TSR_SYMBOLS] = {batch, tokens, 0, 0, 0};
    float *x = malloc(count * sizeof *x);
    tsri_run_plan *plan;
    for (size_t i = 0; i < count; i++)
        x[i] = cosf((float)i);
    cr_assert_eq(tsri_run_load(r->context, g, &bounds, &source), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_prepare(r->context, g, &bounds, &plan), TSR_OK, "%s", tsr_error_last());
    const tsri_run_binding in = {.id = IN_X, .data = x, .bytes = count * sizeof *x};
    const tsri_run_binding out[] = {{.id = 0, .data = z, .bytes = count * sizeof *z},
                                    {.id = 1, .data = y, .bytes = count * sizeof *y}};
    cr_assert_eq(tsri_run_execute(plan, sizes, &in, 1, out, y ? 2 : 1), TSR_OK, "%s",
                 tsr_error_last());
    free(x);
}

Test(run, layers_over_two_devices_give_what_one_gives) {
    float z[2][2 * 5 * C], y[2][2 * 5 * C];
    tsri_graph *g = two_layers();
    for (int split = 0; split < 2; split++) {
        rig r;
        open_rig(&r, "reference", split ? "opencl" : NULL);
        run_two_layers(&r, g, 2, 5, z[split], y[split]);
        tsri_run_plan *plan;
        cr_assert_eq(tsri_run_prepare(r.context, g, &bounds, &plan), TSR_OK);
        for (size_t i = 0; i < tsri_run_step_count(plan); i++) {
            tsri_run_step step;
            cr_assert_eq(tsri_run_step_at(plan, i, &step), TSR_OK);
            cr_assert_eq(step.device, split ? i : 0u, "%s", step.label);
        }
        close_rig(&r);
    }
    for (int i = 0; i < 2 * 5 * C; i++) {
        cr_assert_float_eq(z[0][i], z[1][i], 1e-4f, "z[%d]: %g, %g", i, (double)z[0][i],
                           (double)z[1][i]);
        cr_assert_float_eq(y[0][i], y[1][i], 1e-4f);
    }
    tsri_graph_destroy(&g);
}

Test(run, one_plan_serves_all_sizes_within_its_bounds) {
    rig r;
    float one[C], all[3 * 5 * C];
    tsri_graph *g = two_layers();
    open_rig(&r, "reference", NULL);
    run_two_layers(&r, g, 3, 5, all, NULL);
    run_two_layers(&r, g, 1, 1, one, NULL);
    cr_assert_arr_eq(one, all, sizeof one); /* the first row has the same input */
    tsri_run_plan *plan;
    cr_assert_eq(tsri_run_prepare(r.context, g, &bounds, &plan), TSR_OK);
    const int64_t sizes[TSR_SYMBOLS] = {1, 6, 0, 0, 0};
    cr_assert_eq(tsri_run_execute(plan, sizes, NULL, 0, NULL, 0), TSR_E_ARGUMENT);
    cr_assert(strstr(tsr_error_last(), "is 6; the plan is for 1 to 5"), "%s", tsr_error_last());
    const int64_t none[TSR_SYMBOLS] = {0, 5, 0, 0, 0};
    cr_assert_eq(tsri_run_execute(plan, none, NULL, 0, NULL, 0), TSR_E_ARGUMENT);
    cr_assert(strstr(tsr_error_last(), "is 0; the plan is for 1 to 3"), "%s", tsr_error_last());
    close_rig(&r);
    tsri_graph_destroy(&g);
}

/* Two runs under way, each of which reads on the device what the one before it computed. */
static void fed_by_the_run_before(const char *device) {
    enum { N = 2 * 3 * C, STEPS = 5 };
    const int64_t sizes[TSR_SYMBOLS] = {2, 3, 0, 0, 0};
    float want[STEPS][N], got[STEPS][N];
    tsri_run_reads reads[2];
    tsri_run_plan *plan;
    rig r;
    tsri_graph *g = two_layers();
    open_rig(&r, device, NULL);
    run_two_layers(&r, g, 2, 3, want[0], NULL);
    cr_assert_eq(tsri_run_prepare(r.context, g, &bounds, &plan), TSR_OK);
    for (int i = 1; i < STEPS; i++) {
        const tsri_run_binding in = {.id = IN_X, .data = want[i - 1], .bytes = sizeof *want},
                               out = {.id = 0, .data = want[i], .bytes = sizeof *want};
        cr_assert_eq(tsri_run_execute(plan, sizes, &in, 1, &out, 1), TSR_OK);
    }
    run_two_layers(&r, g, 2, 3, got[0], NULL);
    for (int i = 1; i <= STEPS; i++) {
        const tsri_run_binding in = {.id = IN_X, .bytes = sizeof *got, .from = plan, .output = 0},
                               out = {.id = 0, .data = got[i % STEPS], .bytes = sizeof *got};
        if (i < STEPS)
            cr_assert_eq(tsri_run_start(plan, sizes, &in, 1, &out, 1, &reads[i % 2]), TSR_OK, "%s",
                         tsr_error_last());
        if (i > 1)
            cr_assert_eq(tsri_run_finish(&reads[(i - 1) % 2]), TSR_OK, "%s", tsr_error_last());
    }
    for (int i = 0; i < STEPS; i++)
        cr_expect_arr_eq(got[i], want[i], sizeof *got, "step %d", i);
    cr_expect(want[1][5] != want[2][5]);
    close_rig(&r);
    tsri_graph_destroy(&g);
}

Test(run, a_run_reads_what_the_one_before_left_on_the_device) {
    fed_by_the_run_before("reference");
}

Test(run, a_run_reads_what_the_one_before_left_on_the_device_on_opencl) {
    fed_by_the_run_before("opencl");
}

/* An output that is a part of what was computed, and not its first. */
static void part_of_a_row(const char *device) {
    enum { FROM = 8, PART = 4 };
    const tsr_scale_attrs twice = {.struct_size = sizeof twice, .alpha = 2};
    const int64_t sizes[TSR_SYMBOLS] = {1, 1, 0, 0, 0};
    float x[C], y[PART];
    rig r;
    tsri_graph *g;
    tsri_run_plan *plan;
    open_rig(&r, device, NULL);
    cr_assert_eq(tsri_graph_create(&g), TSR_OK);
    const tsri_value in =
        tsri_graph_leaf(g, TSR_KIND_INPUT, IN_X, "x", TSR_F32, 1, (tsr_dim[]){n(C)});
    const tsri_value whole = tsri_graph_op1(g, TSR_OP_SCALE, &twice, &in, 1);
    tsri_graph_output(g, 0, "part", tsri_graph_slice(g, whole, 0, FROM, PART));
    for (int i = 0; i < C; i++)
        x[i] = (float)i;
    const tsri_run_binding given = {.id = IN_X, .data = x, .bytes = sizeof x},
                           wanted = {.id = 0, .data = y, .bytes = sizeof y};
    cr_assert_eq(tsri_run_prepare(r.context, g, &bounds, &plan), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_execute(plan, sizes, &given, 1, &wanted, 1), TSR_OK, "%s",
                 tsr_error_last());
    for (int i = 0; i < PART; i++)
        cr_assert(y[i] == 2.0f * (float)(FROM + i), "%d: %g", i, (double)y[i]);
    close_rig(&r);
    tsri_graph_destroy(&g);
}

Test(run, an_output_may_be_a_part) {
    part_of_a_row("reference");
}

Test(run, an_output_may_be_a_part_on_opencl) {
    part_of_a_row("opencl");
}

Test(run, wrong_amounts_of_input_and_output_are_refused) {
    rig r;
    float x[C] = {0}, z[C];
    const int64_t sizes[TSR_SYMBOLS] = {1, 1, 0, 0, 0};
    tsri_graph *g = two_layers();
    tsri_run_plan *plan;
    open_rig(&r, "reference", NULL);
    cr_assert_eq(tsri_run_load(r.context, g, &bounds, &source), TSR_OK);
    cr_assert_eq(tsri_run_prepare(r.context, g, &bounds, &plan), TSR_OK);
    tsri_run_binding in = {.id = IN_X, .data = x, .bytes = sizeof x - 4},
                     out = {.id = 0, .data = z, .bytes = sizeof z};
    cr_assert_eq(tsri_run_execute(plan, sizes, &in, 1, &out, 1), TSR_E_ARGUMENT);
    cr_assert(strstr(tsr_error_last(), "input x: 44 bytes are given, 48 are needed"), "%s",
              tsr_error_last());
    in.bytes = sizeof x;
    out.id = 9;
    cr_assert_eq(tsri_run_execute(plan, sizes, &in, 1, &out, 1), TSR_E_ARGUMENT);
    out = (tsri_run_binding){.id = 0, .data = z, .bytes = 4};
    cr_assert_eq(tsri_run_execute(plan, sizes, &in, 1, &out, 1), TSR_E_ARGUMENT);
    close_rig(&r);
    tsri_graph_destroy(&g);
}

Test(run, what_does_not_fit_is_refused_before_the_first_buffer) {
    rig r;
    tsri_graph *g = two_layers();
    open_rig(&r, "reference", NULL);
    tsri_run_memory memory;
    tsr_facts *facts = &r.devices[0]->facts, real = *facts;
    facts->memory = 512; /* less than one weight */
    cr_assert_eq(tsri_run_load(r.context, g, &bounds, &source), TSR_E_DEVICE_MEMORY);
    cr_assert(strstr(tsr_error_last(), "shorter context (-c), smaller weights (--dtype f16), or"),
              "%s", tsr_error_last());
    *facts = real;
    facts->max_allocation = 100;
    cr_assert_eq(tsri_run_load(r.context, g, &bounds, &source), TSR_E_DEVICE_MEMORY);
    cr_assert(strstr(tsr_error_last(), "weight w0 needs"), "%s", tsr_error_last());
    tsri_run_memory_of(r.context, &memory);
    cr_assert_eq(memory.weights + memory.arena + memory.states, 0);
    *facts = real;
    cr_assert_eq(tsri_run_load(r.context, g, &bounds, &source), TSR_OK, "%s", tsr_error_last());
    tsri_run_memory_of(r.context, &memory);
    cr_assert_geq(memory.weights, 2u * C * C * 4);
    close_rig(&r);
    tsri_graph_destroy(&g);
}

/* y is the sum of six values, which all live until the last of them is made. */
static tsri_graph *six_values(void) {
    const tsr_scale_attrs twice = {.struct_size = sizeof twice, .alpha = 2};
    tsri_graph *g;
    tsri_value all[6], y;
    cr_assert_eq(tsri_graph_create(&g), TSR_OK);
    y = tsri_graph_leaf(g, TSR_KIND_INPUT, IN_X, "x", TSR_F32, 3, (tsr_dim[]){B, T, n(C)});
    tsri_graph_scope(g, 0, "values");
    for (int i = 0; i < 6; i++)
        y = all[i] = tsri_graph_op1(g, TSR_OP_SCALE, &twice, &y, 1);
    for (int i = 0; i < 5; i++)
        y = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){y, all[i]}, 2);
    tsri_graph_output(g, 0, "y", y);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

enum { VALUE = 3 * 5 * C }; /* elements of a value at the bounds: 720 bytes */

/* Runs it where the largest buffer has this many bytes; 0: as it is. Returns the number of arenas. */
static size_t sum_of_six(const char *device, uint64_t largest, float y[VALUE]) {
    const int64_t sizes[TSR_SYMBOLS] = {3, 5, 0, 0, 0};
    float x[VALUE];
    rig r;
    tsri_run_plan *plan;
    tsri_graph *g = six_values();
    open_rig(&r, device, NULL);
    if (largest)
        r.devices[0]->facts.max_allocation = largest;
    for (int i = 0; i < VALUE; i++)
        x[i] = cosf((float)i);
    const tsri_run_binding in = {.id = IN_X, .data = x, .bytes = sizeof x},
                           out = {.id = 0, .data = y, .bytes = sizeof x};
    cr_assert_eq(tsri_run_load(r.context, g, &bounds, &source), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_prepare(r.context, g, &bounds, &plan), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_poison(plan), TSR_OK);
    cr_assert_eq(tsri_run_execute(plan, sizes, &in, 1, &out, 1), TSR_OK, "%s", tsr_error_last());
    const tsri_run_slot *slot = &r.context->slots[0];
    const size_t n = slot->n_arenas;
    for (size_t i = 0; i < n; i++)
        cr_expect(!largest || slot->arenas[i].bytes <= largest);
    close_rig(&r);
    tsri_graph_destroy(&g);
    return n;
}

static void several_arenas(const char *device) {
    float one[VALUE], several[VALUE];
    cr_expect_eq(sum_of_six(device, 0, one), 1);
    cr_expect_geq(sum_of_six(device, 1600, several), 3); /* two values in each */
    cr_expect_arr_eq(one, several, sizeof one);
    for (int i = 0; i < VALUE; i++)
        cr_expect_float_eq(one[i], 126 * cosf((float)i), 1e-3f, "%d: %g", i, (double)one[i]);
}

Test(run, activations_lie_in_as_many_buffers_as_they_need) {
    several_arenas("reference");
}

Test(run, activations_lie_in_as_many_buffers_as_they_need_on_opencl) {
    several_arenas("opencl");
}

/* A training's first sizes are those of its plan; those of a model that is only loaded are not. */
Test(run, a_result_that_is_larger_than_a_buffer_is_refused_by_name) {
    rig r;
    tsri_run_plan *plan;
    tsri_graph *g = six_values();
    open_rig(&r, "reference", NULL);
    r.devices[0]->facts.max_allocation = 700;
    cr_assert_eq(tsri_run_load(r.context, g, &bounds, &source), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_prepare(r.context, g, &bounds, &plan), TSR_E_DEVICE_MEMORY);
    cr_expect(strstr(tsr_error_last(), "values: a result of scale needs") &&
                  strstr(tsr_error_last(), "use smaller batches, shorter texts or another device"),
              "%s", tsr_error_last());
    r.context->options.trains = true;
    cr_assert_eq(tsri_run_load(r.context, g, &bounds, &source), TSR_E_DEVICE_MEMORY);
    cr_expect(strstr(tsr_error_last(), "in one buffer") &&
                  strstr(tsr_error_last(), "--gradient-checkpointing"),
              "%s", tsr_error_last());
    close_rig(&r);
    tsri_graph_destroy(&g);
}

static const uint32_t state_id = UINT32_MAX; /* ids are numbers of any size */

/* Appends x to a state of the given capacity and attends to it with itself as query. */
static tsri_graph *with_state(int64_t capacity, tsr_dtype dtype) {
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value x =
        tsri_graph_leaf(g, TSR_KIND_INPUT, IN_X, "x", TSR_F32, 4, (tsr_dim[]){B, T, n(1), n(C)});
    const tsri_value past = tsri_graph_leaf(g, TSR_KIND_INPUT, IN_PAST, "past", TSR_I32, 1, &B),
                     len = tsri_graph_leaf(g, TSR_KIND_INPUT, IN_LEN, "len", TSR_I32, 1, &B);
    const tsri_value state = tsri_graph_leaf(g, TSR_KIND_STATE, state_id, "state", dtype, 4,
                                             (tsr_dim[]){n(2), n(1), n(capacity), n(C)});
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs, .causal = 1, .scale = 0.1f};
    tsri_graph_op(g, TSR_OP_KV_APPEND, NULL, (tsri_value[]){state, x, past, len}, 4, 0, NULL);
    const tsri_value keys = tsri_graph_permute(g, state, (uint32_t[]){0, 2, 1, 3});
    tsri_graph_output(
        g, 0, "y",
        tsri_graph_op1(g, TSR_OP_ATTENTION, &attrs, (tsri_value[]){x, keys, keys, past, len}, 5));
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

static const tsr_bounds two = {.struct_size = sizeof two, /* the state has two sequences */
                               .lowest = {1, 1, 0, 0, 0},
                               .highest = {2, 5, 1, 1, 1}};

static void step(rig *r, const tsri_graph *g, int32_t past_tokens, const float *x, float *y) {
    const int32_t past[] = {past_tokens, past_tokens}, len[] = {past_tokens + 2, past_tokens + 1};
    const int64_t sizes[TSR_SYMBOLS] = {2, 2, 0, 0, 0};
    const tsri_run_binding in[] = {{.id = IN_X, .data = (void *)x, .bytes = 2 * 2 * C * 4},
                                   {.id = IN_PAST, .data = (void *)past, .bytes = sizeof past},
                                   {.id = IN_LEN, .data = (void *)len, .bytes = sizeof len}};
    const tsri_run_binding out = {.id = 0, .data = y, .bytes = 2 * 2 * C * 4};
    tsri_run_plan *plan;
    cr_assert_eq(tsri_run_prepare(r->context, g, &two, &plan), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_execute(plan, sizes, in, 3, &out, 1), TSR_OK, "%s", tsr_error_last());
}

static void fill(float x[2][2 * 2 * C]) {
    for (int i = 0; i < 2 * 2 * C; i++) {
        x[0][i] = sinf((float)i);
        x[1][i] = cosf((float)i);
    }
}

/* A device that has memory for one state at a time, or for none. */
static tsr_backend scarce;
static const tsr_backend *ample;
static tsr_buf *only;
static bool nothing;

static tsr_status create_alone(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **buf) {
    if (spec->kind != TSR_KIND_STATE)
        return ample->buffer_create(dev, spec, buf);
    if (only || nothing)
        return tsri_base_fail(TSR_E_DEVICE_MEMORY, "no memory is left");
    TRY(ample->buffer_create(dev, spec, buf));
    only = *buf;
    return TSR_OK;
}

static void destroy_alone(tsr_buf *buf) {
    only = buf == only ? NULL : only;
    ample->buffer_destroy(buf);
}

static void make_scarce(rig *r) {
    ample = r->devices[0]->backend;
    scarce = *ample;
    scarce.buffer_create = create_alone;
    scarce.buffer_destroy = destroy_alone;
    only = tsri_run_state_find(r->context, state_id)->buf;
    nothing = false;
    r->devices[0]->backend = &scarce;
}

/* A state that has another size from the second step on keeps what both sizes have. `alone`: the device
 * has memory for one of them at a time. */
static void resize(const char *device, tsr_dtype dtype, int64_t before, int64_t after, bool alone) {
    float x[2][2 * 2 * C], straight[2][2 * 2 * C], resized[2][2 * 2 * C];
    fill(x);
    tsri_graph *old = with_state(before, dtype), *new = with_state(after, dtype);
    rig r;
    open_rig(&r, device, NULL);
    step(&r, new, 0, x[0], straight[0]);
    step(&r, new, 2, x[1], straight[1]);
    close_rig(&r);
    open_rig(&r, device, NULL);
    step(&r, old, 0, x[0], resized[0]);
    if (alone)
        make_scarce(&r);
    step(&r, new, 2, x[1], resized[1]);
    close_rig(&r);
    /* sequence 1 has one new token in each step: its second row is padding */
    for (int s = 0; s < 2; s++)
        cr_assert_arr_eq(straight[s], resized[s], 3 * C * sizeof(float), "step %d", s);
    tsri_graph_destroy(&old);
    tsri_graph_destroy(&new);
}

Test(run, states_keep_their_contents_when_they_grow) {
    resize("reference", TSR_F32, CAPACITY, 2 * CAPACITY, false);
    resize("reference", TSR_F16, CAPACITY, 2 * CAPACITY, false);
}

Test(run, states_keep_their_contents_when_they_grow_on_opencl) {
    resize("opencl", TSR_F32, CAPACITY, 2 * CAPACITY, false);
    resize("opencl", TSR_F16, CAPACITY, 2 * CAPACITY, false);
}

Test(run, states_keep_their_contents_when_they_shrink) {
    resize("reference", TSR_F32, 2 * CAPACITY, CAPACITY, false);
    resize("reference", TSR_F16, 2 * CAPACITY, CAPACITY, false);
    resize("reference", TSR_F32, 2 * CAPACITY, CAPACITY, true);
}

Test(run, states_keep_their_contents_when_they_shrink_on_opencl) {
    resize("opencl", TSR_F32, 2 * CAPACITY, CAPACITY, false);
    resize("opencl", TSR_F16, 2 * CAPACITY, CAPACITY, true);
}

/* A state whose memory was given up, and that could then not be made, does not begin with zeros. */
Test(run, a_lost_state_is_told) {
    float x[2][2 * 2 * C], first[2 * 2 * C], again[2 * 2 * C];
    tsri_run_plan *plan;
    fill(x);
    tsri_graph *small = with_state(CAPACITY, TSR_F32), *large = with_state(2 * CAPACITY, TSR_F32);
    rig r;
    open_rig(&r, "reference", NULL);
    step(&r, large, 0, x[0], first);
    make_scarce(&r);
    nothing = true;
    cr_expect_eq(tsri_run_prepare(r.context, small, &two, &plan), TSR_E_DEVICE_MEMORY);
    nothing = false;
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(tsri_run_prepare(r.context, i ? large : small, &two, &plan),
                     TSR_E_DEVICE_MEMORY);
        cr_expect(strstr(tsr_error_last(), "keys and values were lost"), "%s", tsr_error_last());
    }
    tsri_run_forget(r.context, large);
    tsri_run_drop_states(r.context, state_id, 1);
    step(&r, small, 0, x[0], again);
    cr_expect_arr_eq(first, again, 3 * C * sizeof(float));
    close_rig(&r);
    tsri_graph_destroy(&small);
    tsri_graph_destroy(&large);
}

static void read_and_write(const char *device) {
    float x[2 * 2 * C], y[2 * 2 * C], state[2 * CAPACITY * C], zero[C] = {0};
    for (int i = 0; i < 2 * 2 * C; i++)
        x[i] = sinf((float)i);
    tsri_graph *g = with_state(CAPACITY, TSR_F32);
    rig r;
    open_rig(&r, device, NULL);
    cr_expect_neq(tsri_run_read_state(r.context, state_id, state, 4), TSR_OK, "of no plan so far");
    step(&r, g, 0, x, y);
    cr_assert_eq(tsri_run_read_state(r.context, state_id, state, sizeof state), TSR_OK);
    cr_expect_arr_eq(state, x, 2 * C * sizeof(float), "the first sequence's two tokens");
    cr_assert_eq(tsri_run_write_state(r.context, state_id, zero, sizeof zero), TSR_OK);
    cr_assert_eq(tsri_run_read_state(r.context, state_id, state, sizeof state), TSR_OK);
    cr_expect_arr_eq(state, zero, sizeof zero);
    cr_expect_arr_eq(&state[C], &x[C], sizeof zero, "what is behind it stays");
    cr_expect_neq(tsri_run_write_state(r.context, state_id, zero, sizeof state + 4), TSR_OK);
    close_rig(&r);
    tsri_graph_destroy(&g);
}

Test(run, the_host_reads_and_writes_states) {
    read_and_write("reference");
}

Test(run, the_host_reads_and_writes_states_on_opencl) {
    read_and_write("opencl");
}

/* ---- a weight that is read in more than one block ---- */

enum { ROWS = 40000, COLUMNS = 64 }; /* 10 MB of f32: three blocks of 4 MiB at most */

static float wide_at(int64_t row, int64_t column) {
    return (float)(row * COLUMNS + column); /* below 2^24: each differs */
}

static tsr_status wide_rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                            void *out) {
    (void)data, (void)id;
    cr_assert_eq(dtype, TSR_F32);
    for (int64_t i = 0; i < count * COLUMNS; i++)
        ((float *)out)[i] = wide_at(first + i / COLUMNS, i % COLUMNS);
    return TSR_OK;
}

/* Rows from all over the weight, which one thread or several give. */
static void read_wide(const char *device, bool parallel) {
    enum { IDS = 211 };
    int32_t ids[IDS];
    const tsr_embed_attrs attrs = {.struct_size = sizeof attrs, .scale = 1};
    const int64_t sizes[TSR_SYMBOLS] = {1, IDS, 0, 0, 0};
    const tsr_bounds wide = {.struct_size = sizeof wide, .highest = {1, IDS, 0, 0, IDS}};
    const tsri_run_source from = {.rows = wide_rows, .parallel = parallel};
    static float y[IDS * COLUMNS];
    tsri_graph *g;
    tsri_run_plan *plan;
    rig r;
    cr_assert_eq(tsri_graph_create(&g), TSR_OK);
    const tsri_value table = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "table", TSR_F32, 2,
                                             (tsr_dim[]){n(ROWS), n(COLUMNS)});
    const tsri_value wanted =
        tsri_graph_leaf(g, TSR_KIND_INPUT, IN_X, "ids", TSR_I32, 2, (tsr_dim[]){B, T});
    tsri_graph_output(g, 0, "y",
                      tsri_graph_op1(g, TSR_OP_EMBED, &attrs, (tsri_value[]){table, wanted}, 2));
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    open_rig(&r, device, NULL);
    cr_assert_eq(tsri_run_load(r.context, g, &wide, &from), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_run_prepare(r.context, g, &wide, &plan), TSR_OK, "%s", tsr_error_last());
    for (int i = 0; i < IDS; i++)
        ids[i] = (int32_t)((int64_t)i * (ROWS - 1) / (IDS - 1));
    const tsri_run_binding in = {.id = IN_X, .data = ids, .bytes = sizeof ids};
    const tsri_run_binding out = {.id = 0, .data = y, .bytes = sizeof y};
    cr_assert_eq(tsri_run_execute(plan, sizes, &in, 1, &out, 1), TSR_OK, "%s", tsr_error_last());
    for (int i = 0; i < IDS * COLUMNS; i++)
        cr_assert_eq(y[i], wide_at(ids[i / COLUMNS], i % COLUMNS), "row %d: %g", ids[i / COLUMNS],
                     (double)y[i]);
    close_rig(&r);
    tsri_graph_destroy(&g);
}

Test(run, a_weight_may_take_several_blocks) {
    read_wide("reference", false);
    read_wide("reference", true);
}

Test(run, a_weight_may_take_several_blocks_on_opencl) {
    read_wide("opencl", false);
    read_wide("opencl", true);
}
