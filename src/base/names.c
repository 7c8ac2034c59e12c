/* base/names.c - the name that was probably meant, by the edits that lead to it. */
#include "base/names.h"

#include <string.h>

enum { MOST = 64 };

static int letter(char c) {
    return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Optimal string alignment: rows i - 2, i - 1 and i of the table of distances. */
int tsri_base_name_distance(const char *a, const char *b) {
    int rows[3][MOST + 1];
    const int m = (int)strnlen(a, MOST), n = (int)strnlen(b, MOST);
    for (int j = 0; j <= n; j++)
        rows[0][j] = j;
    for (int i = 1; i <= m; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            const int same = letter(a[i - 1]) == letter(b[j - 1]);
            int least = above[j - 1] + !same;
            least = above[j] + 1 < least ? above[j] + 1 : least;
            least = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
            if (i > 1 && j > 1 && letter(a[i - 1]) == letter(b[j - 2]) &&
                letter(a[i - 2]) == letter(b[j - 1]) && before[j - 2] + 1 < least)
                least = before[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[m % 3][n];
}

static int begins(const char *name, const char *typed) {
    const size_t n = strlen(typed);
    for (size_t i = 0; i < n; i++)
        if (letter(name[i]) != letter(typed[i]))
            return 0;
    return n >= 3;
}

size_t tsri_base_name_nearest(const char *typed, const char *const *names, size_t n) {
    size_t nearest = n;
    int least = 0;
    for (size_t i = 0; i < n; i++) {
        int d = tsri_base_name_distance(typed, names[i]);
        d = d && begins(names[i], typed) ? 1 : d;
        if (3 * d <= (int)strlen(names[i]) + 2 && (nearest == n || d < least)) {
            nearest = i;
            least = d;
        }
    }
    return nearest;
}
