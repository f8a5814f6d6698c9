# Finds BLIS 0.9 or later: BLIS_INCLUDE_DIR, BLIS_LIBRARY, BLIS_VERSION. pkg-config first (BLIS's own installs have a .pc), then the
# directories of Debian's flavours, which have none. The pthread and serial flavours go before the OpenMP one. A static library is
# preferred: the wheel then carries its kernels and cannot meet another release of the same file name.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_BLIS QUIET blis)
endif()

find_path(BLIS_INCLUDE_DIR blis.h
  HINTS ${PC_BLIS_INCLUDE_DIRS}
  PATH_SUFFIXES blis-pthread blis-serial blis blis-openmp ${CMAKE_LIBRARY_ARCHITECTURE}/blis-pthread
                ${CMAKE_LIBRARY_ARCHITECTURE}/blis-serial ${CMAKE_LIBRARY_ARCHITECTURE}/blis-openmp)
get_filename_component(flavour "${BLIS_INCLUDE_DIR}" NAME)
set(BLIS_SUFFIXES ${flavour} ${CMAKE_LIBRARY_ARCHITECTURE}/${flavour} blis-pthread blis-serial blis blis-openmp)
find_library(BLIS_STATIC_LIBRARY libblis.a HINTS ${PC_BLIS_LIBRARY_DIRS} PATH_SUFFIXES ${BLIS_SUFFIXES})
find_library(BLIS_SHARED_LIBRARY blis HINTS ${PC_BLIS_LIBRARY_DIRS} PATH_SUFFIXES ${BLIS_SUFFIXES})
mark_as_advanced(BLIS_INCLUDE_DIR BLIS_STATIC_LIBRARY BLIS_SHARED_LIBRARY)

# Links and runs a shared object: some builds of libblis.a are not position independent.
function(hetsched_try_blis library works_variable version_variable)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/try_blis.c")
  file(WRITE "${source}" "#include <blis.h>\n#include <stdio.h>\nint main(void) { bli_gks_query_cntx(); puts(bli_info_get_version_str()); return 0; }\n")
  try_run(exit_code compiles "${CMAKE_CURRENT_BINARY_DIR}/try_blis" "${source}"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${BLIS_INCLUDE_DIR}" "-DCMAKE_POSITION_INDEPENDENT_CODE=ON"
    LINK_LIBRARIES -pie ${library} Threads::Threads m
    RUN_OUTPUT_VARIABLE output)
  if(compiles AND "${exit_code}" EQUAL 0)
    string(STRIP "${output}" version)
    set(${works_variable} TRUE PARENT_SCOPE)
    set(${version_variable} "${version}" PARENT_SCOPE)
  else()
    set(${works_variable} FALSE PARENT_SCOPE)
  endif()
endfunction()

set(BLIS_LIBRARY "")
if(BLIS_INCLUDE_DIR)
  foreach(candidate ${BLIS_STATIC_LIBRARY} ${BLIS_SHARED_LIBRARY})
    if(EXISTS "${candidate}" AND NOT BLIS_LIBRARY)
      hetsched_try_blis("${candidate}" works version)
      if(works)
        set(BLIS_LIBRARY "${candidate}")
        set(BLIS_VERSION "${version}")
      endif()
    endif()
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BLIS REQUIRED_VARS BLIS_LIBRARY BLIS_INCLUDE_DIR VERSION_VAR BLIS_VERSION)

if(BLIS_FOUND AND NOT TARGET BLIS::BLIS)
  add_library(BLIS::BLIS UNKNOWN IMPORTED)
  set_target_properties(BLIS::BLIS PROPERTIES IMPORTED_LOCATION "${BLIS_LIBRARY}" INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${BLIS_INCLUDE_DIR}")
endif()
