"""Tessera's C interface as ctypes sees it. Written by python/declare.py from include/tessera/*.h: do not edit."""

from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple


# Constants

TSR_OK = 0
TSR_E_ARGUMENT = 1
TSR_E_UNSUPPORTED = 2
TSR_E_HOST_MEMORY = 3
TSR_E_DEVICE_MEMORY = 4
TSR_E_DEVICE = 5
TSR_E_BUILD = 6
TSR_E_FORMAT = 7
TSR_E_IO = 8
TSR_E_STATE = 9
TSR_E_CANCELLED = 10
TSR_E_INTERNAL = 11
TSR_E_PEER = 12
TSR_DTYPE_NONE = 0
TSR_F32 = 1
TSR_F16 = 2
TSR_BF16 = 3
TSR_F64 = 4
TSR_I32 = 5
TSR_I64 = 6
TSR_I16 = 7
TSR_I8 = 8
TSR_U8 = 9
TSR_BOOL = 10
TSR_GGML_Q4_0 = 32
TSR_GGML_Q4_1 = 33
TSR_GGML_Q5_0 = 34
TSR_GGML_Q5_1 = 35
TSR_GGML_Q8_0 = 36
TSR_GGML_Q4_K = 37
TSR_GGML_Q5_K = 38
TSR_GGML_Q6_K = 39
TSR_GGML_Q2_K = 40
TSR_GGML_Q3_K = 41
TSR_GGML_IQ4_NL = 42
TSR_GGML_IQ4_XS = 43
TSR_GGML_MXFP4 = 44
TSR_MAX_RANK = 6
TSR_SYMBOLS = 5
TSR_SYMBOL_SETS = 1 << TSR_SYMBOLS
TSR_SYM_B = 1
TSR_SYM_T = 2
TSR_SYM_S = 4
TSR_SYM_U = 8
TSR_SYM_N = 16
TSR_KIND_ACTIVATION = 0
TSR_KIND_INPUT = 1
TSR_KIND_WEIGHT = 2
TSR_KIND_STATE = 3
TSR_OP_NONE = 0
TSR_OP_MATMUL = 1
TSR_OP_LINEAR = 2
TSR_OP_GLU_LINEAR = 3
TSR_OP_ATTENTION = 4
TSR_OP_ADD_NORM = 5
TSR_OP_LAYER_NORM = 6
TSR_OP_RMS_NORM = 7
TSR_OP_SOFTMAX = 8
TSR_OP_ROPE = 9
TSR_OP_EMBED = 10
TSR_OP_KV_APPEND = 11
TSR_OP_ADD = 12
TSR_OP_MUL = 13
TSR_OP_SCALE = 14
TSR_OP_CAST = 15
TSR_OP_COPY = 16
TSR_OP_GATHER = 17
TSR_OP_RELU = 18
TSR_OP_GELU = 19
TSR_OP_GELU_TANH = 20
TSR_OP_SILU = 21
TSR_OP_TANH = 22
TSR_OP_SIGMOID = 23
TSR_OP_ARGMAX = 24
TSR_OP_TOPK = 25
TSR_OP_QKV_APPEND = 26
TSR_OP_GRU_CELL = 27
TSR_OP_ADDITIVE_ATTENTION = 28
TSR_OP_POOL = 29
TSR_OP_CONCAT = 30
TSR_OP_ACCUMULATE = 31
TSR_OP_MATMUL_ADD = 32
TSR_OP_EMBED_ADD = 33
TSR_OP_SUM_ROWS = 34
TSR_OP_NORM_GRAD = 35
TSR_OP_NORM_WEIGHT_GRAD = 36
TSR_OP_ACTIVATION_GRAD = 37
TSR_OP_GLU = 38
TSR_OP_GLU_GRAD = 39
TSR_OP_SOFTMAX_GRAD = 40
TSR_OP_ATTENTION_GRAD = 41
TSR_OP_GRU_CELL_GRAD = 42
TSR_OP_ADDITIVE_ATTENTION_GRAD = 43
TSR_OP_SCATTER = 44
TSR_OP_POOL_GRAD = 45
TSR_OP_CROSS_ENTROPY = 46
TSR_OP_CROSS_ENTROPY_GRAD = 47
TSR_OP_KL_DIVERGENCE = 48
TSR_OP_KL_DIVERGENCE_GRAD = 49
TSR_OP_DROPOUT = 50
TSR_OP_SUMSQ = 51
TSR_OP_ADAMW = 52
TSR_OP_SGD = 53
TSR_OP_SAMPLE = 54
TSR_OP_EXPERT_LINEAR = 55
TSR_OP_EXPERT_GLU_LINEAR = 56
TSR_OP_EXPERT_MATMUL_ADD = 57
TSR_OP_TOPK_GRAD = 58
TSR_OP_DISTANCE_SCORES = 59
TSR_OP_DISTANCE_SCORES_GRAD = 60
TSR_OP_ATTENTION_SINKS_GRAD = 61
TSR_OP_CHOOSE_EXPERTS = 62
TSR_OP_CHOOSE_EXPERTS_GRAD = 63
TSR_OP_COUNT = 64
TSR_ACT_NONE = 0
TSR_ACT_RELU = 1
TSR_ACT_GELU = 2
TSR_ACT_GELU_TANH = 3
TSR_ACT_SILU = 4
TSR_ACT_TANH = 5
TSR_ACT_SIGMOID = 6
TSR_NORM_LAYER = 0
TSR_NORM_RMS = 1
TSR_COMPUTE_F32 = 0
TSR_COMPUTE_F16 = 1
TSR_COMPUTE_INT8 = 2
TSR_COMPUTE_BF16 = 3
TSR_POOL_MEAN = 0
TSR_POOL_FIRST = 1
TSR_POOL_MAX = 2
TSR_POOL_LAST = 3
TSR_LOG_ERROR = 0
TSR_LOG_WARNING = 1
TSR_LOG_INFO = 2
TSR_LOG_DEBUG = 3
TSR_DEVICE_OTHER = 0
TSR_DEVICE_CPU = 1
TSR_DEVICE_GPU = 2
TSR_DEVICE_ACCELERATOR = 3
TSR_TRANSFER_WRITE = 1
TSR_TRANSFER_READ = 2
TSR_TRANSFER_COPY = 3
TSR_TRANSFER_FILL = 4
TSR_PEAK_FMA_F32 = 1
TSR_PEAK_FMA_F16 = 2
TSR_PEAK_DOT_INT8 = 3
TSR_PEAK_READ = 4
TSR_PEAK_LAUNCH = 5
TSR_PEAK_LAUNCH_BATCHED = 6
TSR_PEAK_ENQUEUE = 7
TSR_PEAK_WRITE = 8
TSR_PEAK_LOCAL = 9
TSR_PEAK_COMPILE = 10
TSR_PEAK_CLOCK = 11
TSR_PEAK_FMA_BF16 = 12
TSR_PEAK_MATRIX_F16 = 13
TSR_PEAK_MATRIX_BF16 = 14
TSR_PEAK_MATRIX_INT8 = 15
TSR_PEAK_READ_AGAIN = 64
TSR_PEAK_WRITE_AGAIN = 128
TSR_MODEL_COMPUTE_AUTO = 0
TSR_MODEL_COMPUTE_F32 = 1
TSR_MODEL_COMPUTE_F16 = 2
TSR_MODEL_COMPUTE_INT8 = 3
TSR_MODEL_COMPUTE_BF16 = 4
TSR_ENCODE_ADD_SPECIAL = 1
TSR_ENCODE_PARSE_SPECIAL = 2
TSR_TOKENIZER_BPE = 0
TSR_TOKENIZER_CHAR = 1
TSR_EARLY_HEURISTIC = 0
TSR_EARLY_FIRST = 1
TSR_EARLY_NEVER = 2
TSR_PART_TEXT = 0
TSR_PART_REASONING = 1
TSR_PART_CALL = 2
TSR_FINISH_NONE = 0
TSR_FINISH_END = 1
TSR_FINISH_STOP = 2
TSR_FINISH_LENGTH = 3
TSR_FINISH_CONTEXT = 4
TSR_ATTENTION_SELF = 0
TSR_ATTENTION_CAUSAL = 1
TSR_ATTENTION_CROSS = 2
TSR_BENCH_OK = 0
TSR_BENCH_UNSUPPORTED = 1
TSR_BENCH_FAILED_ACCURACY = 2
TSR_BENCH_ERROR = 3
TSR_BENCH_THROTTLED = 4
TSR_BENCH_PEAK = 0
TSR_BENCH_PROMPT = 1
TSR_BENCH_GENERATE = 2
TSR_BENCH_TRAIN = 3
TSR_BENCH_OP = 4
TSR_BENCH_EMBED = 5
TSR_BENCH_TRANSLATE = 6
TSR_BENCH_START = 7
TSR_BENCH_SERVE = 8
TSR_BENCH_NO_SCENARIO = 0
TSR_BENCH_SINGLE_STREAM = 1
TSR_BENCH_OFFLINE = 2
TSR_BENCH_SERVER = 3
TSR_BENCH_BOUND_UNKNOWN = 0
TSR_BENCH_BOUND_MEMORY = 1
TSR_BENCH_BOUND_ARITHMETIC = 2
TSR_BENCH_BOUND_LAUNCHES = 3
TSR_BENCH_PERPLEXITY = 0
TSR_BENCH_COSINE = 1
TSR_BENCH_BLEU = 2
TSR_CLASSIFIER_SINGLE = 0
TSR_CLASSIFIER_MULTIPLE = 1
TSR_CLASSIFIER_REGRESSION = 2
TSR_CLASSIFIER_TOKENS = 3
TSR_CLASSIFIER_NEXT = 4
TSR_CLASSIFIER_SPANS = 5
TSR_VALUE_NONE = -1
TSR_VERDICT_SAME = 0
TSR_VERDICT_FASTER = 1
TSR_VERDICT_SLOWER = 2
TSR_VERDICT_LOST = 3
TSR_VERDICT_GAINED = 4
TSR_VERDICT_NO_RATE = 5
TSR_VERDICT_ONLY_BEFORE = 6
TSR_VERDICT_ONLY_AFTER = 7
TSR_TRAIN_AUTO = 0
TSR_TRAIN_GENERATE = 1
TSR_TRAIN_FILL_MASK = 2
TSR_TRAIN_TRANSLATE = 3
TSR_TRAIN_CLASSIFY = 4
TSR_TRAIN_CLASSIFY_TOKENS = 5
TSR_TRAIN_NOTE = 0
TSR_TRAIN_WARNING = 1
TSR_TRAIN_PREPARING = 2
TSR_TRAIN_PLANNED = 3
TSR_TRAIN_BATCH = 4
TSR_TRAIN_STEP = 5
TSR_TRAIN_EVALUATED = 6
TSR_TRAIN_SAVED = 7
TSR_TRAINING_IGNORE = -100
TSR_VERIFY_OK = 0
TSR_VERIFY_MISS = 1
TSR_VERIFY_NOT_OFFERED = 2
TSR_VERIFY_SKIPPED = 3
TSR_VERIFY_ERROR = 4
TSR_VERIFY_TIMED = 5

# Structs, and functions that the library calls


class tsr_buf(Structure):
    pass


class tsr_state(Structure):
    pass


class tsr_dev(Structure):
    pass


class tsr_plan(Structure):
    pass


class tsr_event(Structure):
    pass


class tsr_engine(Structure):
    pass


class tsr_device(Structure):
    pass


class tsr_link(Structure):
    pass


class tsr_exchange(Structure):
    pass


class tsr_ranks(Structure):
    pass


class tsr_share(Structure):
    pass


class tsr_model(Structure):
    pass


class tsr_answerer(Structure):
    pass


class tsr_chat(Structure):
    pass


class tsr_chat_prompt(Structure):
    pass


class tsr_answer(Structure):
    pass


class tsr_attention(Structure):
    pass


class tsr_bench_file(Structure):
    pass


class tsr_bench_training(Structure):
    pass


class tsr_classifier(Structure):
    pass


class tsr_embedder(Structure):
    pass


class tsr_graph(Structure):
    pass


class tsr_plot(Structure):
    pass


class tsr_ranker(Structure):
    pass


class tsr_results(Structure):
    pass


class tsr_scheduler(Structure):
    pass


class tsr_vectors(Structure):
    pass


class tsr_vectors_writer(Structure):
    pass


class tsr_session(Structure):
    pass


class tsr_training(Structure):
    pass


tsr_line_fn = CFUNCTYPE(c_int, c_void_p, c_int, POINTER(c_char_p), POINTER(c_size_t))


class tsr_dim(Structure):
    _fields_ = [
        ("factor", c_int64),
        ("symbols", c_uint32),
        ("reserved", c_uint32),
    ]



class tsr_tensor(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("dtype", c_uint32),
        ("kind", c_uint32),
        ("rank", c_uint32),
        ("layout", c_uint32),
        ("reserved", c_uint32),
        ("dim", tsr_dim * TSR_MAX_RANK),
        ("stride", tsr_dim * TSR_MAX_RANK),
        ("offset", c_int64),
        ("buf", POINTER(tsr_buf)),
        ("origin", c_uint64),
    ]



