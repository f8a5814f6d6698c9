/* What surrounds declarations: HS_API marks what the shared library shows to others, all else in it
 * is hidden; what is between HS_C_BEGIN and HS_C_END is C for C++ programs too. */
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
