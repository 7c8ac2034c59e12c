/* The backward pass of views: what several readers of the same columns give adds up. */
#include "graph/gradient.h"
#include "run/run.h"

#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <math.h>

enum { ROWS = 2, COLUMNS = 6, HALF = COLUMNS / 2, IN_SEED = 0, STATE_P = 0, STATE_D = 1 };

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

/* z = a c + a, where a and c are the left and right half of 2 p. */
static tsri_graph *halves(void) {
    tsri_graph *g;
    OK(tsri_graph_create(&g));
    const tsr_dim whole[] = {tsri_tensor_const(ROWS), tsri_tensor_const(COLUMNS)},
                  half[] = {tsri_tensor_const(ROWS), tsri_tensor_const(HALF)};
    const tsr_scale_attrs two = {.struct_size = sizeof two, .alpha = 2};
    const tsri_value p = tsri_graph_leaf(g, TSR_KIND_STATE, STATE_P, "p", TSR_F32, 2, whole),
                     d = tsri_graph_leaf(g, TSR_KIND_STATE, STATE_D, "d", TSR_F32, 2, whole),
                     seed = tsri_graph_leaf(g, TSR_KIND_INPUT, IN_SEED, "seed", TSR_F32, 2, half),
                     x = tsri_graph_op1(g, TSR_OP_SCALE, &two, &p, 1),
                     a = tsri_graph_slice(g, x, 1, 0, HALF),
                     c = tsri_graph_slice(g, x, 1, HALF, HALF),
                     left = tsri_graph_op1(g, TSR_OP_COPY, NULL, &a, 1),
                     again = tsri_graph_op1(g, TSR_OP_COPY, NULL, &a, 1),
                     right = tsri_graph_op1(g, TSR_OP_COPY, NULL, &c, 1),
                     product = tsri_graph_op1(g, TSR_OP_MUL, NULL, (tsri_value[]){left, right}, 2),
                     z = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){product, again}, 2);
    tsri_graph_output(g, 0, "z", z);
    tsri_graph_add_gradients(g, &(tsri_graph_gradients){.parameters = &(tsri_graph_parameter){p, d},
                                                        .n_parameters = 1,
                                                        .seeds = &(tsri_graph_seed){z, seed},
                                                        .n_seeds = 1,
                                                        .beta = TSRI_GRAPH_NONE});
    OK(tsri_graph_status(g));
    return g;
}

Test(gradients, of_columns_that_are_read_twice) {
    const tsri_backend_options none = {0};
    const tsr_bounds ones = {
        .struct_size = sizeof ones, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    const tsri_run_source source = {0};
    const float seed[ROWS * HALF] = {1, -2, 3, 0.5f, 4, -1};
    float p[ROWS * COLUMNS], d[ROWS * COLUMNS], z[ROWS * HALF];
    tsri_backend_set *set;
    tsri_backend_device *device;
    tsri_run_context *context;
    tsri_run_plan *plan;
    size_t index;
    tsri_graph *g = halves();
    OK(tsri_backend_set_open(&none, &set));
    OK(tsri_backend_select(set, "reference", 0, &index));
    OK(tsri_backend_device_open(set, index, NULL, &device));
    OK(tsri_run_create(&(tsri_run_options){.devices = &device, .n_devices = 1, .set = set},
                       &context));
    OK(tsri_run_load(context, g, &ones, &source));
    OK(tsri_run_prepare(context, g, &ones, &plan));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        p[i] = sinf((float)i);
    OK(tsri_run_write_state(context, STATE_P, p, sizeof p));
    const tsri_run_binding in = {.id = IN_SEED, .data = (void *)seed, .bytes = sizeof seed},
                           out = {.id = 0, .data = z, .bytes = sizeof z};
    OK(tsri_run_execute(plan, (int64_t[]){1, 1, 1, 1, 1}, &in, 1, &out, 1));
    OK(tsri_run_read_state(context, STATE_D, d, sizeof d));
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < HALF; k++) {
            const float a = 2 * p[r * COLUMNS + k], c = 2 * p[r * COLUMNS + HALF + k],
                        s = seed[r * HALF + k];
            cr_expect_float_eq(z[r * HALF + k], a * c + a, 1e-6f);
            cr_expect_float_eq(d[r * COLUMNS + k], 2 * s * (c + 1), 1e-5f, "left %d, %d: %g", r, k,
                               (double)d[r * COLUMNS + k]);
            cr_expect_float_eq(d[r * COLUMNS + HALF + k], 2 * s * a, 1e-5f, "right %d, %d", r, k);
        }
    tsri_run_destroy(&context);
    tsri_backend_device_close(&device);
    tsri_backend_set_close(&set);
    tsri_graph_destroy(&g);
}
