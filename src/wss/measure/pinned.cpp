#include "wss/measure/pinned.h"

#include "model/recorded_work.h"

namespace tidegauge::wss {

bool isOfProcess(const model::Trace& trace, pid_t pid) {
  if (!trace.work) return true;
  auto row = model::ownRow(*trace.work);
  return row && trace.work->run->processes.pid[*row] == pid;
}

void addPinned(std::vector<Mark>& marks, const model::Trace& trace) {
  const model::FinalSegments& finals = trace.final_segments;
  for (const model::Device& device : trace.devices) {
    if (device.kind != model::DeviceKind::kPinnedHost) continue;
    for (uint64_t i = device.final_segment_begin; i < device.final_segment_end; ++i) {
      uint64_t start = finals.address[i], bytes = finals.total_bytes[i];
      if (bytes > UINT64_MAX - start) continue;  // a file may say anything
      marks.push_back({start, start + bytes, MappingKind::kPinned, "pinned host memory"});
    }
  }
}

}  // namespace tidegauge::wss
