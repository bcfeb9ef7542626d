// SessionDevices: what the driver itself says is used (nvml.h). The newest sample is kept for
// metrics; the file gets a figure whenever it changed.
//
//   13:00:01  device 0: 1 GiB used       written
//   13:00:02  device 0: 1 GiB used       not again
//   13:00:03  device 0: 2 GiB used       written
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "record/nvml/nvml.h"
#include "record/session/session_file.h"

namespace tidegauge::record {

class SessionDevices {
 public:
  explicit SessionDevices(SessionFile& file) : file_(file) {}

  void ask() { nvml_.emplace(); }  // NVIDIA's library, if there is one, from now on
  void take();                     // its newest answer
  void add(DeviceSample sample);   // as NVML does
  const std::optional<DeviceSample>& newest() const { return newest_; }
  // On all devices together; none: it is not known.
  std::optional<uint64_t> usedBy(uint32_t pid) const;
  void beginPart();  // writes the newest figures anew

 private:
  struct Written {
    bool has_row = false;
    uint64_t total_bytes = 0;
    std::optional<uint64_t> used_bytes;
    std::map<uint32_t, uint64_t> by_pid;
  };

  SessionFile& file_;
  std::optional<Nvml> nvml_;
  std::optional<DeviceSample> newest_;
  std::map<int32_t, Written> written_;  // by device
};

}  // namespace tidegauge::record
