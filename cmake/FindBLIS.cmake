# Finds BLIS 0.9 or later: BLIS_HEADER (a name), BLIS_INCLUDE_DIR, BLIS_LIBRARIES, BLIS_VERSION and the target BLIS::BLIS.
# Where pkg-config knows BLIS, that one; else the usual directories and those of Debian's flavours, whose 64-bit ones (only the
# integers of the BLAS interface differ) call all files blis64. The pthread and serial flavours go before the OpenMP one.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_search_module(PC_BLIS QUIET blis blis64)
endif()

find_path(BLIS_INCLUDE_DIR NAMES blis.h blis64.h HINTS ${PC_BLIS_INCLUDE_DIRS}
  PATH_SUFFIXES blis-pthread blis-serial blis blis-openmp blis64-pthread blis64-serial blis64-openmp)
set(BLIS_HEADER blis.h)
if(NOT EXISTS "${BLIS_INCLUDE_DIR}/blis.h")
  set(BLIS_HEADER blis64.h)
endif()

# The library that belongs to the header, never one from elsewhere.
get_filename_component(name "${BLIS_HEADER}" NAME_WE)
get_filename_component(flavour "${BLIS_INCLUDE_DIR}" NAME)
string(REGEX REPLACE "^(.*)/include(/.*)?$" "\\1" prefix "${BLIS_INCLUDE_DIR}")
set(directories "${prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${flavour}" "${prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}"
  "${prefix}/lib64" "${prefix}/lib" ${PC_BLIS_LIBRARY_DIRS})
find_library(BLIS_STATIC_LIBRARY lib${name}.a PATHS ${directories} NO_DEFAULT_PATH)
find_library(BLIS_SHARED_LIBRARY ${CMAKE_SHARED_LIBRARY_PREFIX}${name}${CMAKE_SHARED_LIBRARY_SUFFIX} PATHS ${directories} NO_DEFAULT_PATH)
mark_as_advanced(BLIS_INCLUDE_DIR BLIS_STATIC_LIBRARY BLIS_SHARED_LIBRARY)

# Links and runs a shared object: some builds of libblis.a are not position independent. Header and library must be of one
# release; a header without a version is that of 0.9.0.
function(hetsched_try_blis libraries works_variable version_variable)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/try_blis.c")
  file(WRITE "${source}" "#include <${BLIS_HEADER}>
#include <stdio.h>
#include <string.h>
#ifndef BLIS_VERSION_STRING
#define BLIS_VERSION_STRING \"0.9.0\"
#endif
int main(void)
{
    puts(bli_info_get_version_str());
    return strcmp(bli_info_get_version_str(), BLIS_VERSION_STRING) || !bli_gks_query_cntx();
}
")
  try_run(exit_code compiles "${CMAKE_CURRENT_BINARY_DIR}/try_blis" "${source}"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${BLIS_INCLUDE_DIR}" "-DCMAKE_POSITION_INDEPENDENT_CODE=ON"
    LINK_LIBRARIES -pie ${libraries} Threads::Threads m
    RUN_OUTPUT_VARIABLE output)
  if(compiles AND "${exit_code}" EQUAL 0)
    string(STRIP "${output}" version)
    set(${works_variable} TRUE PARENT_SCOPE)
    set(${version_variable} "${version}" PARENT_SCOPE)
  else()
    set(${works_variable} FALSE PARENT_SCOPE)
  endif()
endfunction()

# A static library is preferred: the wheel then carries its kernels and cannot meet another release of the same file name.
set(BLIS_LIBRARIES "")
foreach(candidate IN ITEMS "${BLIS_STATIC_LIBRARY}" "${BLIS_STATIC_LIBRARY};-fopenmp" "${BLIS_SHARED_LIBRARY}")
  if(NOT candidate MATCHES "NOTFOUND" AND NOT BLIS_LIBRARIES)
    hetsched_try_blis("${candidate}" works version)
    if(works)
      set(BLIS_LIBRARIES "${candidate}")
      set(BLIS_VERSION "${version}")
    endif()
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BLIS REQUIRED_VARS BLIS_LIBRARIES BLIS_INCLUDE_DIR VERSION_VAR BLIS_VERSION)

if(BLIS_FOUND AND NOT TARGET BLIS::BLIS)
  add_library(BLIS::BLIS INTERFACE IMPORTED)
  set_target_properties(BLIS::BLIS PROPERTIES
    INTERFACE_LINK_LIBRARIES "${BLIS_LIBRARIES}" INTERFACE_INCLUDE_DIRECTORIES "${BLIS_INCLUDE_DIR}")
endif()
