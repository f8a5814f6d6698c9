/* Texts of the status codes, and the version. */
#include "hetsched.h"

const char *hs_version(void) { return HETSCHED_VERSION_STRING; }

int hs_version_number(void) { return HETSCHED_VERSION_NUMBER; }

const char *hs_status_string(int status)
{
    switch (status) {
    case HS_OK: return "success";
    case HS_ERROR_VALUE: return "an argument is outside its documented range";
    case HS_ERROR_MEMORY: return "out of memory";
    case HS_ERROR_INFEASIBLE: return "no plan exists for this input";
    case HS_ERROR_CANCELLED: return "cancelled";
    case HS_ERROR_THREAD:
        return "the system refused to start a thread, or the pool is that of a parent process or "
               "being destroyed";
    case HS_ERROR_UNSUPPORTED: return "not supported on this platform or in this build";
    case HS_ERROR_BUSY:
        return "the pool is running a product of this very thread; use another pool inside a "
               "callback";
    default: return "unknown status";
    }
}
