# Compiler settings shared by every target: language, warnings, sanitizers, ccache, linker.

option(TIDEGAUGE_TESTS "Build the tests" OFF)
option(TIDEGAUGE_BENCH "Build the benchmarks" OFF)
option(TIDEGAUGE_FUZZ "Build the libFuzzer targets (clang)" OFF)
option(TIDEGAUGE_WEB "Build the page with npm and embed it" ON)
option(TIDEGAUGE_PYTHON "Build the extension module of the Python package" OFF)
option(TIDEGAUGE_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
set(TIDEGAUGE_SANITIZE "" CACHE STRING "Comma-separated sanitizers: address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# "Dev" = fast enough for real files, with asserts and line numbers.
# project() has made an empty cache entry for it already, so a default in the cache comes too late.
if(NOT CMAKE_CXX_FLAGS_DEV)
  set(CMAKE_CXX_FLAGS_DEV "-O2 -g1")
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(TIDEGAUGE_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()

# So that the libraries fit into the extension module. Hidden names cost no more than in a program.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(TIDEGAUGE_SANITIZE)
  add_compile_options(-fsanitize=${TIDEGAUGE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TIDEGAUGE_SANITIZE})
  add_compile_definitions(TIDEGAUGE_SANITIZED)  # where tests count bytes
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With sanitizers it has false positives (GCC's manual says so); the dev build judges it.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()
if(TIDEGAUGE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  if(TIDEGAUGE_PRECOMPILED)  # what ccache's manual asks for; the times in a precompiled header differ
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${CCACHE_PROGRAM})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
    else()
      add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
  endif()
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM AND NOT TIDEGAUGE_FUZZ)
  add_link_options(-fuse-ld=mold)
endif()
