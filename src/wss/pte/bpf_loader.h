// Loads BPF programs by a program that the build made (tools/make_bpf_loader.cpp): the kernel does
// what libbpf would do, in 3 ms instead of 18.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

namespace tidegauge::wss {

inline constexpr size_t kLoadedMaps = 4;

// Descriptors, which the caller closes.
struct LoadedProgram {
  // In the order of their names in cmake/bpf.cmake.
  std::array<int, kLoadedMaps> maps{-1, -1, -1, -1};
  int program = -1;
};

// Absent: this kernel cannot do that, or this user may not, or `loader` is empty. Then libbpf can
// try, and say why.
std::optional<LoadedProgram> loadByProgram(std::span<const unsigned char> loader);

}  // namespace tidegauge::wss
