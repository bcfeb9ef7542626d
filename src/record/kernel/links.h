// Attaches a BPF program to functions of a file, by system calls that libbpf 1.1 lacks:
//
//   linkMany(program, "/usr/lib/libcuda.so.1", {0x1c40, …}, cookies, false)  Linux 6.6: one for all
//   linkOne (program, "/usr/lib/libcuda.so.1", 0x1c40, cookie, false)        before: perf's uprobe
//
// `counters` are the places in the file that the kernel counts up while a probe is there (the
// semaphores of static probes; 0: none).
//
// Each returns the descriptor of the link, or −errno; closing it removes the probes. A perf link
// costs about as much per hit, but takes some 10 ms to close, so 300 take seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidegauge::record {

inline constexpr int kUprobeMulti = 48;  // BPF_TRACE_UPROBE_MULTI: newer than Debian's header

// Whether this kernel has links for many functions (BPF_TRACE_UPROBE_MULTI). Queried once.
bool kernelLinksMany();

int linkMany(int program, const std::string& path, const std::vector<uint64_t>& offsets,
             const std::vector<uint64_t>& cookies, bool at_return,
             const std::vector<uint64_t>& counters = {});
int linkOne(int program, const std::string& path, uint64_t offset, uint64_t cookie, bool at_return,
            uint64_t counter = 0);

}  // namespace tidegauge::record
