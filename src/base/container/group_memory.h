// How much memory the groups (cgroups) of this process leave it: those of a container, of a job, or
// of a systemd unit with MemoryMax.
//
//   /a        no limit
//   └ b       limit 8 GiB, used 7, of which 6 are pages of files    → 7 GiB may still be taken
//     └ c     limit 9 GiB, used 1                                   → 8 GiB
//
// Every group above counts, and the one with the least decides. The kernel drops pages of files
// before it ends a process, so they count as free.
//
// Cost: three small files per group, some 30 µs each. Source: cgroup-v2.rst (memory.max,
// memory.current, memory.stat) and cgroup-v1/memory.rst (memory.limit_in_bytes,
// memory.usage_in_bytes, total_… in memory.stat).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace tidegauge::base {

// 2^64 − 1 without a limit. `groups`: the text of /proc/self/cgroup; `mount`: where the hierarchies
// are. A container without a namespace for groups has paths that it cannot see; then the root of
// the mount is its own group.
uint64_t groupMemoryBytes(std::string_view groups, const std::filesystem::path& mount);
uint64_t groupMemoryBytes();

}  // namespace tidegauge::base
