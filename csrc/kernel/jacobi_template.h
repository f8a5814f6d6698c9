/* The hs__jacobi_row of one instruction set and type; see each_real.h for the parameters. */

TARGET static void NAME(row)(int64_t n, void *io_, void *row_, const void *other_, double weight_,
                             const void *left, const void *right, void *first, void *last)
{
    REAL *restrict io = io_;
    REAL *restrict row = row_;
    const REAL *restrict other = other_;
    const REAL weight = (REAL)weight_;
    row[-1] = *(const REAL *)left;
    row[n] = *(const REAL *)right;
    for (int64_t c = 0; c < n; c++)
        io[c] = row[c] + weight * ((((io[c] + other[c]) + row[c - 1]) + row[c + 1]) - 4 * row[c]);
    *(REAL *)first = io[0];
    *(REAL *)last = io[n - 1];
}
