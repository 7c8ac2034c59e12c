/* The example backend, which makes no plan of silu for rows of 65 or 66 numbers: as a driver that refuses a
 * kernel once it is compiled, it learns that only then. */
#define tsr_backend_get sound_backend_get
#include "../../../examples/backend_minimal/minimal.c"
#undef tsr_backend_get

static tsr_status refusing_create(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out) {
    for (uint32_t i = 0; i < spec->n_ops; i++) {
        const tsr_tensor *x = spec->ops[i]->in[0];
        const int64_t columns = x->dim[x->rank - 1].factor;
        if (spec->ops[i]->id == TSR_OP_SILU && (columns == 65 || columns == 66))
            return fail(dev->host, TSR_E_UNSUPPORTED, "minimal: no rows of so many numbers");
    }
    return plan_create(dev, spec, out);
}

TSR_API const tsr_backend *tsr_backend_get(uint32_t abi);
const tsr_backend *tsr_backend_get(uint32_t abi) {
    static tsr_backend table;
    table = *sound_backend_get(abi);
    table.plan_create = refusing_create;
    return &table;
}