class tsr_matmul_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("trans_a", c_uint32),
        ("trans_b", c_uint32),
        ("alpha", c_float),
        ("compute", c_uint32),
    ]



class tsr_linear_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("trans_w", c_uint32),
        ("activation", c_uint32),
        ("compute", c_uint32),
        ("norm_eps", c_float),
        ("first", c_uint32),
        ("whole", c_uint32),
    ]



class tsr_glu_linear_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("trans_w", c_uint32),
        ("activation", c_uint32),
        ("compute", c_uint32),
        ("norm_eps", c_float),
        ("first", c_uint32),
        ("whole", c_uint32),
        ("limit", c_float),
        ("alpha", c_float),
        ("shift", c_float),
    ]



class tsr_attention_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("causal", c_uint32),
        ("window", c_uint32),
        ("scale", c_float),
        ("compute", c_uint32),
        ("soft_cap", c_float),
    ]



class tsr_norm_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("norm", c_uint32),
        ("eps", c_float),
    ]



class tsr_softmax_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("causal", c_uint32),
        ("window", c_uint32),
        ("scale", c_float),
    ]



class tsr_rope_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rotary", c_uint32),
        ("interleaved", c_uint32),
        ("magnitude", c_float),
        ("inverse", c_uint32),
    ]



class tsr_embed_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("scale", c_float),
        ("padding", c_uint32),
        ("first", c_uint32),
        ("whole", c_uint32),
    ]



class tsr_scale_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("alpha", c_float),
    ]



class tsr_cast_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("dtype", c_uint32),
    ]



class tsr_topk_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("k", c_uint32),
    ]



class tsr_choose_experts_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("k", c_uint32),
        ("groups", c_uint32),
        ("groups_used", c_uint32),
        ("by_two", c_uint32),
        ("shares", c_uint32),
    ]



class tsr_gru_cell_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reverse", c_uint32),
    ]



class tsr_pool_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_uint32),
    ]



class tsr_activation_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("activation", c_uint32),
        ("limit", c_float),
        ("alpha", c_float),
        ("shift", c_float),
    ]



class tsr_cross_entropy_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("ignore", c_int32),
        ("label_smoothing", c_float),
    ]



class tsr_kl_divergence_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("ignore", c_int32),
        ("temperature", c_float),
    ]



class tsr_dropout_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("site", c_uint32),
        ("rate", c_float),
    ]



class tsr_sumsq_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("first", c_uint32),
        ("parts", c_uint32),
    ]



class tsr_adamw_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("beta1", c_float),
        ("beta2", c_float),
        ("eps", c_float),
        ("decay", c_float),
    ]



class tsr_sgd_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("nesterov", c_uint32),
        ("momentum", c_float),
        ("decay", c_float),
    ]



class tsr_no_attrs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
    ]



class tsr_bounds(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("lowest", c_int64 * TSR_SYMBOLS),
        ("highest", c_int64 * TSR_SYMBOLS),
    ]



class tsr_op(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("id", c_uint32),
        ("n_in", c_uint32),
        ("n_out", c_uint32),
        ("in", POINTER(POINTER(tsr_tensor))),
        ("out", POINTER(POINTER(tsr_tensor))),
        ("attrs", c_void_p),
        ("bounds", POINTER(tsr_bounds)),
        ("label", c_char_p),
    ]



class tsr_progress(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("doing", c_char_p),
        ("done", c_uint64),
        ("total", c_uint64),
    ]



class tsr_host(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("abi", c_uint32),
        ("data", c_void_p),
        ("report", CFUNCTYPE(None, c_void_p, c_int, c_char_p)),
        ("log", CFUNCTYPE(None, c_void_p, c_int, c_char_p)),
        ("cache_folder", c_char_p),
        ("version", c_char_p),
        ("progress", CFUNCTYPE(c_int, c_void_p, POINTER(tsr_progress))),
        ("reference", CFUNCTYPE(c_int, c_void_p, POINTER(tsr_op), POINTER(c_int64), POINTER(c_void_p))),
        ("reported", CFUNCTYPE(c_char_p, c_void_p)),
    ]



class tsr_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("count", c_uint32),
        ("names", POINTER(c_char_p)),
        ("values", POINTER(c_char_p)),
    ]



class tsr_facts(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("type", c_uint32),
        ("usable", c_uint32),
        ("score", c_int32),
        ("platform", c_char_p),
        ("name", c_char_p),
        ("vendor", c_char_p),
        ("driver", c_char_p),
        ("version", c_char_p),
        ("c_version", c_char_p),
        ("reason", c_char_p),
        ("compute_units", c_uint32),
        ("clock_mhz", c_uint32),
        ("memory", c_uint64),
        ("max_allocation", c_uint64),
        ("local_memory", c_uint64),
        ("max_work_group", c_uint32),
        ("base_alignment", c_uint32),
        ("subgroup_sizes", c_uint32 * 8),
        ("fp16", c_uint32),
        ("fp64", c_uint32),
        ("bf16", c_uint32),
        ("int_dot", c_uint32),
        ("command_buffers", c_uint32),
        ("unified_memory", c_uint32),
        ("emulator", c_uint32),
        ("compiler", c_uint32),
        ("needs_bundle", c_uint32),
    ]



class tsr_device_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("threads", c_uint32),
        ("profile", c_uint32),
        ("no_self_test", c_uint32),
        ("record", c_uint32),
        ("reserved", c_uint32),
        ("bundle", c_char_p),
    ]



class tsr_buffer_spec(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_uint32),
        ("bytes", c_uint64),
        ("zeroed", c_uint32),
        ("reserved", c_uint32),
    ]



class tsr_transfer(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_uint32),
        ("dst", POINTER(tsr_buf)),
        ("src", POINTER(tsr_buf)),
        ("dst_offset", c_uint64),
        ("src_offset", c_uint64),
        ("bytes", c_uint64),
        ("host", c_void_p),
        ("pattern", c_uint32),
    ]



class tsr_waits(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("count", c_uint32),
        ("events", POINTER(POINTER(tsr_event))),
    ]



class tsr_variant(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("fits", c_uint32),
        ("chosen", c_uint32),
        ("score", c_int32),
        ("name", c_char_p),
        ("why", c_char_p),
        ("tunables", c_char_p),
        ("batch_variant", c_uint32),
        ("launches", c_uint32),
    ]



class tsr_weight_use(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("operand", c_uint32),
        ("op", POINTER(tsr_op)),
        ("updated", c_uint32),
    ]



class tsr_layout(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("id", c_uint32),
        ("dtype", c_uint32),
        ("row_block", c_uint32),
        ("rows", c_int64),
        ("columns", c_int64),
        ("bytes", c_uint64),
        ("name", c_char * 48),
    ]



class tsr_rows(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("dtype", c_uint32),
        ("first", c_int64),
        ("count", c_int64),
        ("columns", c_int64),
        ("data", c_void_p),
    ]



class tsr_plan_spec(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_ops", c_uint32),
        ("ops", POINTER(POINTER(tsr_op))),
        ("bounds", POINTER(tsr_bounds)),
        ("dims", POINTER(tsr_buf)),
        ("dims_offset", c_uint64),
        ("kernels", c_char_p),
    ]



class tsr_run(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("sizes", c_int64 * TSR_SYMBOLS),
    ]



class tsr_profile_entry(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("op", c_uint32),
        ("kernel", c_char_p),
        ("launches", c_uint64),
        ("nanoseconds", c_uint64),
        ("enqueue_nanoseconds", c_uint64),
    ]


tsr_variant_visitor = CFUNCTYPE(None, c_void_p, POINTER(tsr_variant))

tsr_profile_visitor = CFUNCTYPE(None, c_void_p, POINTER(tsr_profile_entry))


class tsr_backend(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("abi", c_uint32),
        ("name", c_char_p),
        ("version", c_char_p),
        ("description", c_char_p),
        ("open", CFUNCTYPE(c_int, POINTER(tsr_host), POINTER(tsr_options), POINTER(POINTER(tsr_state)))),
        ("close", CFUNCTYPE(None, POINTER(tsr_state))),
        ("device_count", CFUNCTYPE(c_int, POINTER(tsr_state), POINTER(c_uint32))),
        ("device_facts", CFUNCTYPE(c_int, POINTER(tsr_state), c_uint32, POINTER(tsr_facts))),
        ("device_open", CFUNCTYPE(c_int, POINTER(tsr_state), c_uint32, POINTER(tsr_device_options), POINTER(POINTER(tsr_dev)))),
        ("device_close", CFUNCTYPE(None, POINTER(tsr_dev))),
        ("buffer_create", CFUNCTYPE(c_int, POINTER(tsr_dev), POINTER(tsr_buffer_spec), POINTER(POINTER(tsr_buf)))),
        ("buffer_destroy", CFUNCTYPE(None, POINTER(tsr_buf))),
        ("transfer", CFUNCTYPE(c_int, POINTER(tsr_dev), POINTER(tsr_transfer), POINTER(tsr_waits), POINTER(POINTER(tsr_event)))),
        ("event_wait", CFUNCTYPE(c_int, POINTER(tsr_event), c_uint64)),
        ("event_destroy", CFUNCTYPE(None, POINTER(tsr_event))),
        ("op_variants", CFUNCTYPE(c_int, POINTER(tsr_dev), POINTER(tsr_op), tsr_variant_visitor, c_void_p)),
        ("weight_layout", CFUNCTYPE(c_int, POINTER(tsr_dev), POINTER(POINTER(tsr_weight_use)), c_size_t, c_char_p, POINTER(tsr_layout))),
        ("weight_store", CFUNCTYPE(c_int, POINTER(tsr_dev), POINTER(tsr_layout), POINTER(tsr_rows), POINTER(tsr_buf))),
        ("weight_load", CFUNCTYPE(c_int, POINTER(tsr_dev), POINTER(tsr_layout), POINTER(tsr_buf), POINTER(tsr_rows))),
        ("plan_create", CFUNCTYPE(c_int, POINTER(tsr_dev), POINTER(tsr_plan_spec), POINTER(POINTER(tsr_plan)))),
        ("plan_destroy", CFUNCTYPE(None, POINTER(tsr_plan))),
        ("plan_run", CFUNCTYPE(c_int, POINTER(tsr_plan), POINTER(tsr_run), POINTER(tsr_waits), POINTER(POINTER(tsr_event)))),
        ("plan_explain", CFUNCTYPE(c_int, POINTER(tsr_plan), c_size_t, tsr_variant_visitor, c_void_p)),
        ("plan_profile", CFUNCTYPE(c_int, POINTER(tsr_plan), tsr_profile_visitor, c_void_p)),
        ("extension", CFUNCTYPE(c_void_p, POINTER(tsr_state), c_char_p)),
    ]



class tsr_backend_notes(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("count", CFUNCTYPE(c_uint32, POINTER(tsr_state))),
        ("note", CFUNCTYPE(c_char_p, POINTER(tsr_state), c_uint32)),
    ]



class tsr_tunable(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("value", c_int32),
        ("lowest", c_int32),
        ("highest", c_int32),
        ("name", c_char_p),
    ]



class tsr_tunable_variant(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_tunables", c_uint32),
        ("tunables", POINTER(POINTER(tsr_tunable))),
        ("op", c_char_p),
        ("variant", c_char_p),
        ("condition", c_char_p),
        ("batch_variant", c_uint32),
    ]



class tsr_tuned(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("op", c_char_p),
        ("variant", c_char_p),
        ("condition", c_char_p),
        ("values", c_char_p),
        ("note", c_char_p),
    ]


tsr_backend_get_fn = CFUNCTYPE(POINTER(tsr_backend), c_uint32)

tsr_tunable_visitor = CFUNCTYPE(None, c_void_p, POINTER(tsr_tunable_variant))


class tsr_backend_tune(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rows", CFUNCTYPE(c_int, POINTER(tsr_dev), POINTER(tsr_op), tsr_tunable_visitor, c_void_p)),
        ("keep", CFUNCTYPE(c_int, POINTER(tsr_dev), c_char_p, POINTER(POINTER(tsr_tuned)), c_size_t)),
    ]



class tsr_backend_bundle(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("write", CFUNCTYPE(c_int, POINTER(tsr_dev), c_char_p)),
        ("build", CFUNCTYPE(c_int, POINTER(tsr_dev), c_char_p, c_char_p)),
    ]



class tsr_backend_peaks(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("measure", CFUNCTYPE(c_int, POINTER(tsr_dev), c_uint32, c_uint32, POINTER(c_double))),
    ]



class tsr_backend_ahead(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("plan_announce", CFUNCTYPE(c_int, POINTER(tsr_dev), POINTER(tsr_plan_spec))),
    ]



