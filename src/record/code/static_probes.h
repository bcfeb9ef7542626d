// The static probes (USDT) of a library, from the notes in its section .note.stapsdt, and where
// each keeps its arguments.
//
//   staticProbes(file, "pytorch", "malloc") → offset 0x2f31a, semaphore 0x98c2e,
//                                             8@%rax -1@%dl 8@%rcx -8@$77
//
// A compiler that inlined a probe has several places of one name. libbpf reads these notes too, but
// attaches through perf, one place at a time, which takes CAP_SYS_ADMIN. The notes are hostile
// input. Layout: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/probe_places.h"
#include "record/code/elf_file.h"

namespace tidegauge::record {

struct StaticProbe {
  uint64_t offset = 0;     // in the file
  uint64_t semaphore = 0;  // in the file, the counter of those who watch; 0: none
  // Absent: its arguments are in a form that cannot be followed.
  std::optional<probe_place> place;
};

std::vector<StaticProbe> staticProbes(const ElfFile& file, std::string_view provider,
                                      std::string_view name);

// "8@%rax -1@-24(%rbp) 4@$5": the first PROBE_ARGUMENTS of them.
std::optional<probe_place> probeArguments(std::string_view text);

}  // namespace tidegauge::record
