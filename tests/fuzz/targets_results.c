/* What tessera bench report and compare read: files of results. */
#include "fuzz.h"

#include "base/hash.h"
#include "tessera/results.h"
#include "tessera/tessera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The input is the file up to the line of its hash, which is added: so what lies behind that check
 * is reached. */
static void write_sealed(const fuzz_part *part) {
    tsri_bytes text = {0};
    char hex[65];
    fuzz_must(tsri_base_bytes_append(&text, part->data, part->size) == TSR_OK &&
                  tsri_base_bytes_append(&text, "\n", 1) == TSR_OK &&
                  tsri_base_hash_bytes(text.data, text.size, hex) == TSR_OK &&
                  tsri_base_bytes_printf(&text, " \"hash\": \"%s\"\n}\n", hex) == TSR_OK,
              "a file");
    fuzz_write("x.json", text.data, text.size);
    tsri_base_bytes_clear(&text);
}

static void results(const fuzz_part *parts, size_t n) {
    static const char *const formats[] = {"html", "md", "csv", "junit", "llama-bench", "badge"};
    tsr_results *opened = NULL;
    (void)n;
    for (int sealed = 0; sealed < 2; sealed++) {
        if (sealed)
            write_sealed(&parts[0]);
        else
            fuzz_write("x.json", parts[0].data, parts[0].size);
        if (!fuzz_is_ok(tsr_results_open("x.json", &opened)))
            continue;
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
            char *text = NULL;
            size_t size = 0;
            fuzz_must(tsr_results_report((const tsr_results *const *)&opened, 1, formats[i], &text,
                                         &size) == TSR_OK &&
                          strlen(text) == size,
                      "what was opened can be shown");
            tsr_text_free(text);
        }
        tsr_compare_summary summary = {.struct_size = sizeof summary};
        const tsr_results *const same = opened;
        if (fuzz_is_ok(tsr_results_compare(&same, 1, &same, 1, NULL, NULL, NULL, &summary)))
            fuzz_must(!summary.regressions && !summary.faster, "a file equals itself");
        tsr_results_close(&opened);
    }
}

const fuzz_target fuzz_results_targets[] = {{"results", NULL, results, 1}, {0}};
