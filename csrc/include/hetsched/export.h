/* HS_API marks what the shared library shows to others; all else in it is hidden. */
#ifndef HETSCHED_EXPORT_H
#define HETSCHED_EXPORT_H

#if defined(__GNUC__)
#define HS_API __attribute__((visibility("default")))
#else
#define HS_API
#endif

#endif
