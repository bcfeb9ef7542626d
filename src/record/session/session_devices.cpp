#include "record/session/session_devices.h"

#include <utility>

namespace tidegauge::record {

void SessionDevices::take() {
  if (!nvml_) return;
  if (auto sample = nvml_->take()) add(std::move(*sample));
}

void SessionDevices::add(DeviceSample sample) {
  auto writeUse = [&](int32_t device, std::optional<uint32_t> pid, uint64_t used_bytes) {
    file_.write([&](auto& file) {
      return file.addDeviceMemory({sample.time_ns, device, pid, used_bytes});
    });
  };
  for (const DeviceUse& use : sample.devices) {
    Written& written = written_[use.device];
    if (!written.has_row || written.total_bytes != use.total_bytes) {
      file_.write([&](auto& file) {
        return file.addDevice(
            {use.device, use.name, use.uuid, use.total_bytes, use.pcie_generation, use.pcie_lanes});
      });
      written.has_row = true;
      written.total_bytes = use.total_bytes;
    }
    if (use.used_bytes && use.used_bytes != written.used_bytes) {
      writeUse(use.device, std::nullopt, *use.used_bytes);
      written.used_bytes = use.used_bytes;
    }
    if (!use.processes) continue;
    std::map<uint32_t, uint64_t> now;
    for (const ProcessUse& process : *use.processes) {
      now[process.pid] = process.used_bytes;
      auto before = written.by_pid.find(process.pid);
      if (before == written.by_pid.end() || before->second != process.used_bytes)
        writeUse(use.device, process.pid, process.used_bytes);
    }
    for (const auto& [pid, bytes] : written.by_pid)
      if (!now.contains(pid)) writeUse(use.device, pid, 0);
    written.by_pid = std::move(now);
  }
  newest_ = std::move(sample);
}

std::optional<uint64_t> SessionDevices::usedBy(uint32_t pid) const {
  std::optional<uint64_t> bytes;
  if (!newest_) return bytes;
  for (const DeviceUse& use : newest_->devices) {
    if (!use.processes) continue;
    for (const ProcessUse& process : *use.processes)
      if (process.pid == pid) bytes = bytes.value_or(0) + process.used_bytes;
  }
  return bytes;
}

void SessionDevices::beginPart() {
  written_.clear();
  if (newest_) add(*newest_);
}

}  // namespace tidegauge::record
