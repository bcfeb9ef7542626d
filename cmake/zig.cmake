# The toolchain of the wheel (tools/wheel): everything from a folder that it made, nothing of the
# machine's but programs.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/zig.cmake -DTIDEGAUGE_WHEEL=build/wheel
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TIDEGAUGE_WHEEL)
get_filename_component(wheel ${TIDEGAUGE_WHEEL} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_LIST_DIR}/..)
set(CMAKE_C_COMPILER ${wheel}/toolchain/bin/cc)
set(CMAKE_CXX_COMPILER ${wheel}/toolchain/bin/c++)
set(CMAKE_ASM_COMPILER ${CMAKE_C_COMPILER})
set(CMAKE_AR ${wheel}/toolchain/bin/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${wheel}/toolchain/bin/ranlib CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH ${wheel}/prefix)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} ${wheel}/prefix/lib/pkgconfig)