class tsr_engine_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_backends", c_uint32),
        ("backends", POINTER(c_char_p)),
        ("log", CFUNCTYPE(None, c_void_p, c_int, c_char_p)),
        ("log_data", c_void_p),
        ("threads", c_uint32),
        ("reserved", c_uint32),
        ("device", c_char_p),
        ("progress", CFUNCTYPE(c_int, c_void_p, POINTER(tsr_progress))),
        ("progress_data", c_void_p),
    ]



class tsr_device_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("is_default", c_uint32),
        ("backend", c_char_p),
        ("facts", tsr_facts),
    ]



class tsr_device_open_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("threads", c_uint32),
        ("profile", c_uint32),
        ("no_self_test", c_uint32),
        ("kernels", c_char_p),
        ("bundle", c_char_p),
        ("record", c_uint32),
        ("turn", c_uint32),
        ("memory", c_uint64),
    ]



class tsr_transport_host(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("abi", c_uint32),
        ("data", c_void_p),
        ("report", CFUNCTYPE(None, c_void_p, c_int, c_char_p)),
    ]



class tsr_transport_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("deadline_ms", c_uint32),
    ]



class tsr_transport_facts(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rank", c_uint32),
        ("size", c_uint32),
        ("local_rank", c_uint32),
    ]



class tsr_parts(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("data", POINTER(c_void_p)),
        ("bytes", POINTER(c_uint64)),
    ]



class tsr_transport(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("abi", c_uint32),
        ("name", c_char_p),
        ("version", c_char_p),
        ("description", c_char_p),
        ("open", CFUNCTYPE(c_int, POINTER(tsr_transport_host), POINTER(tsr_transport_options), POINTER(POINTER(tsr_link)))),
        ("close", CFUNCTYPE(None, POINTER(tsr_link))),
        ("leave", CFUNCTYPE(None, POINTER(tsr_link), c_int, c_char_p)),
        ("facts", CFUNCTYPE(c_int, POINTER(tsr_link), POINTER(tsr_transport_facts))),
        ("host_of", CFUNCTYPE(c_char_p, POINTER(tsr_link), c_uint32)),
        ("barrier", CFUNCTYPE(c_int, POINTER(tsr_link), POINTER(POINTER(tsr_exchange)))),
        ("broadcast", CFUNCTYPE(c_int, POINTER(tsr_link), c_uint32, c_void_p, c_uint64, POINTER(POINTER(tsr_exchange)))),
        ("all_to_all", CFUNCTYPE(c_int, POINTER(tsr_link), POINTER(tsr_parts), POINTER(tsr_parts), POINTER(POINTER(tsr_exchange)))),
        ("all_gather", CFUNCTYPE(c_int, POINTER(tsr_link), POINTER(tsr_parts), POINTER(POINTER(tsr_exchange)))),
        ("send", CFUNCTYPE(c_int, POINTER(tsr_link), c_uint32, c_void_p, c_uint64, POINTER(POINTER(tsr_exchange)))),
        ("receive", CFUNCTYPE(c_int, POINTER(tsr_link), c_uint32, c_void_p, c_uint64, POINTER(POINTER(tsr_exchange)))),
        ("wait", CFUNCTYPE(c_int, POINTER(tsr_link), POINTER(tsr_exchange), c_uint64)),
    ]



class tsr_ranks_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("deadline_seconds", c_uint32),
        ("transport", c_char_p),
    ]



class tsr_ranks_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rank", c_uint32),
        ("size", c_uint32),
        ("local_rank", c_uint32),
        ("transport", c_char_p),
        ("host", c_char_p),
    ]



class tsr_share_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("together", c_uint32),
        ("make", CFUNCTYPE(c_int, c_void_p, c_int, c_uint64, POINTER(c_void_p), POINTER(c_size_t))),
        ("take", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)),
        ("stop", CFUNCTYPE(c_int, c_void_p)),
        ("data", c_void_p),
    ]



class tsr_model_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("dtype", c_uint32),
        ("context", c_int64),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
        ("tokenizer_only", c_uint32),
        ("kv_dtype", c_uint32),
        ("compute", c_uint32),
        ("n_lora", c_uint32),
        ("lora", POINTER(c_char_p)),
        ("ranks", POINTER(tsr_ranks)),
        ("base", POINTER(tsr_model)),
        ("vectors", c_uint32),
        ("reserved", c_uint32),
        ("task", c_char_p),
    ]



class tsr_model_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("has_tokenizer", c_uint32),
        ("path", c_char_p),
        ("format", c_char_p),
        ("family", c_char_p),
        ("stored", c_char_p),
        ("tokenizer_why", c_char_p),
        ("layers", c_int64),
        ("width", c_int64),
        ("heads", c_int64),
        ("kv_heads", c_int64),
        ("head_size", c_int64),
        ("ffn", c_int64),
        ("vocab", c_int64),
        ("context", c_int64),
        ("parameters", c_uint64),
        ("weight_bytes", c_uint64),
        ("kv_bytes_per_token", c_uint64),
        ("flops_per_token", c_double),
        ("flops_per_past_token", c_double),
        ("bos", c_int32),
        ("pad", c_int32),
        ("n_eos", c_uint32),
        ("eos", POINTER(c_int32)),
        ("kv_dtype", c_char_p),
        ("kept", c_char_p),
        ("compute", c_char_p),
        ("stored_bytes", c_uint64),
        ("kind", c_char_p),
        ("encoder_layers", c_int64),
        ("source_vocab", c_int64),
        ("source_context", c_int64),
        ("labels", c_int64),
        ("experts", c_int64),
        ("experts_used", c_int64),
        ("active_parameters", c_uint64),
        ("flops_at_context", c_double),
    ]



class tsr_model_memory(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("weights", c_uint64),
        ("states", c_uint64),
        ("activations", c_uint64),
        ("inputs", c_uint64),
    ]



class tsr_model_found(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("name", c_char_p),
        ("path", c_char_p),
        ("place", c_char_p),
        ("bytes", c_uint64),
        ("get", c_char_p),
        ("why", c_char_p),
    ]



class tsr_string(Structure):
    _fields_ = [
        ("data", POINTER(c_char)),
        ("size", c_size_t),
    ]



class tsr_tokenizer_training(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("type", c_uint32),
        ("vocab_size", c_int64),
        ("specials", POINTER(c_char_p)),
        ("n_specials", c_size_t),
        ("unknown", c_char_p),
        ("begin", c_char_p),
        ("end", c_char_p),
        ("min_frequency", c_int64),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
    ]



class tsr_tokenizer_trained(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("vocab_size", c_int64),
        ("merges", c_int64),
        ("bytes", c_uint64),
        ("words", c_uint64),
        ("pruned", c_uint64),
        ("nanoseconds", c_uint64),
    ]



class tsr_answerer_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("no_answer", c_uint32),
        ("top_k", c_uint32),
        ("longest", c_uint32),
        ("window", c_int64),
        ("stride", c_int64),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
    ]



class tsr_answer_span(Structure):
    _fields_ = [
        ("begin", c_size_t),
        ("end", c_size_t),
        ("score", c_float),
    ]



class tsr_answerer_stats(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("tokens", c_uint64),
        ("windows", c_uint64),
        ("cut", c_uint64),
    ]



class tsr_part(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_uint32),
        ("text", POINTER(c_char)),
        ("text_size", c_size_t),
        ("function", c_char_p),
    ]


tsr_transport_get_fn = CFUNCTYPE(POINTER(tsr_transport), c_uint32)

tsr_part_fn = CFUNCTYPE(c_int, c_void_p, POINTER(tsr_part))


class tsr_chat_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("template_text", c_char_p),
        ("system", c_char_p),
        ("tools", c_char_p),
        ("part", tsr_part_fn),
        ("part_data", c_void_p),
        ("template_kwargs", c_char_p),
    ]



class tsr_logit_bias(Structure):
    _fields_ = [
        ("id", c_int32),
        ("bias", c_float),
    ]



class tsr_generate_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("ignore_eos", c_uint32),
        ("max_new_tokens", c_int64),
        ("context", c_int64),
        ("temperature", c_float),
        ("top_k", c_int32),
        ("top_p", c_float),
        ("min_p", c_float),
        ("repeat_penalty", c_float),
        ("logprobs", c_uint32),
        ("seed", c_uint64),
        ("stop", POINTER(c_char_p)),
        ("n_stop", c_uint32),
        ("return_logprob", c_uint32),
        ("num_beams", c_uint32),
        ("n_best", c_uint32),
        ("early_stopping", c_uint32),
        ("length_penalty", c_float),
        ("coverage_penalty", c_float),
        ("no_repeat_ngram", c_uint32),
        ("min_new_tokens", c_int64),
        ("suppress", POINTER(c_int32)),
        ("n_suppress", c_uint32),
        ("n_logit_bias", c_uint32),
        ("max_length", c_int64),
        ("min_length", c_int64),
        ("chat", POINTER(tsr_chat_options)),
        ("presence_penalty", c_float),
        ("frequency_penalty", c_float),
        ("logit_bias", POINTER(tsr_logit_bias)),
        ("grammar", c_char_p),
        ("json_schema", c_char_p),
        ("speculate", c_int32),
        ("reserved", c_uint32),
    ]



class tsr_prompt(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_ids", c_uint32),
        ("ids", POINTER(c_int32)),
        ("text", POINTER(c_char)),
        ("text_size", c_size_t),
        ("target_ids", POINTER(c_int32)),
        ("n_target_ids", c_uint32),
        ("reserved", c_uint32),
        ("messages", POINTER(c_char)),
        ("messages_size", c_size_t),
    ]



class tsr_candidate(Structure):
    _fields_ = [
        ("id", c_int32),
        ("logprob", c_float),
    ]



class tsr_generated(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("prompt", c_uint32),
        ("id", c_int32),
        ("finish", c_uint32),
        ("logprob", c_float),
        ("n_candidates", c_uint32),
        ("candidates", POINTER(tsr_candidate)),
        ("text", POINTER(c_char)),
        ("text_size", c_size_t),
        ("hypothesis", c_uint32),
        ("score", c_float),
        ("held_size", c_size_t),
    ]



class tsr_generate_stats(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("refused", c_uint32),
        ("prompt_tokens", c_uint64),
        ("new_tokens", c_uint64),
        ("prefill_ns", c_uint64),
        ("decode_ns", c_uint64),
        ("first_token_ns", c_uint64),
        ("decode_tokens", c_uint64),
        ("drafted_tokens", c_uint64),
        ("accepted_tokens", c_uint64),
    ]



class tsr_attention_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("target", POINTER(c_char)),
        ("target_size", c_size_t),
        ("source_language", c_char_p),
        ("target_language", c_char_p),
        ("max_new_tokens", c_int64),
        ("first_layer", c_int32),
        ("layers", c_int32),
        ("first_head", c_int32),
        ("heads", c_int32),
        ("ids", POINTER(c_int32)),
        ("n_ids", c_size_t),
        ("messages", c_char_p),
        ("chat", POINTER(tsr_chat_options)),
        ("most_tokens", c_int64),
    ]



class tsr_attention_token(Structure):
    _fields_ = [
        ("text", c_char_p),
        ("id", c_int32),
        ("special", c_uint32),
    ]



class tsr_attention_map(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_uint32),
        ("queries", c_char_p),
        ("keys", c_char_p),
        ("first_layer", c_int32),
        ("layers", c_int32),
        ("first_head", c_int32),
        ("heads", c_int32),
        ("T", c_int64),
        ("S", c_int64),
        ("query", POINTER(tsr_attention_token)),
        ("key", POINTER(tsr_attention_token)),
        ("weights", POINTER(c_float)),
    ]



class tsr_bench_conditions(Structure):
    _fields_ = [
        ("clock", c_double * 2),
        ("temperature", c_double * 2),
        ("load", c_double * 2),
        ("steal", c_double),
        ("energy", c_double),
    ]



class tsr_bench_model(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dtype", c_char_p),
        ("kept", c_char_p),
        ("hash", c_char_p),
        ("parameters", c_int64),
        ("bytes", c_uint64),
        ("kv_dtype", c_char_p),
        ("compute", c_char_p),
    ]



class tsr_bench_quality(Structure):
    _fields_ = [
        ("measure", c_uint32),
        ("reserved", c_uint32),
        ("value", c_double),
        ("f32", c_double),
        ("kept", c_double),
        ("least", c_double),
    ]



class tsr_bench_kernel(Structure):
    _fields_ = [
        ("op", c_char_p),
        ("variant", c_char_p),
        ("tuning", c_char_p),
    ]



