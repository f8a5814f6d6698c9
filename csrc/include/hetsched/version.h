/* Versions: of these headers, as macros, and of the library that the program is linked with, as
 * functions. */
#ifndef HETSCHED_VERSION_H
#define HETSCHED_VERSION_H

#include "hetsched/export.h"

HS_C_BEGIN

/* The build reads the version of the library from these three lines. */
#define HETSCHED_VERSION_MAJOR 0
#define HETSCHED_VERSION_MINOR 1
#define HETSCHED_VERSION_PATCH 0

/* For comparisons: 102 is 0.1.2, 10203 is 1.2.3. */
#define HETSCHED_VERSION_NUMBER \
    (HETSCHED_VERSION_MAJOR * 10000 + HETSCHED_VERSION_MINOR * 100 + HETSCHED_VERSION_PATCH)

#define HETSCHED_QUOTE(x) #x
#define HETSCHED_DOTTED(major, minor, patch) \
    HETSCHED_QUOTE(major) "." HETSCHED_QUOTE(minor) "." HETSCHED_QUOTE(patch)
#define HETSCHED_VERSION_STRING \
    HETSCHED_DOTTED(HETSCHED_VERSION_MAJOR, HETSCHED_VERSION_MINOR, HETSCHED_VERSION_PATCH)

/* Returns HETSCHED_VERSION_STRING, "major.minor.patch", of the library. */
HS_API const char *hs_version(void);

/* Returns HETSCHED_VERSION_NUMBER of the library. */
HS_API int hs_version_number(void);

HS_C_END
#endif
