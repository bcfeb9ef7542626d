// What this process may take of the machine: memory, huge pages, open files.
//
//   uint64_t most = freeMemoryBytes() / 2;   bounds input that has no end, or unpacks to anything
//   preferHugePages(memory, bytes);          one fault for 2 MiB in place of 512
//
// Cost: freeMemoryBytes() reads /proc/meminfo, and three small files for each group: some 30 µs
// each. Source: proc_meminfo(5); madvise(2), MADV_HUGEPAGE; getrlimit(2), RLIMIT_NOFILE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidegauge::base {

// How much memory it may still take before the machine, or a group (cgroup) it runs in, has none
// left. 2^64 − 1 if the system does not say.
uint64_t freeMemoryBytes();

// For memory that is large and about to be filled: faults cost 1 µs and more each in virtual
// machines. Where the kernel has no huge pages it does nothing.
void preferHugePages(void* memory, size_t bytes);

// Takes the pages of memory that is about to be filled, as writing to each would (pages_ahead.h):
// also where memory is short. Does nothing where the kernel cannot.
void takePages(void* memory, size_t bytes);

// As many open files as this process may have: the soft limit, 1,024 by habit, becomes the hard
// one. Children inherit it: start them before, or give them their own.
void allowManyFiles();

}  // namespace tidegauge::base