class tsr_bench_row(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_uint32),
        ("kind", c_uint32),
        ("scenario", c_uint32),
        ("test", c_char_p),
        ("unit", c_char_p),
        ("samples", POINTER(c_double)),
        ("n_samples", c_uint32),
        ("warmup", c_uint32),
        ("outliers", c_uint32),
        ("noisy", c_uint32),
        ("median", c_double),
        ("lowest", c_double),
        ("highest", c_double),
        ("p90", c_double),
        ("tokens", c_int64),
        ("depth", c_int64),
        ("batch", c_int64),
        ("first_token", c_double),
        ("per_token", c_double),
        ("roofline", c_double),
        ("flops", c_double),
        ("bytes", c_double),
        ("predicted", c_double),
        ("bound_by", c_uint32),
        ("n_kernels", c_uint32),
        ("launches", c_uint64),
        ("error", c_double),
        ("bound", c_double),
        ("peak_fma", c_double * 2),
        ("peak_read", c_double * 2),
        ("host_bytes", c_uint64),
        ("device_bytes", c_uint64),
        ("kernels", POINTER(tsr_bench_kernel)),
        ("model", POINTER(tsr_bench_model)),
        ("storage", c_char_p),
        ("quality", POINTER(tsr_bench_quality)),
        ("conditions", POINTER(tsr_bench_conditions)),
        ("peer", c_char_p),
        ("reason", c_char_p),
        ("p99", c_double),
        ("predicted_seconds", c_double * 4),
        ("requests", c_int64),
        ("first_pass", c_uint32),
        ("unfinished", c_uint32),
    ]



class tsr_bench_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("repeats", c_uint32),
        ("prompts", POINTER(c_int64)),
        ("generates", POINTER(c_int64)),
        ("depths", POINTER(c_int64)),
        ("batches", POINTER(c_int64)),
        ("n_prompts", c_uint32),
        ("n_generates", c_uint32),
        ("n_depths", c_uint32),
        ("n_batches", c_uint32),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_char_p)),
        ("progress_data", c_void_p),
        ("trains", POINTER(c_int64)),
        ("n_trains", c_uint32),
        ("reserved", c_uint32),
    ]



class tsr_bench_summary(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("ok", c_uint32),
        ("unsupported", c_uint32),
        ("failed_accuracy", c_uint32),
        ("errors", c_uint32),
        ("throttled", c_uint32),
        ("reserved", c_uint32),
    ]



class tsr_bench_suite_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("unfinished", c_uint32),
        ("class_name", c_char_p),
        ("parts", c_char_p),
        ("model", c_char_p),
        ("start", POINTER(c_char_p)),
        ("n_start", c_uint32),
        ("reserved2", c_uint32),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_char_p, c_uint32, c_uint32)),
        ("progress_data", c_void_p),
        ("peer", POINTER(c_char_p)),
        ("n_peer", c_uint32),
        ("reserved3", c_uint32),
        ("start_model", c_char_p),
    ]



class tsr_bench_file_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("version", c_uint32),
        ("name", c_char_p),
        ("class_name", c_char_p),
        ("commit", c_char_p),
        ("compiler", c_char_p),
        ("flags", c_char_p),
        ("build_type", c_char_p),
        ("line", CFUNCTYPE(None, c_void_p, c_char_p)),
        ("line_data", c_void_p),
    ]



class tsr_classify_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("next", c_uint32),
        ("max_tokens", c_int64),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
        ("prompt", c_char_p),
        ("prompt_text", c_char_p),
    ]



class tsr_classify_stats(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("tokens", c_uint64),
        ("cut", c_uint64),
    ]



class tsr_span(Structure):
    _fields_ = [
        ("begin", c_size_t),
        ("end", c_size_t),
        ("label", c_char_p),
        ("score", c_float),
        ("words", c_uint32),
    ]



class tsr_cluster_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("k", c_uint32),
        ("threshold", c_float),
        ("min_size", c_uint32),
        ("seed", c_uint64),
        ("max_iterations", c_uint32),
        ("reserved", c_uint32),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
    ]



class tsr_clusters(Structure):
    _fields_ = [
        ("rows", c_uint64),
        ("n", c_uint32),
        ("passes", c_uint32),
        ("cluster", POINTER(c_int32)),
        ("cosine", POINTER(c_float)),
        ("size", POINTER(c_uint64)),
        ("nearest", POINTER(c_uint64)),
    ]



class tsr_dump_inputs(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("attention", c_uint32),
        ("B", c_int64),
        ("T", c_int64),
        ("input_ids", POINTER(c_int64)),
        ("attention_mask", POINTER(c_int64)),
        ("position_ids", POINTER(c_int64)),
        ("token_type_ids", POINTER(c_int64)),
        ("decoder_T", c_int64),
        ("decoder_input_ids", POINTER(c_int64)),
        ("decoder_attention_mask", POINTER(c_int64)),
        ("decoder_position_ids", POINTER(c_int64)),
    ]



class tsr_embed_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("max_tokens", c_int64),
        ("prompt", c_char_p),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
        ("pooling", c_char_p),
        ("prompt_text", c_char_p),
    ]



class tsr_embedder_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("width", c_uint32),
        ("layers", c_uint32),
        ("normalized", c_uint32),
        ("has_modules", c_uint32),
        ("model_width", c_uint32),
        ("max_tokens", c_int64),
        ("pooling", c_char_p),
        ("prompt", c_char_p),
        ("prompt_names", c_char_p),
        ("task", c_char_p),
        ("tasks", c_char_p),
    ]



class tsr_embed_stats(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("tokens", c_uint64),
        ("cut", c_uint64),
    ]



class tsr_token_vectors(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("width", c_uint32),
        ("text", c_size_t),
        ("n", c_size_t),
        ("ids", POINTER(c_int32)),
        ("vectors", POINTER(c_float)),
    ]



class tsr_perplexity_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("window", c_int64),
        ("stride", c_int64),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
        ("ranks", POINTER(tsr_ranks)),
    ]



class tsr_perplexity(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("loss", c_double),
        ("perplexity", c_double),
        ("bits_per_byte", c_double),
        ("tokens", c_uint64),
        ("bytes", c_uint64),
        ("windows", c_uint64),
        ("window", c_int64),
        ("stride", c_int64),
        ("nanoseconds", c_uint64),
    ]



class tsr_bleu(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("score", c_double),
        ("precision", c_double * 4),
        ("brevity_penalty", c_double),
        ("matches", c_uint64 * 4),
        ("ngrams", c_uint64 * 4),
        ("length", c_uint64),
        ("reference_length", c_uint64),
    ]



class tsr_chrf(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("score", c_double),
        ("precision", c_double),
        ("recall", c_double),
        ("matches", c_uint64 * 6),
        ("ngrams", c_uint64 * 6),
        ("reference_ngrams", c_uint64 * 6),
    ]



class tsr_label_score(Structure):
    _fields_ = [
        ("wanted", c_uint64),
        ("given", c_uint64),
        ("right", c_uint64),
        ("precision", c_double),
        ("recall", c_double),
        ("f1", c_double),
    ]



class tsr_label_scores(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("labels", c_uint32),
        ("texts", c_uint64),
        ("right", c_uint64),
        ("accuracy", c_double),
        ("micro_f1", c_double),
        ("macro_precision", c_double),
        ("macro_recall", c_double),
        ("macro_f1", c_double),
        ("weighted_f1", c_double),
    ]



class tsr_evaluate_words_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("words_field", c_char_p),
        ("labels_field", c_char_p),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64)),
        ("progress_data", c_void_p),
        ("max_tokens", c_int64),
        ("ranks", POINTER(tsr_ranks)),
    ]



class tsr_word_scores(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("texts", c_uint64),
        ("words", c_uint64),
        ("right", c_uint64),
        ("left_out", c_uint64),
        ("accuracy", c_double),
        ("entities_wanted", c_uint64),
        ("entities_given", c_uint64),
        ("entities_right", c_uint64),
        ("precision", c_double),
        ("recall", c_double),
        ("f1", c_double),
    ]



class tsr_answer_score(Structure):
    _fields_ = [
        ("exact", c_uint32),
        ("reserved", c_uint32),
        ("f1", c_double),
    ]



class tsr_answer_scores(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("questions", c_uint64),
        ("answerable", c_uint64),
        ("exact", c_uint64),
        ("exact_match", c_double),
        ("f1", c_double),
        ("answerable_exact_match", c_double),
        ("answerable_f1", c_double),
        ("unanswerable_exact_match", c_double),
    ]



class tsr_filled(Structure):
    _fields_ = [
        ("id", c_int32),
        ("probability", c_float),
    ]



class tsr_fill(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n", c_uint32),
        ("text", c_size_t),
        ("mask", c_size_t),
        ("masks", c_size_t),
        ("candidates", POINTER(tsr_filled)),
        ("lost", c_size_t),
        ("tokens", c_size_t),
        ("reads", c_size_t),
    ]



class tsr_merge_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_lora", c_uint32),
        ("lora", POINTER(c_char_p)),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
    ]



class tsr_plot_log(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("cut", c_uint32),
        ("points", c_uint64),
        ("skipped", c_uint64),
        ("first_skipped", c_uint64),
    ]



class tsr_quantize_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("dtype", c_uint32),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
    ]



class tsr_rank_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("max_tokens", c_int64),
        ("instruction", c_char_p),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
        ("prompt", c_char_p),
        ("prompt_text", c_char_p),
    ]



class tsr_compare_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("across_devices", c_uint32),
        ("fail_above", c_double),
        ("confidence", c_double),
    ]



class tsr_compared(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("verdict", c_uint32),
        ("device", c_char_p),
        ("model", c_char_p),
        ("test", c_char_p),
        ("class_name", c_char_p),
        ("peer", c_char_p),
        ("unit", c_char_p),
        ("why", c_char_p),
        ("batch", c_int64),
        ("before", c_double),
        ("after", c_double),
        ("ratio", c_double),
        ("low", c_double),
        ("high", c_double),
        ("p", c_double),
        ("n_before", c_uint32),
        ("n_after", c_uint32),
        ("by_runs", c_uint32),
        ("throttled", c_uint32),
        ("peak", c_uint32),
        ("reserved", c_uint32),
    ]



class tsr_compare_summary(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rows", c_uint32),
        ("same", c_uint32),
        ("faster", c_uint32),
        ("regressions", c_uint32),
        ("gained", c_uint32),
        ("without_rate", c_uint32),
        ("only_before", c_uint32),
        ("only_after", c_uint32),
        ("reserved", c_uint32),
        ("ratio", c_double),
        ("partial_before", c_uint32),
        ("partial_after", c_uint32),
    ]



class tsr_explained_variant(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("why", c_char_p),
        ("tunables", c_char_p),
        ("chosen", c_uint32),
        ("fits", c_uint32),
        ("batch_variant", c_uint32),
        ("score", c_int32),
    ]



class tsr_explained(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_rows", c_uint32),
        ("label", c_char_p),
        ("op", c_char_p),
        ("device", c_char_p),
        ("note", c_char_p),
        ("variants", POINTER(tsr_explained_variant)),
        ("tokens", c_int64),
    ]



class tsr_profiled(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("device", c_char_p),
        ("op", c_char_p),
        ("kernel", c_char_p),
        ("launches", c_uint64),
        ("nanoseconds", c_uint64),
        ("enqueue_nanoseconds", c_uint64),
    ]



class tsr_scheduler_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("slots", c_uint32),
        ("context", c_int64),
        ("step_tokens", c_int64),
        ("no_reuse", c_uint32),
        ("reserved", c_uint32),
        ("kv_tokens", c_int64),
    ]



class tsr_request(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_ends", c_uint32),
        ("prompt", POINTER(tsr_prompt)),
        ("options", POINTER(tsr_generate_options)),
        ("ends", POINTER(c_int32)),
        ("data", c_void_p),
        ("prompt_logprobs", c_uint32),
        ("reserved", c_uint32),
    ]



class tsr_scheduler_event(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_uint32),
        ("request", c_uint64),
        ("generated", POINTER(tsr_generated)),
        ("data", c_void_p),
        ("error", c_char_p),
        ("prompt_tokens", c_uint32),
        ("cached_tokens", c_uint32),
        ("of_prompt", c_uint32),
        ("reserved", c_uint32),
    ]



class tsr_scheduler_counts(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("slots", c_uint32),
        ("running", c_uint32),
        ("waiting", c_uint32),
        ("context", c_int64),
        ("tokens", c_int64),
        ("finished", c_uint64),
        ("cancelled", c_uint64),
        ("failed", c_uint64),
        ("prompt_tokens", c_uint64),
        ("cached_tokens", c_uint64),
        ("new_tokens", c_uint64),
        ("steps", c_uint64),
        ("drafts", c_uint64),
        ("drafted_tokens", c_uint64),
        ("accepted_tokens", c_uint64),
        ("kv_tokens", c_int64),
        ("kv_used", c_int64),
        ("put_back", c_uint64),
    ]



class tsr_hit(Structure):
    _fields_ = [
        ("row", c_uint64),
        ("cosine", c_float),
        ("reserved", c_uint32),
    ]



class tsr_session_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("sequences", c_uint32),
        ("context", c_int64),
        ("reserve", c_int64),
    ]



