/* The length of a union of intervals, which the tests and the fuzzers of zones measure. */
#ifndef HETSCHED_TESTS_SPAN_H
#define HETSCHED_TESTS_SPAN_H

#include <math.h>

/* Returns the length of the union of the intervals that pieces [4 count] (row, col, height, width)
 * span on an axis: 0 for rows, 1 for columns. For few pieces: a zone has at most three. */
static inline double pieces_span(const double *pieces, int count, int axis)
{
    if (count == 1) return pieces[2 + axis];
    double sum = 0.0;
    double reached = -INFINITY;
    /* by ascending start */
    for (int round = 0; round < count; round++) {
        double start = INFINITY;
        double end = -INFINITY;
        for (int q = 0; q < count; q++) {
            const double low = pieces[4 * q + axis];
            const double high = low + pieces[4 * q + 2 + axis];
            if (high > reached && low < start) {
                start = low;
                end = high;
            }
        }
        sum += fmax(end - fmax(start, reached), 0.0);
        reached = fmax(reached, end);
    }
    return sum;
}

#endif
