// TimesArea: two files in memory that programs find through their environment: the library that
// the CUDA driver loads (CUDA_INJECTION64_PATH), and the memory for its entries
// (injection/shared.h).
//
//   TimesArea area = TimesArea::make(caller)   // CUDA_INJECTION64_PATH=/proc/HOLDER/fd/7
//   Child::start(command, area.environment())
//
// A process of its own holds both open for the programs: the recorder has rights that its command
// has not, so the command may not open the recorder's descriptors. The holder has no rights, runs
// as the command's user and ends with the recorder, however that ends. Create it before threads
// start, and before the recorder gives up its rights. Cost: that process, and the memory of the
// ring (8 MiB by default, as far as it is used).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "injection/shared.h"
#include "record/process/caller.h"

namespace tidegauge::record {

inline constexpr const char* kInjectionVariable = "CUDA_INJECTION64_PATH";
inline constexpr uint64_t kTimesRing_bytes = uint64_t{8} << 20;

class TimesArea {
 public:
  // `user`: as whom the command will run, if not as this process.
  static base::Result<TimesArea> make(const std::optional<Caller>& user,
                                      uint64_t ring_bytes = kTimesRing_bytes);
  TimesArea(TimesArea&& other) noexcept;
  TimesArea& operator=(TimesArea&&) = delete;
  ~TimesArea();

  std::vector<std::string> environment() const;  // variables for a program
  injection_area& operator*() const { return *area_; }
  injection_area* operator->() const { return area_; }
  uint32_t chunks() const { return chunks_; }

 private:
  TimesArea() = default;
  bool hold(const std::optional<Caller>& user);

  int library_ = -1, records_ = -1;
  int line_ = -1;  // to the holder, which ends when this is closed
  pid_t holder_ = -1;
  injection_area* area_ = nullptr;
  uint64_t bytes_ = 0;
  uint32_t chunks_ = 0;
};

}  // namespace tidegauge::record
