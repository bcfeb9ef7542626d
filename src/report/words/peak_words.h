// The peak of reserved memory in a replay, beside the peak before the change.
//
//     peak reserved memory is 5.87 GiB or more instead of 5.96 GiB
//     peak reserved memory is 1.46 GiB, as before
//
// Two sizes that would read the same get a finer unit, at last bytes.
#pragma once

#include <cstdint>
#include <string>

namespace tidegauge::report {

// `is_at_least`: a request that fits now is freed at once in the replay, so that the program may
// need more.
std::string peakReservedWords(uint64_t after_bytes, uint64_t before_bytes, bool is_at_least);

}  // namespace tidegauge::report
