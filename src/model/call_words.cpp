#include "model/call_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tidegauge::model {
namespace {

// cuda.h and driver_types.h.
constexpr std::pair<int32_t, std::string_view> kCodes[] = {
    {1, "invalid value"},
    {2, "out of memory"},
    {3, "not initialized"},
    {4, "driver shutting down"},
    {35, "driver too old, or none"},
    {100, "no device"},
    {101, "invalid device"},
    {200, "invalid image"},
    {201, "invalid context"},
    {304, "operating system call failed"},
    {400, "invalid handle"},
    {401, "illegal state"},
    {500, "not found"},
    {600, "not ready"},
    {700, "illegal address"},
    {701, "launch out of resources"},
    {702, "launch timeout"},
    {709, "context destroyed"},
    {712, "host memory already registered"},
    {713, "host memory not registered"},
    {719, "launch failed"},
    {800, "not permitted"},
    {801, "not supported"},
    {900, "stream capture unsupported"},
    {901, "stream capture invalidated"},
    {999, "unknown"},
};

constexpr std::pair<std::string_view, std::string_view> kLossWords[] = {
    {"memory ring full",
     "Memory calls came faster than the recorder could take them: live bytes may be too "
     "high or too low by what they moved. A larger --ring or fewer processes helps."},
    {"system ring full",
     "Starts, ends or libraries of processes were missed: a process may be shown as running, its "
     "memory as live, though it has ended."},
    {"name ring full",
     "Names of kernels were missed: they are shown by address. Counts are right."},
    {"launch ring full", "Single launches were missed. The counts of launches are right."},
    {"no stack",
     "Calls whose stack could not be kept: their call site is missing, their bytes are right."},
    {"return without entry",
     "Calls that had begun before they were watched: what they did is missing."},
    {"no room in flight",
     "More calls at once than the recorder can follow: what these did is missing."},
    {"no room for a thread",
     "More threads or processes than the recorder can follow: their calls are missing."},
    {"memory not readable",
     "Something could not be read from the program's memory: what a "
     "call handed out, the size of an array, a name. Bytes that came "
     "that way are missing, and their free is of unknown memory."},
    {"no room for a launch",
     "More kernels and shapes than the table has room for: launches are missing from the counts."},
    {"no room for a copy", "Copies found no room in the table: they are missing from the sums."},
};

}  // namespace

std::string_view codeWords(int32_t code) {
  const auto* found = std::find_if(std::begin(kCodes), std::end(kCodes),
                                   [&](const auto& known) { return known.first == code; });
  return found == std::end(kCodes) ? std::string_view() : found->second;
}

std::string_view lossMeaning(std::string_view reason) {
  const auto* found = std::find_if(std::begin(kLossWords), std::end(kLossWords),
                                   [&](const auto& known) { return known.first == reason; });
  return found == std::end(kLossWords) ? "Something was missed: figures may be too high or too low."
                                       : found->second;
}

std::string namelessKernel(uint64_t handle) {
  return fmt::format("kernel at {:#x} (no name)", handle);
}

}  // namespace tidegauge::model
