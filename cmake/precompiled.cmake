# Precompiled headers save a quarter of the compilers' time. clang-tidy's build does without
# (`./dev tidy`), and so does the check that each header compiles alone (suite headers).
#
#   tidegauge_precompile(TARGET SET [LEVEL])   SET: std, json, cli or test, each with all of std
#
# Whoever takes a set must compile as it does: no target has flags of its own but warnings, the level of
# optimisation, and macros that no header asks for. -O0, and with clang
# any LEVEL that is not the build's own, needs sets of its own.
option(TIDEGAUGE_PRECOMPILED "Use precompiled headers" OFF)
if(TIDEGAUGE_PRECOMPILED)
  add_compile_options(-pthread)  # some libraries ask for it, so all must
endif()

set(precompiled_std <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem>
    <fstream> <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <thread>
    <tuple> <unordered_map> <utility> <vector> <boost/unordered/unordered_flat_map.hpp> <fmt/format.h>
    <fmt/ranges.h>)
set(precompiled_json ${precompiled_std} <nlohmann/json.hpp>)
set(precompiled_cli ${precompiled_json} <CLI/CLI.hpp>)
set(precompiled_libraries_cli CLI11::CLI11)
set(precompiled_test ${precompiled_std} <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h>)
set(precompiled_libraries_test rapidcheck rapidcheck_gtest GTest::gmock GTest::gtest)

function(tidegauge_precompile target set)
  if(NOT TIDEGAUGE_PRECOMPILED)
    return()
  endif()
  set(precompiled precompiled_${set}${ARGN})
  if(NOT TARGET ${precompiled})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "// carries precompiled headers\n")
    add_library(${precompiled} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(${precompiled} PRIVATE fmt::fmt Threads::Threads Boost::headers
                          nlohmann_json::nlohmann_json ${precompiled_libraries_${set}})
    target_compile_options(${precompiled} PRIVATE ${ARGN})
    target_precompile_headers(${precompiled} PRIVATE ${precompiled_${set}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)  # CMake has other code for programs than for libraries; GCC refuses that
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()