class tsr_train_plan(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("family", c_char_p),
        ("task", c_char_p),
        ("learns", c_char_p),
        ("parameters", c_uint64),
        ("learning", c_uint64),
        ("steps", c_uint64),
        ("batches", c_uint64),
        ("examples", c_uint64),
        ("tokens", c_uint64),
        ("accumulation", c_uint64),
        ("B", c_int32),
        ("T", c_int32),
        ("S", c_int32),
        ("weight_bytes", c_uint64),
        ("parameter_bytes", c_uint64),
        ("gradient_bytes", c_uint64),
        ("optimizer_bytes", c_uint64),
        ("activation_bytes", c_uint64),
        ("input_bytes", c_uint64),
        ("total_bytes", c_uint64),
        ("process_bytes", c_uint64),
        ("shards", c_uint32),
        ("most_shards", c_uint32),
    ]



class tsr_train_event(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_uint32),
        ("step", c_uint64),
        ("steps", c_uint64),
        ("done", c_uint64),
        ("total", c_uint64),
        ("loss", c_double),
        ("kl", c_double),
        ("learning_rate", c_double),
        ("grad_norm", c_double),
        ("tokens_per_second", c_double),
        ("seconds", c_double),
        ("seconds_left", c_double),
        ("tokens", c_uint64),
        ("eval_loss", c_double),
        ("eval_accuracy", c_double),
        ("logged", c_uint32),
        ("best", c_uint32),
        ("text", c_char_p),
        ("plan", POINTER(tsr_train_plan)),
        ("waiting", c_double),
        ("eval_f1", c_double),
    ]



class tsr_train_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("task", c_uint32),
        ("data", POINTER(c_char_p)),
        ("n_data", c_size_t),
        ("validation", POINTER(c_char_p)),
        ("n_validation", c_size_t),
        ("output", c_char_p),
        ("recipe", c_char_p),
        ("model", c_char_p),
        ("set", POINTER(c_char_p)),
        ("n_set", c_size_t),
        ("head_only", c_uint32),
        ("resume", c_uint32),
        ("dry_run", c_uint32),
        ("balance", c_uint32),
        ("progress", CFUNCTYPE(c_int, c_void_p, POINTER(tsr_train_event))),
        ("progress_data", c_void_p),
        ("profile", CFUNCTYPE(None, c_void_p, POINTER(tsr_profiled))),
        ("profile_data", c_void_p),
        ("ranks", POINTER(tsr_ranks)),
    ]



class tsr_train_result(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("finished", c_uint32),
        ("step", c_uint64),
        ("steps", c_uint64),
        ("tokens", c_uint64),
        ("loss", c_double),
        ("eval_loss", c_double),
        ("best_step", c_uint64),
        ("best", c_double),
        ("stopped", c_int32),
        ("reserved", c_int32),
    ]



class tsr_training_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("task", c_uint32),
        ("set", POINTER(c_char_p)),
        ("n_set", c_size_t),
        ("head_only", c_uint32),
        ("teacher", c_uint32),
        ("steps", c_uint64),
    ]



class tsr_training_batch(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("B", c_int32),
        ("T", c_int32),
        ("S", c_int32),
        ("ids", POINTER(c_int32)),
        ("len", POINTER(c_int32)),
        ("targets", POINTER(c_int32)),
        ("types", POINTER(c_int32)),
        ("source", POINTER(c_int32)),
        ("source_len", POINTER(c_int32)),
        ("teacher", POINTER(c_float)),
    ]



class tsr_training_loss(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("loss", c_double),
        ("hard", c_double),
        ("kl", c_double),
        ("counted", c_int64),
    ]



class tsr_training_array(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rank", c_uint32),
        ("name", c_char_p),
        ("dims", c_int64 * 2),
        ("elements", c_int64),
        ("moment", c_uint32),
        ("reserved", c_uint32),
    ]



class tsr_translate_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("batch", c_uint32),
        ("source", c_char_p),
        ("target", c_char_p),
        ("target_prefix", c_char_p),
        ("no_split", c_uint32),
        ("reserved", c_uint32),
        ("search", POINTER(tsr_generate_options)),
        ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)),
        ("progress_data", c_void_p),
        ("first_line", c_uint64),
    ]



class tsr_translation(Structure):
    _fields_ = [
        ("text", POINTER(c_char)),
        ("size", c_size_t),
        ("score", c_float),
        ("reserved", c_uint32),
    ]



class tsr_translated(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n", c_uint32),
        ("line", c_uint64),
        ("best", POINTER(tsr_translation)),
        ("status", c_uint32),
        ("parts", c_uint32),
        ("error", c_char_p),
    ]



class tsr_translate_stats(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("lines", c_uint64),
        ("failed", c_uint64),
        ("cut", c_uint64),
        ("source_tokens", c_uint64),
        ("target_tokens", c_uint64),
        ("nanoseconds", c_uint64),
    ]



class tsr_tune_result(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kept", c_uint32),
        ("tried", c_uint32),
        ("wrong", c_uint32),
        ("op", c_char_p),
        ("variant", c_char_p),
        ("condition", c_char_p),
        ("before", c_char_p),
        ("after", c_char_p),
        ("before_ns", c_double),
        ("after_ns", c_double),
    ]



class tsr_tune_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("seconds", c_double),
        ("write", c_char_p),
        ("visit", CFUNCTYPE(None, c_void_p, POINTER(tsr_tune_result))),
        ("stop", CFUNCTYPE(c_uint32, c_void_p)),
        ("data", c_void_p),
    ]



class tsr_verify_result(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_uint32),
        ("op", c_char_p),
        ("variant", c_char_p),
        ("name", c_char_p),
        ("reason", c_char_p),
        ("message", c_char_p),
        ("error", c_double),
        ("bound", c_double),
        ("flops", c_double),
        ("bytes", c_double),
        ("best_seconds", c_double),
        ("median_seconds", c_double),
        ("peak_share", c_double),
        ("plain_ratio", c_double),
        ("runs", c_uint32),
        ("reserved", c_uint32),
    ]



class tsr_verify_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("level", c_uint32),
        ("op", c_char_p),
        ("bench_seconds", c_double),
        ("every", c_uint32),
        ("first", c_uint32),
        ("most_flops", c_double),
        ("variants", c_char_p),
    ]



class tsr_verify_summary(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("ok", c_uint32),
        ("misses", c_uint32),
        ("errors", c_uint32),
        ("skipped", c_uint32),
        ("not_offered", c_uint32),
        ("ops", c_uint32),
        ("ops_done", c_uint32),
        ("timed", c_uint32),
        ("reserved", c_uint32),
    ]


tsr_generated_fn = CFUNCTYPE(c_int, c_void_p, POINTER(tsr_generated))

tsr_scheduler_event_fn = CFUNCTYPE(c_int, c_void_p, POINTER(tsr_scheduler_event))

tsr_translated_fn = CFUNCTYPE(c_int, c_void_p, POINTER(tsr_translated))

