// Facts from /proc about a running process; empty once it is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tidegauge::record {

std::string commandOf(uint32_t tgid);  // its arguments, 4 KiB at most
std::string nameOf(uint32_t tgid);     // comm
// A text in its memory, at most `most` bytes; empty if it cannot be read or has no end.
std::string textOf(uint32_t tgid, uint64_t address, size_t most);
// The file of its program, as it sees it: also one that is no longer at that path.
std::string programOf(uint32_t tgid);
std::vector<uint32_t> runningProcesses();  // on the whole machine
// Processes have other numbers here than in the kernel: usually in a container.
bool isInOwnPidNamespace();
// False for a process that has ended but was not waited for yet.
bool isRunning(uint32_t tgid);

}  // namespace tidegauge::record
