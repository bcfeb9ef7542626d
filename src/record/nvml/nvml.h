// Nvml: what the driver itself says is used of each device, and by which process, so that what no
// call allocates (contexts, modules) has a number. NVIDIA's libnvidia-ml.so.1, if it is there, is
// asked once a second on a thread of its own:
//
//   Nvml nvml;                             // no library: take() never gives anything
//   if (auto sample = nvml.take()) …       // {time, {{0, "NVIDIA H200", …, 3 GiB, {{41, 2 GiB}}}}}
//
// A call that fails (a device that fell off the bus) leaves out what it would have said. A call
// that hangs costs news, never the recorder: nobody waits for that thread, at its end neither.
// Devices are numbered as NVML does, by bus: a program may count otherwise
// (CUDA_VISIBLE_DEVICES). Cost: a few ms of that thread per second.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tidegauge::record {

inline constexpr size_t kMaxDevices = 64;
inline constexpr size_t kMaxDeviceProcesses = 4096;  // of one device

struct ProcessUse {
  uint32_t pid = 0;
  uint64_t used_bytes = 0;
};

struct DeviceUse {
  int32_t device = 0;
  std::string name, uuid;                            // empty: unknown
  uint64_t total_bytes = 0;                          // 0: unknown
  std::optional<uint64_t> used_bytes;                // by all, and what the driver keeps for itself
  std::optional<std::vector<ProcessUse>> processes;  // by pid, each once; none: unknown
  // The fastest link that the device and the machine can have; 0: unknown.
  uint32_t pcie_generation = 0, pcie_lanes = 0;
};

struct DeviceSample {
  int64_t time_ns = 0;  // since the epoch
  std::vector<DeviceUse> devices;
};

class Nvml {
 public:
  explicit Nvml(std::chrono::milliseconds every = std::chrono::seconds(1));
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // The newest, if there is one that was not taken yet.
  std::optional<DeviceSample> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace tidegauge::record
