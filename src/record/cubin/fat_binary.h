// Fat binaries: the section .nv_fatbin of a program, in which each source file has a container with
// its kernels for several architectures.
//
//   0xBA55ED50, version 1, header 16 bytes, 4,000 bytes follow
//     ELF (cubin) for sm_80, LZ4      ─┐ the same kernels with the same parameters,
//     ELF (cubin) for sm_90, zstd     ─┴► so eachCubin() unpacks the smallest of them
//     PTX for compute_90                  text, left out
//     several cubins, packed as one       likewise, as `fatbinary --concat` makes them
//
// Reads hostile bytes: what is not as expected is counted, and the search continues at the next
// container. Cost: unpacking, about 1 GB/s. Source: containers that fatbinary of CUDA 13.5
// made, and those of PyTorch 2.15; there is no public description.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace tidegauge::record {

// What a section held.
struct FatBinaryCounts {
  uint64_t containers = 0;
  uint64_t cubins = 0;    // of all architectures
  uint64_t unpacked = 0;  // one per container that has any
  uint64_t damaged = 0;   // containers or cubins that could not be read
};

// How many of a container's cubins are unpacked.
enum class Cubins : uint8_t { kSmallest, kAll };

FatBinaryCounts eachCubin(std::span<const uint8_t> section, Cubins which,
                          const std::function<void(std::span<const uint8_t> cubin)>& visit);

}  // namespace tidegauge::record
