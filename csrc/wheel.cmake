# What C programs need of the Python package: in its folder _engine the headers, the shared library, which the extension uses as well, and
# hetsched.pc. hetsched/_engine/c_library.py reads them.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(hetsched_shared PRIVATE LINKER:-Bsymbolic-functions LINKER:--gc-sections)
  if(NOT HETSCHED_SANITIZE AND NOT HETSCHED_COVERAGE) # reports name functions
    target_link_options(hetsched_shared PRIVATE -s)
  endif()
endif()

# Wheels have no symbolic links, so the library has one name, with the number of its ABI inside; a library of another installation, which
# LD_LIBRARY_PATH may name, has another.
set(HETSCHED_PC_NAME "hetsched-${PROJECT_VERSION_MAJOR}")
set_target_properties(hetsched_shared PROPERTIES OUTPUT_NAME "${HETSCHED_PC_NAME}")
install(TARGETS hetsched_shared LIBRARY DESTINATION _engine/lib COMPONENT python)
install(DIRECTORY include/ DESTINATION _engine/include COMPONENT python)

set(HETSCHED_PC_UP ../..)
set(HETSCHED_PC_LIBDIR lib)
set(HETSCHED_PC_INCLUDEDIR include)
set(HETSCHED_PC_RPATH " -Wl,-rpath,\${libdir}") # no system looks for libraries there
set(HETSCHED_PC_LIBS "") # of a static library, which is not there
configure_file(hetsched.pc.in hetsched.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/hetsched.pc" DESTINATION _engine/lib/pkgconfig COMPONENT python)
