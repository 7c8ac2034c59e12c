/* The reference backend by itself: results that need no golden, and calls that it refuses. */
#include "backend/host.h"
#include "support/direct.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(reference, topk_and_argmax_order_ties_by_index_and_nan_last) {
    const float x[] = {1, NAN, 7, 7, -INFINITY, 3, 7, NAN};
    const int64_t in[] = {1, 8}, best[] = {1, 8}, one[] = {1};
    float values[8], lse[1];
    int32_t indices[8], first[1];
    const tsr_topk_attrs attrs = {.struct_size = sizeof attrs, .k = 8};
    const tsr_tensor tensors[] = {direct_tensor(TSR_F32, 2, in), direct_tensor(TSR_F32, 2, best),
                                  direct_tensor(TSR_I32, 2, best), direct_tensor(TSR_F32, 1, one)};
    void *data[] = {(void *)(uintptr_t)x, values, indices, NULL};
    const size_t bytes[] = {sizeof x, sizeof values, sizeof indices, sizeof lse};
    cr_assert_eq(direct_run(TSR_OP_TOPK, &attrs, 1, 3, tensors, data, bytes), TSR_OK);
    const int32_t want[] = {2, 3, 6, 5, 0, 4, 1, 7};
    cr_expect_arr_eq(indices, want, sizeof want);
    cr_expect(values[0] == 7 && values[3] == 3 && isnan(values[6]));
    data[3] = lse;
    cr_assert_eq(direct_run(TSR_OP_TOPK, &attrs, 1, 3, tensors, data, bytes), TSR_OK);
    cr_expect(isnan(lse[0]), "log-sum-exp: %g", lse[0]);

    const tsr_tensor argmax[] = {tensors[0], direct_tensor(TSR_I32, 1, one)};
    void *argmax_data[] = {(void *)(uintptr_t)x, first};
    cr_assert_eq(direct_run(TSR_OP_ARGMAX, NULL, 1, 1, argmax, argmax_data,
                            (const size_t[]){sizeof x, sizeof first}),
                 TSR_OK);
    cr_expect_eq(first[0], 2);

    static const struct {
        float x[8];
        int32_t wanted;
    } odd[] = {{{NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, -1},
               {{NAN, -INFINITY, -INFINITY, NAN, NAN, NAN, NAN, NAN}, -2},
               {{1, NAN, 7, INFINITY, -INFINITY, 3, 7, NAN}, -3}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        float row[8]; /* all operands are read back */
        memcpy(row, odd[i].x, sizeof row);
        argmax_data[0] = row;
        cr_assert_eq(direct_run(TSR_OP_ARGMAX, NULL, 1, 1, argmax, argmax_data,
                                (const size_t[]){sizeof row, sizeof first}),
                     TSR_OK);
        cr_expect_eq(first[0], odd[i].wanted, "row %zu: %d", i, first[0]);
    }
}

/* Sequence 0: a key that is infinite, and a query that is not a number; sequence 1 has no key. */
Test(reference, attention_shows_scores_that_overflow) {
    const int64_t dims[] = {2, 2, 1, 1}, lse_dims[] = {2, 1, 2}, b[] = {2};
    float q[] = {1, NAN, 1, NAN}, k[] = {1, INFINITY, 1, 1}, v[] = {1, 2, 3, 4}, y[4], lse[4];
    int32_t len[] = {2, 0};
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs, .scale = 1};
    const tsr_tensor x = direct_tensor(TSR_F32, 4, dims), n = direct_tensor(TSR_I32, 1, b),
                     tensors[] = {x, x, x, n, n, x, direct_tensor(TSR_F32, 3, lse_dims)};
    void *data[] = {q, k, v, NULL, len, y, lse};
    const size_t bytes[] = {sizeof q, sizeof k, sizeof v, 0, sizeof len, sizeof y, sizeof lse};
    cr_assert_eq(direct_run(TSR_OP_ATTENTION, &attrs, 5, 2, tensors, data, bytes), TSR_OK);
    cr_expect(isnan(y[0]) && isnan(y[1]), "%g %g", y[0], y[1]);
    cr_expect(isnan(lse[0]) && isnan(lse[1]), "%g %g", lse[0], lse[1]);
    cr_expect(y[2] == 0 && y[3] == 0, "%g %g", y[2], y[3]);
    cr_expect(lse[2] == -INFINITY && lse[3] == -INFINITY, "%g %g", lse[2], lse[3]);
}

Test(reference, softmax_shows_scores_that_overflow) {
    const int64_t dims[] = {5, 2};
    float x[] = {1, INFINITY, NAN, 1, NAN, NAN, -INFINITY, -INFINITY, -INFINITY, 3}, y[10];
    const tsr_softmax_attrs attrs = {.struct_size = sizeof attrs};
    const tsr_tensor tensor = direct_tensor(TSR_F32, 2, dims), tensors[] = {tensor, tensor};
    void *data[] = {x, y};
    cr_assert_eq(direct_run(TSR_OP_SOFTMAX, &attrs, 1, 1, tensors, data,
                            (const size_t[]){sizeof x, sizeof y}),
                 TSR_OK);
    for (int r = 0; r < 3; r++)
        cr_expect(isnan(y[2 * r + 1]), "row %d: %g", r, y[2 * r + 1]);
    cr_expect(y[6] == 0 && y[7] == 0 && y[8] == 0 && y[9] == 1, "masked scores");
}