# name: (what it returns, its parameters)
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "tsr_error_last": (c_char_p, []),
    "tsr_plain_text": (c_size_t, [POINTER(c_char), c_size_t]),
    "tsr_version": (c_char_p, []),
    "tsr_status_name": (c_char_p, [c_int]),
    "tsr_name_nearest": (c_char_p, [c_char_p, POINTER(c_char_p), c_size_t]),
    "tsr_engine_create": (c_int, [POINTER(tsr_engine_options), POINTER(POINTER(tsr_engine))]),
    "tsr_engine_destroy": (None, [POINTER(POINTER(tsr_engine))]),
    "tsr_engine_note_count": (c_size_t, [POINTER(tsr_engine)]),
    "tsr_engine_note": (c_char_p, [POINTER(tsr_engine), c_size_t]),
    "tsr_engine_cache_folder": (c_char_p, [POINTER(tsr_engine)]),
    "tsr_device_count": (c_size_t, [POINTER(tsr_engine)]),
    "tsr_device_info_get": (c_int, [POINTER(tsr_engine), c_size_t, POINTER(tsr_device_info)]),
    "tsr_device_open": (c_int, [POINTER(tsr_engine), c_char_p, POINTER(tsr_device_open_options), POINTER(POINTER(tsr_device))]),
    "tsr_device_close": (None, [POINTER(POINTER(tsr_device))]),
    "tsr_device_describe": (c_char_p, [POINTER(tsr_device)]),
    "tsr_device_indices": (c_size_t, [POINTER(tsr_device), POINTER(c_size_t), c_size_t]),
    "tsr_ranks_open": (c_int, [POINTER(tsr_ranks_options), POINTER(POINTER(tsr_ranks))]),
    "tsr_ranks_close": (c_int, [POINTER(POINTER(tsr_ranks))]),
    "tsr_ranks_leave": (None, [POINTER(tsr_ranks), c_int, c_char_p]),
    "tsr_ranks_info_get": (c_int, [POINTER(tsr_ranks), POINTER(tsr_ranks_info)]),
    "tsr_ranks_compare": (c_int, [POINTER(tsr_ranks), c_char_p]),
    "tsr_share_begin": (c_int, [POINTER(tsr_ranks), POINTER(tsr_share_options), POINTER(POINTER(tsr_share))]),
    "tsr_share_next": (c_int, [POINTER(tsr_share), c_uint64, POINTER(c_void_p), POINTER(c_size_t)]),
    "tsr_share_give": (c_int, [POINTER(tsr_share), c_void_p, c_size_t]),
    "tsr_share_poll": (c_int, [POINTER(tsr_share)]),
    "tsr_share_end": (None, [POINTER(POINTER(tsr_share))]),
    "tsr_model_open": (c_int, [c_char_p, POINTER(tsr_device), POINTER(tsr_model_options), POINTER(POINTER(tsr_model))]),
    "tsr_model_close": (None, [POINTER(POINTER(tsr_model))]),
    "tsr_model_info_get": (c_int, [POINTER(tsr_model), POINTER(tsr_model_info)]),
    "tsr_model_describe": (c_int, [POINTER(tsr_model), CFUNCTYPE(None, c_void_p, c_char_p, c_char_p), c_void_p]),
    "tsr_model_memory_get": (c_int, [POINTER(tsr_model), POINTER(tsr_model_memory)]),
    "tsr_model_fingerprint": (c_int, [POINTER(tsr_model), POINTER(c_char)]),
    "tsr_model_bundled": (c_int, [CFUNCTYPE(None, c_void_p, c_char_p, c_char_p), c_void_p]),
    "tsr_model_list": (c_int, [CFUNCTYPE(None, c_void_p, POINTER(tsr_model_found)), c_void_p]),
    "tsr_encode": (c_int, [POINTER(tsr_model), c_char_p, c_size_t, c_uint32, POINTER(POINTER(c_int32)), POINTER(c_size_t)]),
    "tsr_ids_free": (None, [POINTER(c_int32)]),
    "tsr_decode": (c_int, [POINTER(tsr_model), POINTER(c_int32), c_size_t, c_uint32, POINTER(POINTER(c_char)), POINTER(c_size_t)]),
    "tsr_token_bytes": (c_int, [POINTER(tsr_model), c_int32, POINTER(POINTER(c_char)), POINTER(c_size_t)]),
    "tsr_text_free": (None, [POINTER(c_char)]),
    "tsr_piece": (POINTER(c_char), [POINTER(tsr_model), c_int32, POINTER(c_size_t)]),
    "tsr_tokenizer_train": (c_int, [POINTER(tsr_tokenizer_training), POINTER(c_char_p), c_size_t, c_char_p, POINTER(tsr_tokenizer_trained)]),
    "tsr_answerer_create": (c_int, [POINTER(tsr_model), POINTER(tsr_answerer_options), POINTER(POINTER(tsr_answerer))]),
    "tsr_answerer_destroy": (None, [POINTER(POINTER(tsr_answerer))]),
    "tsr_answer_questions": (c_int, [POINTER(tsr_answerer), POINTER(tsr_string), POINTER(tsr_string), c_size_t, CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(tsr_answer_span), c_size_t), c_void_p, POINTER(tsr_answerer_stats)]),
    "tsr_grammar_check": (c_int, [c_char_p]),
    "tsr_json_schema_check": (c_int, [c_char_p]),
    "tsr_generate_defaults": (c_int, [POINTER(tsr_model), POINTER(tsr_generate_options)]),
    "tsr_generate": (c_int, [POINTER(tsr_model), POINTER(POINTER(tsr_prompt)), c_uint32, POINTER(tsr_generate_options), tsr_generated_fn, c_void_p, POINTER(tsr_generate_stats)]),
    "tsr_generate_text": (c_int, [POINTER(tsr_model), c_char_p, c_size_t, POINTER(tsr_generate_options), POINTER(POINTER(c_char)), POINTER(c_size_t)]),
    "tsr_chat_template_of": (c_int, [POINTER(tsr_model), POINTER(POINTER(c_char)), POINTER(c_size_t)]),
    "tsr_chat_render": (c_int, [POINTER(tsr_model), POINTER(tsr_chat_options), c_char_p, c_uint32, POINTER(POINTER(c_char)), POINTER(c_size_t)]),
    "tsr_chat_prompt_create": (c_int, [POINTER(tsr_model), POINTER(tsr_chat_options), c_char_p, POINTER(POINTER(tsr_chat_prompt))]),
    "tsr_chat_prompt_destroy": (None, [POINTER(POINTER(tsr_chat_prompt))]),
    "tsr_chat_prompt_text": (POINTER(c_char), [POINTER(tsr_chat_prompt), POINTER(c_size_t)]),
    "tsr_chat_prompt_ids": (POINTER(c_int32), [POINTER(tsr_chat_prompt), POINTER(c_uint32)]),
    "tsr_chat_prompt_ends": (POINTER(c_int32), [POINTER(tsr_chat_prompt), POINTER(c_uint32)]),
    "tsr_answer_create": (c_int, [POINTER(tsr_model), c_char_p, c_size_t, POINTER(POINTER(tsr_answer))]),
    "tsr_answer_has_channels": (c_uint32, [POINTER(tsr_answer)]),
    "tsr_answer_take": (c_int, [POINTER(tsr_answer), POINTER(tsr_generated), tsr_part_fn, c_void_p]),
    "tsr_answer_destroy": (None, [POINTER(POINTER(tsr_answer))]),
    "tsr_chat_create": (c_int, [POINTER(tsr_model), POINTER(tsr_chat_options), POINTER(tsr_generate_options), POINTER(POINTER(tsr_chat))]),
    "tsr_chat_destroy": (None, [POINTER(POINTER(tsr_chat))]),
    "tsr_chat_say": (c_int, [POINTER(tsr_chat), c_char_p, c_size_t, tsr_generated_fn, c_void_p, POINTER(tsr_generate_stats)]),
    "tsr_attention_create": (c_int, [POINTER(tsr_model), c_char_p, c_size_t, POINTER(tsr_attention_options), POINTER(POINTER(tsr_attention))]),
    "tsr_attention_destroy": (None, [POINTER(POINTER(tsr_attention))]),
    "tsr_attention_map_count": (c_size_t, [POINTER(tsr_attention)]),
    "tsr_attention_map_get": (c_int, [POINTER(tsr_attention), c_size_t, POINTER(tsr_attention_map)]),
    "tsr_attention_write_page": (c_int, [POINTER(tsr_attention), c_char_p]),
    "tsr_attention_json": (c_int, [POINTER(tsr_attention), POINTER(POINTER(c_char)), POINTER(c_size_t)]),
    "tsr_bench_status_name": (c_char_p, [c_uint32]),
    "tsr_bench_kind_name": (c_char_p, [c_uint32]),
    "tsr_bench_bound_name": (c_char_p, [c_uint32]),
    "tsr_bench": (c_int, [POINTER(tsr_engine), POINTER(tsr_device), c_char_p, POINTER(tsr_model_options), POINTER(tsr_bench_options), CFUNCTYPE(c_int, c_void_p, POINTER(tsr_bench_row)), c_void_p, POINTER(tsr_bench_summary)]),
    "tsr_bench_suite": (c_int, [POINTER(tsr_engine), POINTER(tsr_device), POINTER(tsr_bench_suite_options), CFUNCTYPE(c_int, c_void_p, POINTER(tsr_bench_row)), c_void_p, POINTER(tsr_bench_summary)]),
    "tsr_bench_file_create": (c_int, [POINTER(tsr_bench_file_options), POINTER(POINTER(tsr_bench_file))]),
    "tsr_bench_file_destroy": (None, [POINTER(POINTER(tsr_bench_file))]),
    "tsr_bench_file_device": (c_int, [POINTER(tsr_bench_file), POINTER(tsr_device_info), c_uint32]),
    "tsr_bench_file_row": (c_int, [POINTER(tsr_bench_file), POINTER(tsr_bench_row)]),
    "tsr_bench_file_end": (c_int, [POINTER(tsr_bench_file), c_uint32]),
    "tsr_bench_file_text": (c_int, [POINTER(tsr_bench_file), c_uint32, POINTER(POINTER(c_char)), POINTER(c_size_t)]),
    "tsr_bench_training_create": (c_int, [c_char_p, POINTER(tsr_device), c_uint32, c_int64, c_uint32, POINTER(POINTER(tsr_bench_training))]),
    "tsr_bench_training_destroy": (None, [POINTER(POINTER(tsr_bench_training))]),
    "tsr_bench_training_run": (c_int, [POINTER(tsr_bench_training), c_uint32, POINTER(c_double), POINTER(c_uint64)]),
    "tsr_bench_training_parameters": (c_int64, [POINTER(tsr_bench_training)]),
    "tsr_bundle_export": (c_int, [POINTER(tsr_model), c_char_p]),
    "tsr_bundle_build": (c_int, [POINTER(tsr_device), c_char_p, c_char_p]),
    "tsr_classifier_create": (c_int, [POINTER(tsr_model), POINTER(tsr_classify_options), POINTER(POINTER(tsr_classifier))]),
    "tsr_classifier_destroy": (None, [POINTER(POINTER(tsr_classifier))]),
    "tsr_classifier_kind_of": (c_int, [POINTER(tsr_classifier)]),
    "tsr_classifier_labels": (c_uint32, [POINTER(tsr_classifier)]),
    "tsr_classifier_label": (c_char_p, [POINTER(tsr_classifier), c_uint32]),
    "tsr_classify": (c_int, [POINTER(tsr_classifier), POINTER(tsr_string), POINTER(tsr_string), c_size_t, POINTER(c_float), POINTER(tsr_classify_stats)]),
    "tsr_classify_logits": (c_int, [POINTER(tsr_classifier), POINTER(tsr_string), POINTER(tsr_string), c_size_t, POINTER(c_float), POINTER(tsr_classify_stats)]),
    "tsr_classify_tokens": (c_int, [POINTER(tsr_classifier), POINTER(tsr_string), c_size_t, CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(tsr_span), c_size_t), c_void_p, POINTER(tsr_classify_stats)]),
    "tsr_cluster": (c_int, [POINTER(c_float), c_uint64, c_uint32, POINTER(tsr_cluster_options), POINTER(POINTER(tsr_clusters))]),
    "tsr_clusters_free": (None, [POINTER(POINTER(tsr_clusters))]),
    "tsr_dump": (c_int, [POINTER(tsr_model), POINTER(tsr_dump_inputs), c_char_p]),
    "tsr_dump_json": (c_int, [POINTER(tsr_model), c_char_p, c_uint32, c_char_p]),
    "tsr_embedder_create": (c_int, [POINTER(tsr_model), POINTER(tsr_embed_options), POINTER(POINTER(tsr_embedder))]),
    "tsr_embedder_destroy": (None, [POINTER(POINTER(tsr_embedder))]),
    "tsr_embedder_info_get": (c_int, [POINTER(tsr_embedder), POINTER(tsr_embedder_info)]),
    "tsr_embed": (c_int, [POINTER(tsr_embedder), POINTER(tsr_string), c_size_t, POINTER(c_float), POINTER(tsr_embed_stats)]),
    "tsr_embed_tokens": (c_int, [POINTER(tsr_embedder), POINTER(tsr_string), c_size_t, c_uint32, CFUNCTYPE(c_int, c_void_p, POINTER(tsr_token_vectors)), c_void_p, POINTER(tsr_embed_stats)]),
    "tsr_evaluate_perplexity": (c_int, [POINTER(tsr_model), c_char_p, c_size_t, POINTER(tsr_perplexity_options), POINTER(tsr_perplexity)]),
    "tsr_evaluate_bleu": (c_int, [POINTER(tsr_string), POINTER(tsr_string), c_size_t, POINTER(tsr_bleu)]),
    "tsr_bleu_signature": (c_char_p, []),
    "tsr_evaluate_chrf": (c_int, [POINTER(tsr_string), POINTER(tsr_string), c_size_t, POINTER(tsr_chrf)]),
    "tsr_chrf_signature": (c_char_p, []),
    "tsr_evaluate_labels": (c_int, [POINTER(c_uint32), POINTER(c_uint32), c_size_t, c_uint32, POINTER(tsr_label_score), POINTER(tsr_label_scores)]),
    "tsr_evaluate_words": (c_int, [POINTER(tsr_model), c_char_p, POINTER(tsr_evaluate_words_options), POINTER(tsr_word_scores)]),
    "tsr_evaluate_answers": (c_int, [POINTER(tsr_string), POINTER(tsr_string), POINTER(c_uint32), c_size_t, POINTER(tsr_answer_score), POINTER(tsr_answer_scores)]),
    "tsr_fill_mask": (c_int, [POINTER(tsr_model), POINTER(tsr_string), c_size_t, c_uint32, CFUNCTYPE(c_int, c_void_p, POINTER(tsr_fill)), c_void_p]),
    "tsr_graph_create": (c_int, [POINTER(tsr_device), POINTER(POINTER(tsr_graph))]),
    "tsr_graph_destroy": (None, [POINTER(POINTER(tsr_graph))]),
    "tsr_graph_status": (c_int, [POINTER(tsr_graph)]),
    "tsr_graph_input": (c_int32, [POINTER(tsr_graph), c_char_p, c_int, c_uint32, POINTER(c_int64), c_void_p]),
    "tsr_graph_weight": (c_int32, [POINTER(tsr_graph), c_char_p, c_int, c_uint32, POINTER(c_int64), c_void_p]),
    "tsr_graph_state": (c_int32, [POINTER(tsr_graph), c_char_p, c_int, c_uint32, POINTER(c_int64)]),
    "tsr_graph_op": (c_int32, [POINTER(tsr_graph), c_int, c_void_p, POINTER(c_int32), c_uint32]),
    "tsr_graph_op_outputs": (None, [POINTER(tsr_graph), c_int, c_void_p, POINTER(c_int32), c_uint32, c_uint32, POINTER(c_int32), c_uint32]),
    "tsr_graph_reshape": (c_int32, [POINTER(tsr_graph), c_int32, c_uint32, POINTER(c_int64)]),
    "tsr_graph_permute": (c_int32, [POINTER(tsr_graph), c_int32, POINTER(c_uint32)]),
    "tsr_graph_slice": (c_int32, [POINTER(tsr_graph), c_int32, c_uint32, c_int64, c_int64]),
    "tsr_graph_shape": (c_int, [POINTER(tsr_graph), c_int32, POINTER(c_uint32), POINTER(c_int64)]),
    "tsr_graph_gradients": (None, [POINTER(tsr_graph), POINTER(c_int32), c_uint32, POINTER(c_int32), POINTER(c_int32), c_uint32, POINTER(c_int32)]),
    "tsr_graph_output": (None, [POINTER(tsr_graph), c_char_p, c_int32, c_void_p, c_size_t]),
    "tsr_graph_run": (c_int, [POINTER(tsr_graph)]),
    "tsr_merge": (c_int, [c_char_p, c_char_p, POINTER(tsr_merge_options)]),
    "tsr_plot_create": (c_int, [POINTER(POINTER(tsr_plot))]),
    "tsr_plot_destroy": (None, [POINTER(POINTER(tsr_plot))]),
    "tsr_plot_add": (c_int, [POINTER(tsr_plot), c_char_p, c_char_p, POINTER(tsr_plot_log)]),
    "tsr_plot_write_page": (c_int, [POINTER(tsr_plot), c_char_p]),
    "tsr_quantize": (c_int, [c_char_p, c_char_p, POINTER(tsr_quantize_options)]),
    "tsr_ranker_create": (c_int, [POINTER(tsr_model), POINTER(tsr_rank_options), POINTER(POINTER(tsr_ranker))]),
    "tsr_ranker_destroy": (None, [POINTER(POINTER(tsr_ranker))]),
    "tsr_rank": (c_int, [POINTER(tsr_ranker), tsr_string, POINTER(tsr_string), c_size_t, POINTER(c_float), POINTER(tsr_classify_stats)]),
    "tsr_results_open": (c_int, [c_char_p, POINTER(POINTER(tsr_results))]),
    "tsr_results_close": (None, [POINTER(POINTER(tsr_results))]),
    "tsr_results_report": (c_int, [POINTER(POINTER(tsr_results)), c_size_t, c_char_p, POINTER(POINTER(c_char)), POINTER(c_size_t)]),
    "tsr_results_compare": (c_int, [POINTER(POINTER(tsr_results)), c_size_t, POINTER(POINTER(tsr_results)), c_size_t, POINTER(tsr_compare_options), CFUNCTYPE(c_int, c_void_p, POINTER(tsr_compared)), c_void_p, POINTER(tsr_compare_summary)]),
    "tsr_explain": (c_int, [POINTER(tsr_model), c_int64, CFUNCTYPE(None, c_void_p, POINTER(tsr_explained)), c_void_p]),
    "tsr_explain_encoder": (c_int, [POINTER(tsr_model), c_int64, CFUNCTYPE(None, c_void_p, POINTER(tsr_explained)), c_void_p]),
    "tsr_profile": (c_int, [POINTER(tsr_model), CFUNCTYPE(None, c_void_p, POINTER(tsr_profiled)), c_void_p]),
    "tsr_scheduler_create": (c_int, [POINTER(tsr_model), POINTER(tsr_scheduler_options), POINTER(POINTER(tsr_scheduler))]),
    "tsr_scheduler_destroy": (None, [POINTER(POINTER(tsr_scheduler))]),
    "tsr_scheduler_add": (c_int, [POINTER(tsr_scheduler), POINTER(tsr_request), POINTER(c_uint64)]),
    "tsr_scheduler_cancel": (c_int, [POINTER(tsr_scheduler), c_uint64]),
    "tsr_scheduler_step": (c_int, [POINTER(tsr_scheduler), tsr_scheduler_event_fn, c_void_p]),
    "tsr_scheduler_count": (c_int, [POINTER(tsr_scheduler), POINTER(tsr_scheduler_counts)]),
    "tsr_vectors_open": (c_int, [c_char_p, POINTER(POINTER(tsr_vectors))]),
    "tsr_vectors_close": (None, [POINTER(POINTER(tsr_vectors))]),
    "tsr_vectors_rows": (c_uint64, [POINTER(tsr_vectors)]),
    "tsr_vectors_width": (c_uint32, [POINTER(tsr_vectors)]),
    "tsr_vectors_read": (c_int, [POINTER(tsr_vectors), c_uint64, c_size_t, POINTER(c_float)]),
    "tsr_vectors_create": (c_int, [c_char_p, c_uint32, POINTER(POINTER(tsr_vectors_writer))]),
    "tsr_vectors_append": (c_int, [POINTER(tsr_vectors_writer), POINTER(c_float), c_size_t]),
    "tsr_vectors_commit": (c_int, [POINTER(POINTER(tsr_vectors_writer))]),
    "tsr_vectors_abandon": (None, [POINTER(POINTER(tsr_vectors_writer))]),
    "tsr_search": (c_int, [POINTER(tsr_vectors), POINTER(c_float), c_uint32, c_uint32, POINTER(tsr_hit), POINTER(c_uint32)]),
    "tsr_session_create": (c_int, [POINTER(tsr_model), POINTER(tsr_session_options), POINTER(POINTER(tsr_session))]),
    "tsr_session_destroy": (None, [POINTER(POINTER(tsr_session))]),
    "tsr_session_length": (c_int64, [POINTER(tsr_session), c_uint32]),
    "tsr_session_encode": (c_int, [POINTER(tsr_session), c_uint32, POINTER(c_int32), c_size_t]),
    "tsr_session_prefill": (c_int, [POINTER(tsr_session), c_uint32, POINTER(c_int32), c_size_t, POINTER(c_float), POINTER(c_int32)]),
    "tsr_session_step": (c_int, [POINTER(tsr_session), POINTER(c_int32), c_size_t, POINTER(c_float), POINTER(c_int32)]),
    "tsr_session_greedy": (c_int, [POINTER(tsr_session), POINTER(c_int32), c_size_t, POINTER(c_int32)]),
    "tsr_session_fork": (c_int, [POINTER(tsr_session), c_uint32, c_uint32]),
    "tsr_session_rewind": (c_int, [POINTER(tsr_session), c_uint32, c_int64]),
    "tsr_train": (c_int, [POINTER(tsr_device), POINTER(tsr_train_options), POINTER(tsr_train_result)]),
    "tsr_train_keys": (None, [CFUNCTYPE(None, c_void_p, c_char_p, c_char_p, c_char_p, c_char_p), c_void_p]),
    "tsr_train_recipes": (c_int, [CFUNCTYPE(None, c_void_p, c_char_p, c_char_p), c_void_p]),
    "tsr_training_create": (c_int, [c_char_p, POINTER(tsr_device), POINTER(tsr_training_options), POINTER(POINTER(tsr_training))]),
    "tsr_training_destroy": (None, [POINTER(POINTER(tsr_training))]),
    "tsr_training_gradients": (c_int, [POINTER(tsr_training), POINTER(tsr_training_batch), c_double, POINTER(tsr_training_loss)]),
    "tsr_training_norm": (c_int, [POINTER(tsr_training), POINTER(c_double)]),
    "tsr_training_step": (c_int, [POINTER(tsr_training), c_double, c_double]),
    "tsr_training_evaluate": (c_int, [POINTER(tsr_training), POINTER(tsr_training_batch), POINTER(tsr_training_loss)]),
    "tsr_training_array_count": (c_size_t, [POINTER(tsr_training)]),
    "tsr_training_array_get": (c_int, [POINTER(tsr_training), c_size_t, POINTER(tsr_training_array)]),
    "tsr_training_array_read": (c_int, [POINTER(tsr_training), c_size_t, POINTER(c_float)]),
    "tsr_training_array_write": (c_int, [POINTER(tsr_training), c_size_t, POINTER(c_float)]),
    "tsr_training_gradient_read": (c_int, [POINTER(tsr_training), c_size_t, POINTER(c_float)]),
    "tsr_training_save": (c_int, [POINTER(tsr_training), c_char_p]),
    "tsr_translate_defaults": (c_int, [POINTER(tsr_model), POINTER(tsr_generate_options)]),
    "tsr_translate": (c_int, [POINTER(tsr_model), POINTER(tsr_translate_options), tsr_line_fn, tsr_translated_fn, c_void_p, POINTER(tsr_translate_stats)]),
    "tsr_translate_text": (c_int, [POINTER(tsr_model), POINTER(tsr_translate_options), c_char_p, c_size_t, POINTER(POINTER(c_char)), POINTER(c_size_t)]),
    "tsr_tune_model": (c_int, [POINTER(tsr_model), POINTER(tsr_tune_options)]),
    "tsr_tune_shapes": (c_int, [POINTER(tsr_device), c_char_p, POINTER(tsr_tune_options)]),
    "tsr_verify": (c_int, [POINTER(tsr_device), POINTER(tsr_verify_options), CFUNCTYPE(c_int, c_void_p, POINTER(tsr_verify_result)), c_void_p, POINTER(tsr_verify_summary)]),
    "tsr_verify_op_name": (c_char_p, [c_size_t]),
    "tsr_verify_variants": (c_int, [POINTER(tsr_device), c_char_p, CFUNCTYPE(None, c_void_p, c_char_p, c_uint32), c_void_p]),
}


