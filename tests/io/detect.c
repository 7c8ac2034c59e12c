/* Which format a file or folder has. */
#include "io/forge.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(detect, .init = forge_folder, .fini = forge_clean);

typedef struct content {
    const char *bytes;
    size_t size;
    tsri_io_format format;
} content;

#define IS(bytes, format) \
    { bytes, sizeof bytes - 1, format }

Test(detect, a_file_is_known_by_its_first_bytes) {
    static const content rows[] = {
        IS("", TSRI_IO_UNKNOWN),
        IS("GGUF\3\0\0\0", TSRI_IO_GGUF),
        IS("PK\3\4................", TSRI_IO_PICKLE),
        IS("\x80\2\x8a\nl\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\2M\xe9\3.", TSRI_IO_PICKLE),
        IS("lmgg\0\0\0\0", TSRI_IO_OLD_GGML),
        IS("tjgg\3\0\0\0", TSRI_IO_OLD_GGML),
        IS("fmgg\1\0\0\0", TSRI_IO_OLD_GGML),
        IS("algg\1\0\0\0", TSRI_IO_OLD_GGML),
        IS("\2\0\0\0\0\0\0\0{}", TSRI_IO_SAFETENSORS),
        IS("\x80\2\0\0\0\0\0\0{\"a\"",
           TSRI_IO_SAFETENSORS), /* a header of 640 bytes begins like a pickle */
        IS(" \n{\"weight_map\": {}}", TSRI_IO_INDEX),
        IS("24ka\1\0\0\0", TSRI_IO_LLAMA2C),
        IS("\x80\2\0\0\x80\4\0\0\5\0\0\0\12\0\0\0\12\0\0\0\0\175\0\0\0\2\0\0",
           TSRI_IO_LLAMA2C), /* a dim of 640 does so too */
        IS("Once upon a time, there was", TSRI_IO_UNKNOWN),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_io_format format = 99;
        forge_file("file", rows[i].bytes, rows[i].size);
        cr_expect_eq(tsri_io_detect("file", &format), TSR_OK);
        cr_expect_eq(format, rows[i].format, "row %zu: %d", i, (int)format);
    }
    tsri_io_format format;
    cr_expect_eq(tsri_io_detect("absent", &format), TSR_E_IO);
}

Test(detect, a_folder_is_known_by_its_files) {
    tsri_io_format format = 99;
    cr_assert_eq(mkdir("d", 0700), 0);
    cr_expect(tsri_io_detect("d", &format) == TSR_OK && format == TSRI_IO_UNKNOWN);
    forge_refused("d", TSR_E_IO, "d has no weights; the folder needs model.safetensors", "folder");
    forge_file("d/config.json", "{}", 2);
    cr_expect(tsri_io_detect("d", &format) == TSR_OK && format == TSRI_IO_FOLDER);
    forge_file("d/pytorch_model.bin", "PK\3\4", 4);
    forge_refused("d", TSR_E_UNSUPPORTED, "tools/convert-torch FOLDER OUT", "pickle");
    forge_file("d/model.safetensors", "\2\0\0\0\0\0\0\0{}", 10);
    tsri_io_archive *a = NULL;
    cr_assert_eq(tsri_io_open("d", &a), TSR_OK);
    cr_expect_eq(a->n_arrays, 0); /* bad-input 30 is left to the model, which knows the tensors
                                     that it needs */
    tsri_io_close(&a);
}

Test(detect, what_is_not_read_is_named_with_what_to_do) {
    forge_file("m.bin", "PK\3\4", 4);
    forge_refused("m.bin", TSR_E_UNSUPPORTED, "PyTorch pickle", "pickle");
    forge_file("m.bin", "tjgg\3\0\0\0", 8);
    forge_refused("m.bin", TSR_E_UNSUPPORTED, "a ggml file from before GGUF", "ggml");
    forge_file("m.bin", "Once upon a time, there was a small file", 40);
    forge_refused("m.bin", TSR_E_FORMAT, "is not a model in a format that is read", "unknown");
}
