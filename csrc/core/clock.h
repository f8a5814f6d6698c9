/* Clocks of CPU time, beside hs_clock. */
#ifndef HS_CORE_CLOCK_H
#define HS_CORE_CLOCK_H

/* Return the seconds of CPU time that the calling thread has had, and all threads of the process
 * together. */
double hs__cpu_clock(void);
double hs__process_cpu_clock(void);

#endif