Test(reference, a_slot_that_is_none_is_refused) {
    const int64_t state_dims[] = {2, 1, 3, 1}, x_dims[] = {1, 2, 1, 1}, b[] = {1};
    float state[6] = {0}, x[] = {10, 11};
    int32_t past[] = {1}, len[] = {2}, slot[] = {2};
    const tsr_tensor tensors[] = {direct_tensor(TSR_F32, 4, state_dims),
                                  direct_tensor(TSR_F32, 4, x_dims), direct_tensor(TSR_I32, 1, b),
                                  direct_tensor(TSR_I32, 1, b), direct_tensor(TSR_I32, 1, b)};
    void *data[] = {state, x, past, len, slot};
    cr_expect_eq(direct_run(TSR_OP_KV_APPEND, NULL, 5, 0, tensors, data,
                            (const size_t[]){sizeof state, sizeof x, 4, 4, 4}),
                 TSR_E_ARGUMENT);
    cr_expect_str_eq(tsr_error_last(), "reference: slot 2 is outside 0 .. 1");
}

Test(reference, an_id_outside_the_table_is_refused) {
    const int64_t table_dims[] = {3, 2}, ids_dims[] = {2}, y_dims[] = {2, 2};
    float table[6] = {0}, y[4];
    int32_t ids[] = {0, 3};
    const tsr_tensor tensors[] = {direct_tensor(TSR_F32, 2, table_dims),
                                  direct_tensor(TSR_I32, 1, ids_dims),
                                  direct_tensor(TSR_F32, 2, y_dims)};
    void *data[] = {table, ids, y};
    cr_expect_eq(direct_run(TSR_OP_EMBED, NULL, 2, 1, tensors, data,
                            (const size_t[]){sizeof table, sizeof ids, sizeof y}),
                 TSR_E_ARGUMENT);
    cr_expect_str_eq(tsr_error_last(), "reference: id 3 is outside 0 .. 2");
}

Test(reference, a_plan_that_would_leave_its_buffers_is_refused) {
    const int64_t dims[] = {4};
    float x[4] = {0}, y[4];
    const tsr_tensor tensors[] = {direct_tensor(TSR_F32, 1, dims), direct_tensor(TSR_F32, 1, dims)};
    void *data[] = {x, y};
    cr_expect_eq(direct_run(TSR_OP_RELU, NULL, 1, 1, tensors, data, (const size_t[]){sizeof x, 12}),
                 TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "leaves its buffer"), "%s", tsr_error_last());
    cr_expect_eq(
        direct_run((tsr_op_id)999, NULL, 1, 1, tensors, data, (const size_t[]){sizeof x, sizeof y}),
        TSR_E_UNSUPPORTED);
}

Test(reference, transfers_stay_in_their_buffers) {
    const tsr_backend *backend = tsri_reference_get(TSR_BACKEND_ABI);
    cr_expect_null(tsri_reference_get(TSR_BACKEND_ABI + (1u << 16)));
    const tsr_host host = {.struct_size = sizeof host, .abi = TSR_BACKEND_ABI, .version = "test"};
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = 16};
    tsr_state *state = NULL;
    tsr_dev *dev = NULL;
    tsr_buf *buf = NULL;
    cr_assert_eq(backend->open(&host, NULL, &state), TSR_OK);
    cr_assert_eq(backend->device_open(state, 0, NULL, &dev), TSR_OK);
    cr_assert_eq(backend->buffer_create(dev, &spec, &buf), TSR_OK);
    char bytes[32] = {0};
    const struct {
        uint64_t offset, bytes;
        tsr_status want;
    } table[] = {
        {0, 16, TSR_OK},         {0, 17, TSR_E_ARGUMENT},         {16, 0, TSR_OK},
        {17, 0, TSR_E_ARGUMENT}, {8, UINT64_MAX, TSR_E_ARGUMENT}, {UINT64_MAX, 8, TSR_E_ARGUMENT}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const tsr_transfer write = {.struct_size = sizeof write,
                                    .kind = TSR_TRANSFER_WRITE,
                                    .dst = buf,
                                    .dst_offset = table[i].offset,
                                    .bytes = table[i].bytes,
                                    .host = bytes};
        const tsr_transfer read = {.struct_size = sizeof read,
                                   .kind = TSR_TRANSFER_READ,
                                   .src = buf,
                                   .src_offset = table[i].offset,
                                   .bytes = table[i].bytes,
                                   .host = bytes};
        cr_expect_eq(backend->transfer(dev, &write, NULL, NULL), table[i].want, "write %zu", i);
        cr_expect_eq(backend->transfer(dev, &read, NULL, NULL), table[i].want, "read %zu", i);
    }
    const tsr_transfer fill = {.struct_size = sizeof fill,
                               .kind = TSR_TRANSFER_FILL,
                               .dst = buf,
                               .dst_offset = 4,
                               .bytes = 8,
                               .pattern = 0x01020304};
    const tsr_transfer odd = {
        .struct_size = sizeof odd, .kind = TSR_TRANSFER_FILL, .dst = buf, .bytes = 6};
    const tsr_transfer read = {.struct_size = sizeof read,
                               .kind = TSR_TRANSFER_READ,
                               .src = buf,
                               .bytes = 16,
                               .host = bytes};
    cr_expect_eq(backend->transfer(dev, &fill, NULL, NULL), TSR_OK);
    cr_expect_eq(backend->transfer(dev, &odd, NULL, NULL), TSR_E_ARGUMENT);
    cr_expect_eq(backend->transfer(dev, &read, NULL, NULL), TSR_OK);
    cr_expect_arr_eq(bytes, "\0\0\0\0\4\3\2\1\4\3\2\1\0\0\0\0", 16);
    backend->buffer_destroy(buf);
    backend->buffer_destroy(NULL);
    backend->device_close(dev);
    backend->close(state);
}
