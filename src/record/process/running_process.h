// What /proc says of a process while it runs; empty once it is gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidegauge::record {

std::string commandOf(uint32_t tgid);  // its arguments, 4 KiB at most
std::string nameOf(uint32_t tgid);     // comm
// The file that it runs, as it sees it: also of one that is no longer at that path.
std::string programOf(uint32_t tgid);
std::vector<uint32_t> runningProcesses();  // all of the machine
// Here processes have other numbers than in the kernel: in a container, mostly.
bool isInOwnPidNamespace();
// A process that has ended but was not waited for yet does not run.
bool isRunning(uint32_t tgid);

}  // namespace tidegauge::record
