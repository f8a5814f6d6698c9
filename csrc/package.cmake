# What C programs need of an installed hetsched: both libraries, the headers, hetsched.pc and the package of CMake's find_package.
include(CMakePackageConfigHelpers)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/hetsched")
foreach(kind IN ITEMS shared static)
  set(target hetsched_${kind})
  if(kind STREQUAL "static")
    set(target hetsched_engine)
  endif()
  install(TARGETS ${target} EXPORT hetsched-${kind} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT c
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT c)
  install(EXPORT hetsched-${kind} NAMESPACE hetsched:: DESTINATION ${package} COMPONENT c)
endforeach()
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT c)

configure_package_config_file(hetsched-config.cmake.in hetsched-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(hetsched-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/hetsched-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/hetsched-config-version.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindBLIS.cmake" DESTINATION ${package} COMPONENT c)

# The way from the folder of hetsched.pc to the prefix: what is installed can be moved.
file(RELATIVE_PATH HETSCHED_PC_UP "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" HETSCHED_PC_UP "${HETSCHED_PC_UP}")
set(HETSCHED_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
set(HETSCHED_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
set(HETSCHED_PC_NAME hetsched)
configure_file(hetsched.pc.in hetsched.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/hetsched.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT c)
