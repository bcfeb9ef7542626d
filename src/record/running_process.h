// What /proc says of a process while it runs; empty once it is gone.
#pragma once

#include <cstdint>
#include <string>

namespace tidegauge::record {

std::string commandOf(uint32_t tgid);  // its arguments, 4 KiB at most
std::string nameOf(uint32_t tgid);     // comm
// Here processes have other numbers than in the kernel: in a container, mostly.
bool isInOwnPidNamespace();
// A process that has ended but was not waited for yet does not run.
bool isRunning(uint32_t tgid);

}  // namespace tidegauge::record