def declare(library: CDLL) -> None:
    """Tells ctypes the parameters of every function. AttributeError: the library lacks one."""
    for name, (result, parameters) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters


def _name(names: Dict[int, str], value: int) -> str:
    return names.get(value, str(value))


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


NAMES_OF_TSR_DEVICE_TYPE = {TSR_DEVICE_OTHER: "other", TSR_DEVICE_CPU: "cpu", TSR_DEVICE_GPU: "gpu", TSR_DEVICE_ACCELERATOR: "accelerator"}

NAMES_OF_TSR_TRAIN_EVENT_KIND = {TSR_TRAIN_NOTE: "note", TSR_TRAIN_WARNING: "warning", TSR_TRAIN_PREPARING: "preparing", TSR_TRAIN_PLANNED: "planned", TSR_TRAIN_BATCH: "batch", TSR_TRAIN_STEP: "step", TSR_TRAIN_EVALUATED: "evaluated", TSR_TRAIN_SAVED: "saved"}

NAMES_OF_TSR_VERIFY_STATUS = {TSR_VERIFY_OK: "ok", TSR_VERIFY_MISS: "miss", TSR_VERIFY_NOT_OFFERED: "not_offered", TSR_VERIFY_SKIPPED: "skipped", TSR_VERIFY_ERROR: "error", TSR_VERIFY_TIMED: "timed"}

@dataclass(frozen=True)
class ModelInfo:
    """What a model is.

    path, format: "safetensors", "GGUF", "llama2.c"
    family: "llama"
    stored: dtype of most bytes in the files, or how they are quantised: "gptq 4 bits"
    tokenizer_why: why the tokenizer can't be used, or ""
    weight_bytes: in the storage dtype
    flops_per_token: of one token with no token before it
    flops_per_past_token: what attention adds for each earlier token in all layers
    bos, pad: token ids; -1: none
    kv_dtype: storage dtype of keys and values: "f32", "f16" or "q8_0"
    kept: storage dtype of most bytes of matrices
    compute: compute dtype of their products: "f32", "f16", "bf16", "int8"
    stored_bytes: of all arrays in the files
    kind: "decoder", "encoder" or "encoder-decoder". The sizes above are those of the decoder where there is one, and
        flops are those of a token that it generates; else they are the encoder's.
    encoder_layers: 0: no encoder
    source_vocab: how many ids the encoder knows
    source_context: the most tokens of a text that the encoder reads
    labels: of the classifier; 0: no classifier
    experts: of a layer; 0: none has experts
    experts_used: those of them that a token takes
    active_parameters: with which a token is computed: of experts, those that it takes
    flops_at_context: What attention adds to a token that ends a full context; layers with a sliding window see only the
        tokens in it. Of an encoder, the mean over the tokens of its longest text.
    """

    has_tokenizer: bool
    path: str
    format: str
    family: str
    stored: str
    tokenizer_why: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    ffn: int
    vocab: int
    context: int
    parameters: int
    weight_bytes: int
    kv_bytes_per_token: int
    flops_per_token: float
    flops_per_past_token: float
    bos: int
    pad: int
    eos: Tuple[int, ...]
    kv_dtype: str
    kept: str
    compute: str
    stored_bytes: int
    kind: str
    encoder_layers: int
    source_vocab: int
    source_context: int
    labels: int
    experts: int
    experts_used: int
    active_parameters: int
    flops_at_context: float

    @classmethod
    def _of(cls, s: tsr_model_info) -> "ModelInfo":
        return cls(
            bool(s.has_tokenizer),
            _text(s.path),
            _text(s.format),
            _text(s.family),
            _text(s.stored),
            _text(s.tokenizer_why),
            s.layers,
            s.width,
            s.heads,
            s.kv_heads,
            s.head_size,
            s.ffn,
            s.vocab,
            s.context,
            s.parameters,
            s.weight_bytes,
            s.kv_bytes_per_token,
            s.flops_per_token,
            s.flops_per_past_token,
            s.bos,
            s.pad,
            tuple(int(s.eos[i]) for i in range(s.n_eos)),
            _text(s.kv_dtype),
            _text(s.kept),
            _text(s.compute),
            s.stored_bytes,
            _text(s.kind),
            s.encoder_layers,
            s.source_vocab,
            s.source_context,
            s.labels,
            s.experts,
            s.experts_used,
            s.active_parameters,
            s.flops_at_context,
        )


@dataclass(frozen=True)
class ModelMemory:
    """Device memory that a model uses, in bytes."""

    weights: int
    states: int
    activations: int
    inputs: int

    @classmethod
    def _of(cls, s: tsr_model_memory) -> "ModelMemory":
        return cls(
            s.weights,
            s.states,
            s.activations,
            s.inputs,
        )


@dataclass(frozen=True)
class DeviceFacts:
    """What is known of a device without opening it.

    type: "other", "cpu", "gpu", "accelerator"
    usable: 0: `reason` says why not; device_open would fail with it
    score: Higher is a better default; <= 0 is never a default. GPU 300 (290 where it shares the processor's memory, 280
        by a driver that is not its vendor's), CPU 200, accelerator 100, emulator 0.
    version: of the interface, e.g. "OpenCL 3.0"
    c_version: of the kernel language, e.g. "OpenCL C 1.2"
    reason: one sentence: why it is or isn't usable, and its limits
    memory, max_allocation, local_memory: bytes
    base_alignment: a tensor's origin is a multiple of it; a power of two
    subgroup_sizes: ascending, 0 after the last; all 0: no sub-groups
    fp16, fp64, bf16: 1: arithmetic in this type
    int_dot: 1: 4x8-bit integer dot product
    command_buffers: 1: recorded launches
    unified_memory: 1: shares the host's memory
    emulator: 1: simulates another kind of device
    compiler: 1: builds kernels from source
    needs_bundle: 1: device_open needs a bundle of built kernels, or `record`
    """

    type: str
    usable: bool
    score: int
    platform: str
    name: str
    vendor: str
    driver: str
    version: str
    c_version: str
    reason: str
    compute_units: int
    clock_mhz: int
    memory: int
    max_allocation: int
    local_memory: int
    max_work_group: int
    base_alignment: int
    subgroup_sizes: Tuple[int, ...]
    fp16: bool
    fp64: bool
    bf16: bool
    int_dot: bool
    command_buffers: bool
    unified_memory: bool
    emulator: bool
    compiler: bool
    needs_bundle: bool

    @classmethod
    def _of(cls, s: tsr_facts) -> "DeviceFacts":
        return cls(
            _name(NAMES_OF_TSR_DEVICE_TYPE, s.type),
            bool(s.usable),
            s.score,
            _text(s.platform),
            _text(s.name),
            _text(s.vendor),
            _text(s.driver),
            _text(s.version),
            _text(s.c_version),
            _text(s.reason),
            s.compute_units,
            s.clock_mhz,
            s.memory,
            s.max_allocation,
            s.local_memory,
            s.max_work_group,
            s.base_alignment,
            tuple(n for n in s.subgroup_sizes if n),
            bool(s.fp16),
            bool(s.fp64),
            bool(s.bf16),
            bool(s.int_dot),
            bool(s.command_buffers),
            bool(s.unified_memory),
            bool(s.emulator),
            bool(s.compiler),
            bool(s.needs_bundle),
        )


