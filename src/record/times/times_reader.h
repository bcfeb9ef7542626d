// TimesReader: what the library of --device-times wrote inside programs, checked and with times
// since the epoch.
//
//   TimesReader reader(std::move(area));
//   reader.read([](const DeviceState& it) { … }, [](const DeviceActivity& it) { … });
//
// Nothing that a program wrote is trusted: an entry that is cut, of an unknown kind, or with a size
// or time that cannot be is counted and left out. Cost: some 50 ns per activity, and a look at each
// chunk per call. Memory: the kernels' names of each program, at most 20,000, and 256 MiB of
// all.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "record/times/times_area.h"

namespace tidegauge::record {

// What became of CUPTI in one program.
struct DeviceState {
  uint32_t image = 0, pid = 0;
  int64_t time_ns = 0;  // since the epoch
  injection_outcome outcome = INJECTION_NO_LIBRARY;
  uint32_t version = 0;
  int32_t code = 0;
  std::string call, reason, library;
  uint64_t clock_error_ns = 0;  // of its times, if CUPTI kept its own clock
};

struct DeviceActivity {
  uint32_t image = 0, pid = 0;
  int64_t start_ns = 0, end_ns = 0;  // since the epoch
  uint64_t bytes = 0;                // of a copy or a set
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  injection_kind kind = INJECTION_KERNEL;
  uint8_t direction = 0;  // enum copy_direction
  std::string_view name;  // of a kernel, as compiled; empty: unknown. Valid during the call
};

// Why activities have no row.
enum class TimesLoss : uint8_t {
  kRoom,         // the recorder was too slow
  kCupti,        // CUPTI dropped them
  kBad,          // records or entries that are not whole
  kNames,        // kernels without a name
  kNotMeasured,  // CUPTI had no times
  kAbsurd,       // times or sizes that cannot be
  kNobody,       // of a program that was not seen
};
inline constexpr size_t kTimesLosses = static_cast<size_t>(TimesLoss::kNobody) + 1;
using TimesLosses = std::array<uint64_t, kTimesLosses>;
std::string_view timesLossReason(TimesLoss loss);

class TimesReader {
 public:
  explicit TimesReader(TimesArea area);

  // Everything that was written until now. An activity whose kernel's name has not come yet is
  // kept once.
  void read(const std::function<void(const DeviceState&)>& state,
            const std::function<void(const DeviceActivity&)>& activity);
  void forget(uint32_t image);
  void lose(TimesLoss loss, uint64_t count = 1) { own_[static_cast<size_t>(loss)] += count; }
  TimesLosses losses() const;
  uint32_t programs() const;  // that loaded the library

 private:
  struct Waiting {
    uint32_t image = 0, pid = 0;
    injection_activity seen{};
  };
  void readChunk(injection_chunk& chunk, std::vector<DeviceState>& states);
  void readEntry(const injection_entry& entry, const uint8_t* bytes, uint32_t image, uint32_t pid,
                 std::vector<DeviceState>& states);
  bool isPlausible(const injection_activity& seen);

  TimesArea area_;
  TimesLosses own_{};
  std::map<uint32_t, std::map<uint32_t, std::string>> names_;  // by image and id
  size_t names_bytes_ = 0;
  std::vector<Waiting> fresh_, again_;
  uint64_t began_ns_ = 0, next_look_ns_ = 0;
};

}  // namespace tidegauge::record
