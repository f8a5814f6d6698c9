/* Macros around declarations. HS_API marks the functions that the shared library exports;
 * everything else in it is hidden. HS_C_BEGIN and HS_C_END enclose declarations that C++ programs
 * must see as C. */
#ifndef HETSCHED_EXPORT_H
#define HETSCHED_EXPORT_H

#if defined(__GNUC__)
#define HS_API __attribute__((visibility("default")))
#else
#define HS_API
#endif

#ifdef __cplusplus
#define HS_C_BEGIN extern "C" {
#define HS_C_END }
#else
#define HS_C_BEGIN
#define HS_C_END
#endif

#endif
