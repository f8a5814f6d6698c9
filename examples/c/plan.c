/* A plan and its certificate: a square matrix for five workers of unequal speed, in rectangles whose borders are short. */
#include <hetsched.h>
#include <stdio.h>

enum { P = 5, M = 1000, N = 1000 };

int main(void)
{
    const double speeds[P] = {8, 5, 3, 2, 2}; /* the areas wanted: only their proportions count */
    int32_t plan[2 * P], length, workers[2 * P], pieces;
    int64_t cells[8 * P]; /* row, column, height, width of each piece */
    double cost;
    hs_certificate c;

    /* The best of all partitions by straight cuts. Weights NULL: a line costs everybody the same; cancel NULL: nobody stops it. */
    hs_status status = hs_partition_guillotine(P, speeds, NULL, (double)N / M, 0, NULL, plan, &length, &cost);
    if (!status) status = hs_floorplan_tile(M, N, P, speeds, plan, length, NULL, workers, cells, &pieces);
    if (!status) status = hs_zones_certificate(M, N, P, NULL, pieces, workers, cells, &c);
    if (status) {
        fprintf(stderr, "plan: %s\n", hs_status_string(status));
        return 1;
    }
    for (int q = 0; q < pieces; q++)
        printf("worker %d: %lld x %lld cells at (%lld, %lld)\n", (int)workers[q], (long long)cells[4 * q + 2], (long long)cells[4 * q + 3],
               (long long)cells[4 * q], (long long)cells[4 * q + 1]);
    printf("%s %g, no plan is below %g: gap %.2f%%%s\n", c.objective, c.value, c.bound, 100 * c.gap, c.optimal ? ", optimal" : "");
    return 0;
}