@dataclass(frozen=True)
class EmbedderInfo:
    """What an embedder gives.

    width: of a vector
    layers: of the encoder
    normalized: 1: vectors have length 1; 0 also where they are cut
    has_modules: 1: a sentence-transformers folder; 0: no file says the pooling
    model_width: of the hidden states
    pooling: "mean", "first", "max", "last", "sqrt-mean", "weighted-mean"; several with ", " between
    prompt: the text that is put before each text; or ""
    prompt_names: all that the model has: "a, b"; or ""
    task: whose adapter the model was opened with; or ""
    tasks: all that the model has adapters for: "a, b"; or ""
    """

    width: int
    layers: int
    normalized: bool
    has_modules: bool
    model_width: int
    max_tokens: int
    pooling: str
    prompt: str
    prompt_names: str
    task: str
    tasks: str

    @classmethod
    def _of(cls, s: tsr_embedder_info) -> "EmbedderInfo":
        return cls(
            s.width,
            s.layers,
            bool(s.normalized),
            bool(s.has_modules),
            s.model_width,
            s.max_tokens,
            _text(s.pooling),
            _text(s.prompt),
            _text(s.prompt_names),
            _text(s.task),
            _text(s.tasks),
        )


@dataclass(frozen=True)
class EmbedStats:
    """What one call of encode took.

    tokens: tokens that were run
    cut: texts that were cut, as they were longer than max_tokens
    """

    tokens: int
    cut: int

    @classmethod
    def _of(cls, s: tsr_embed_stats) -> "EmbedStats":
        return cls(
            s.tokens,
            s.cut,
        )


@dataclass(frozen=True)
class GenerateStats:
    """Tokens and times of one generation; times in nanoseconds.

    refused: after TSR_E_ARGUMENT: the wrong prompt, from 1; 0: no prompt is wrong
    prompt_tokens, new_tokens: over all prompts
    prefill_ns, decode_ns: Time spent on prompts, and on the tokens after the first of each.
    first_token_ns: from the call to the first token
    decode_tokens: those of new_tokens that decode_ns was spent on
    drafted_tokens: tokens that were guessed (speculate),
    accepted_tokens: and those of them that were right
    """

    refused: int
    prompt_tokens: int
    new_tokens: int
    prefill_ns: int
    decode_ns: int
    first_token_ns: int
    decode_tokens: int
    drafted_tokens: int
    accepted_tokens: int

    @classmethod
    def _of(cls, s: tsr_generate_stats) -> "GenerateStats":
        return cls(
            s.refused,
            s.prompt_tokens,
            s.new_tokens,
            s.prefill_ns,
            s.decode_ns,
            s.first_token_ns,
            s.decode_tokens,
            s.drafted_tokens,
            s.accepted_tokens,
        )


@dataclass(frozen=True)
class ExplainedVariant:
    """A kernel variant that was considered for an op.

    name: canonical: "linear/packed:MR=6"
    why: Why it was refused; or, where it was chosen, what the user should know of it; or "".
    tunables: as tsr_variant.tunables
    """

    name: str
    why: str
    tunables: str
    chosen: bool
    fits: bool
    batch_variant: bool
    score: int

    @classmethod
    def _of(cls, s: tsr_explained_variant) -> "ExplainedVariant":
        return cls(
            _text(s.name),
            _text(s.why),
            _text(s.tunables),
            bool(s.chosen),
            bool(s.fits),
            bool(s.batch_variant),
            s.score,
        )


@dataclass(frozen=True)
class ExplainedOp:
    """An op of a plan, and the kernel variants that were considered for it.

    label: "layers.0.attention"
    op: "attention"
    device: the device that it runs on
    note: why that is not the model's device, or ""
    variants: in the order in which they were tried
    tokens: that a run of the plan takes: a longer prompt is read in pieces
    """

    label: str
    op: str
    device: str
    note: str
    variants: Tuple[ExplainedVariant, ...]
    tokens: int

    @classmethod
    def _of(cls, s: tsr_explained) -> "ExplainedOp":
        return cls(
            _text(s.label),
            _text(s.op),
            _text(s.device),
            _text(s.note),
            tuple(ExplainedVariant._of(s.variants[i]) for i in range(s.n_rows)),
            s.tokens,
        )


@dataclass(frozen=True)
class Profiled:
    """The time of one kernel over everything that a model ran.

    launches, nanoseconds: on the device, by its events
    enqueue_nanoseconds: on the host, inside the calls that enqueue
    """

    device: str
    op: str
    kernel: str
    launches: int
    nanoseconds: int
    enqueue_nanoseconds: int

    @classmethod
    def _of(cls, s: tsr_profiled) -> "Profiled":
        return cls(
            _text(s.device),
            _text(s.op),
            _text(s.kernel),
            s.launches,
            s.nanoseconds,
            s.enqueue_nanoseconds,
        )


@dataclass(frozen=True)
class VerifyResult:
    """One case on one kernel variant, compared with the reference.

    status: "ok", "miss", "not_offered", "skipped", "error", "timed"
    op: "linear"
    variant: the kernel variant, "linear/packed:MR=6"; "decomposed"; "": not offered
    name: of the case; "" where the result belongs to no case
    reason: where the bound comes from
    message: for SKIPPED, ERROR and MISS: what happened; else ""
    error, bound: of the worst element: |got - want|, and the most that it may be
    flops, bytes: Of one run of the case: a multiply-add is 2 flops; bytes are those that must be read or written once.
    best_seconds, median_seconds: of one run, by the device's events
    peak_share: The time that flops, or that bytes take at the device's measured peaks, whichever is longer, divided by
        best_seconds. Above 1 where operands stay in caches, or where the device was busy when its peaks were measured;
        0: not known.
    plain_ratio: plain's best_seconds divided by this one's; 0: plain was not timed
    runs: how many runs were measured
    """

    status: str
    op: str
    variant: str
    name: str
    reason: str
    message: str
    error: float
    bound: float
    flops: float
    bytes: float
    best_seconds: float
    median_seconds: float
    peak_share: float
    plain_ratio: float
    runs: int

    @classmethod
    def _of(cls, s: tsr_verify_result) -> "VerifyResult":
        return cls(
            _name(NAMES_OF_TSR_VERIFY_STATUS, s.status),
            _text(s.op),
            _text(s.variant),
            _text(s.name),
            _text(s.reason),
            _text(s.message),
            s.error,
            s.bound,
            s.flops,
            s.bytes,
            s.best_seconds,
            s.median_seconds,
            s.peak_share,
            s.plain_ratio,
            s.runs,
        )


@dataclass(frozen=True)
class VerifySummary:
    """Results by status.

    ok, misses, errors, skipped, not_offered: results by status
    ops, ops_done: ops to verify, over all devices; those that are finished
    timed: results with status TIMED
    """

    ok: int
    misses: int
    errors: int
    skipped: int
    not_offered: int
    ops: int
    ops_done: int
    timed: int

    @classmethod
    def _of(cls, s: tsr_verify_summary) -> "VerifySummary":
        return cls(
            s.ok,
            s.misses,
            s.errors,
            s.skipped,
            s.not_offered,
            s.ops,
            s.ops_done,
            s.timed,
        )


@dataclass(frozen=True)
class TrainPlan:
    """What will be trained, as known before the first step.

    family, task, learns: "gpt2", "generate", "all weights"
    parameters, learning: all parameters, and those that are trained
    steps, batches: all updates; batches of an epoch
    examples, tokens: of an epoch
    accumulation: batches of an update
    B, T, S: the largest sizes of a batch
    weight_bytes, parameter_bytes, gradient_bytes, optimizer_bytes, activation_bytes, input_bytes, total_bytes: Memory
        on the device, in bytes.
    process_bytes: The most memory that this process holds during a step, where the device uses the host's memory; 0:
        the device has its own, or it is unknown.
    shards, most_shards: Parts of an update that are summed apart, and the most that the setting `shards` could give it,
        up to 8, or `shards`: at most as many ranks can share the update.
    """

    family: str
    task: str
    learns: str
    parameters: int
    learning: int
    steps: int
    batches: int
    examples: int
    tokens: int
    accumulation: int
    B: int
    T: int
    S: int
    weight_bytes: int
    parameter_bytes: int
    gradient_bytes: int
    optimizer_bytes: int
    activation_bytes: int
    input_bytes: int
    total_bytes: int
    process_bytes: int
    shards: int
    most_shards: int

    @classmethod
    def _of(cls, s: tsr_train_plan) -> "TrainPlan":
        return cls(
            _text(s.family),
            _text(s.task),
            _text(s.learns),
            s.parameters,
            s.learning,
            s.steps,
            s.batches,
            s.examples,
            s.tokens,
            s.accumulation,
            s.B,
            s.T,
            s.S,
            s.weight_bytes,
            s.parameter_bytes,
            s.gradient_bytes,
            s.optimizer_bytes,
            s.activation_bytes,
            s.input_bytes,
            s.total_bytes,
            s.process_bytes,
            s.shards,
            s.most_shards,
        )


@dataclass(frozen=True)
class TrainEvent:
    """What a training tells its callback.

    kind: "note", "warning", "preparing", "planned", "batch", "step", "evaluated", "saved"
    step, steps: updates so far, and all
    done, total: for TSR_TRAIN_PREPARING
    loss: mean over the step's targets: what is minimised
    kl: the KL term of the loss, unweighted; NaN where there is none
    learning_rate, grad_norm: norm before clipping
    tokens: read so far
    eval_loss, eval_accuracy: accuracy: NaN where there is none
    logged: TSR_TRAIN_STEP: 1: a multiple of logging_steps
    best: TSR_TRAIN_EVALUATED: 1: better than all before
    waiting: The share of the time of the steps since the last logged one in which this rank exchanged numbers with the
        others, or waited for them to do so: 0 to 1. NaN: there are no others.
    eval_f1: TSR_TRAIN_EVALUATED: of labels of words in IOB2, the F1 of whole entities (seqeval's strict mode); NaN
        where labels name no entities.
    """

    kind: str
    step: int
    steps: int
    done: int
    total: int
    loss: float
    kl: float
    learning_rate: float
    grad_norm: float
    tokens_per_second: float
    seconds: float
    seconds_left: float
    tokens: int
    eval_loss: float
    eval_accuracy: float
    logged: bool
    best: bool
    text: str
    plan: Optional[TrainPlan]
    waiting: float
    eval_f1: float

    @classmethod
    def _of(cls, s: tsr_train_event) -> "TrainEvent":
        return cls(
            _name(NAMES_OF_TSR_TRAIN_EVENT_KIND, s.kind),
            s.step,
            s.steps,
            s.done,
            s.total,
            s.loss,
            s.kl,
            s.learning_rate,
            s.grad_norm,
            s.tokens_per_second,
            s.seconds,
            s.seconds_left,
            s.tokens,
            s.eval_loss,
            s.eval_accuracy,
            bool(s.logged),
            bool(s.best),
            _text(s.text),
            TrainPlan._of(s.plan[0]) if s.plan else None,
            s.waiting,
            s.eval_f1,
        )


@dataclass(frozen=True)
class TrainResult:
    """How a training ended.

    finished: 1: the output is a whole model
    loss, eval_loss: the last ones; NaN where there are none
    best_step: the step of the best evaluation; 0: none
    best: its loss or accuracy
    stopped: After TSR_E_CANCELLED: if all ranks stopped at the same step, what `progress` returned to ask for it, on
        the first rank that asked; otherwise 0.
    """

    finished: bool
    step: int
    steps: int
    tokens: int
    loss: float
    eval_loss: float
    best_step: int
    best: float
    stopped: int

    @classmethod
    def _of(cls, s: tsr_train_result) -> "TrainResult":
        return cls(
            bool(s.finished),
            s.step,
            s.steps,
            s.tokens,
            s.loss,
            s.eval_loss,
            s.best_step,
            s.best,
            s.stopped,
        )


@dataclass(frozen=True)
class Perplexity:
    """How well a model predicts a text.

    loss: mean of -ln p(token | tokens before it in its window), in nats
    perplexity: e^loss
    bits_per_byte: loss * tokens / ln 2 / bytes: comparable across tokenizers
    tokens: Tokens that were scored: all of the text's except the first; or all, where the tokenizer puts a beginning-
        of-sequence token before them.
    bytes: of the text
    windows: windows that were run
    window, stride: as used
    nanoseconds: of running and scoring, without the tokenizer
    """

    loss: float
    perplexity: float
    bits_per_byte: float
    tokens: int
    bytes: int
    windows: int
    window: int
    stride: int
    nanoseconds: int

    @classmethod
    def _of(cls, s: tsr_perplexity) -> "Perplexity":
        return cls(
            s.loss,
            s.perplexity,
            s.bits_per_byte,
            s.tokens,
            s.bytes,
            s.windows,
            s.window,
            s.stride,
            s.nanoseconds,
        )
