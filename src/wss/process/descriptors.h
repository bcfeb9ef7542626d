// What a process has open: /proc/PID/fd.
//
//   /proc/4711/fd/3 → /srv/data/part-0    /proc/4711/fd/9 → anon_inode:kvm-vm
//
// Cost: a system call for each; at most kMaxDescriptors are visited.
#pragma once

#include <functional>
#include <string_view>

#include "wss/process/process.h"

namespace tidegauge::wss {

inline constexpr int kMaxDescriptors = 4096;

struct Descriptor {
  int folder = -1;          // /proc/PID/fd, open during the visit: for openat() and fstatat()
  const char* name = "";    // "3"
  std::string_view target;  // "/srv/data/part-0"; arbitrary bytes
};

// Visits none if they cannot be read (the process is gone, or another user's).
void eachDescriptor(const Process& process, const std::function<void(const Descriptor&)>& visit);

}  // namespace tidegauge::wss
