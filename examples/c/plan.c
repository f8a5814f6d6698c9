/* A plan and its certificate: a matrix for five workers of unequal speed, in zones whose borders are short. */
#include <hetsched.h>
#include <stdio.h>
#include <string.h>

enum { P = 5, M = 1000, N = 1000, PIECES = 3 * P };

int main(void)
{
    const double speeds[P] = {8, 5, 3, 2, 2}; /* the areas wanted: only their proportions count */
    int32_t workers[PIECES];
    double rects[4 * PIECES]; /* row, column, height, width of each piece */
    hs_partition problem;
    hs_partition_plan plan;
    hs_certificate c;

    /* Zero is the default of every option: here the best of all methods, with the same cost of a line for each worker. */
    memset(&problem, 0, sizeof problem);
    problem.p = P;
    problem.areas = speeds;
    problem.m = M;
    problem.n = N;
    memset(&plan, 0, sizeof plan);
    plan.workers = workers;
    plan.rects = rects;

    /* NULL: a fixed amount of work, and no flag that cancels it. */
    const hs_status status = hs_partition_best(&problem, NULL, NULL, &plan, &c);
    if (status) {
        fprintf(stderr, "plan: %s\n", hs_status_string(status));
        return 1;
    }
    for (int q = 0; q < plan.pieces; q++)
        printf("worker %d: %.0f x %.0f cells at (%.0f, %.0f)\n", (int)workers[q], rects[4 * q + 2], rects[4 * q + 3], rects[4 * q],
               rects[4 * q + 1]);
    printf("%s %g, no plan is below %g: gap %.2f%%%s\n", c.objective, c.value, c.bound, 100 * c.gap, c.optimal ? ", optimal" : "");
    return 0;
}
