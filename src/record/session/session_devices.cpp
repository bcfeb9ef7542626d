// What the driver itself says is used (nvml.h), as a session keeps it: the newest for metrics, and
// in the file each figure when it is another than before.
#include "record/session/session.h"

namespace tidegauge::record {

void Session::askDevices() { nvml_.emplace(); }

void Session::takeDevices() {
  if (!nvml_) return;
  if (auto sample = nvml_->take()) devicesSeen(std::move(*sample));
}

void Session::devicesSeen(DeviceSample sample) {
  auto tell = [&](int32_t device, std::optional<uint32_t> pid, uint64_t used_bytes) {
    write([&](auto& file) {
      return file.addDeviceMemory({sample.time_ns, device, pid, used_bytes});
    });
  };
  for (const DeviceUse& use : sample.devices) {
    WrittenDevice& written = written_devices_[use.device];
    if (!written.is_told || written.total_bytes != use.total_bytes) {
      write([&](auto& file) {
        return file.addDevice({use.device, use.name, use.uuid, use.total_bytes});
      });
      written.is_told = true;
      written.total_bytes = use.total_bytes;
    }
    if (use.used_bytes && use.used_bytes != written.used_bytes) {
      tell(use.device, std::nullopt, *use.used_bytes);
      written.used_bytes = use.used_bytes;
    }
    if (!use.processes) continue;
    std::map<uint32_t, uint64_t> now;
    for (const ProcessUse& process : *use.processes) {
      now[process.pid] = process.used_bytes;
      auto before = written.by_pid.find(process.pid);
      if (before == written.by_pid.end() || before->second != process.used_bytes)
        tell(use.device, process.pid, process.used_bytes);
    }
    for (const auto& [pid, bytes] : written.by_pid)
      if (!now.contains(pid)) tell(use.device, pid, 0);
    written.by_pid = std::move(now);
  }
  devices_ = std::move(sample);
}

std::optional<uint64_t> Session::driversFigureOf(uint32_t pid) const {
  std::optional<uint64_t> bytes;
  if (!devices_) return bytes;
  for (const DeviceUse& use : devices_->devices) {
    if (!use.processes) continue;
    for (const ProcessUse& process : *use.processes)
      if (process.pid == pid) bytes = bytes.value_or(0) + process.used_bytes;
  }
  return bytes;
}

}  // namespace tidegauge::record
