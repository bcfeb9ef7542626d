// Files in memory that programs open: a library, and memory that they share with the recorder. No
// program can change the first, or the size of the second: one that cut it would end the recorder
// and the other programs (SIGBUS).
#pragma once

#include <cstdint>
#include <span>

namespace tidegauge::record {

// Each returns a descriptor that exec closes; −1: errno says why.
int libraryInMemory(const char* name, std::span<const unsigned char> bytes);
int sharedMemory(const char* name, uint64_t bytes);

}  // namespace tidegauge::record
