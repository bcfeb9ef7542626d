// How the two programs of this folder measure: processor time of one part alone, user and system,
// the least of three runs. Where a part writes, its memory is there already: newPages() is the cost
// of that.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace floors {

inline volatile uint64_t used;  // so that nothing that is computed is left out

inline double processorTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <typename Part>
void measure(const char* name, Part part) {
  double least = 1e9;
  for (int run = 0; run < 3; ++run) {
    double begin = processorTime();
    part();
    least = std::min(least, processorTime() - begin);
  }
  std::printf("%-58s %.3f s\n", name, least);
}

// The kernel hands out pages of 4 KiB and takes them back.
inline void newPages(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(at)[i] = 1;
  munmap(at, bytes);
}

}  // namespace floors
