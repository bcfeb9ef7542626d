// PreloadRecorder: the way that needs no privilege. A library is loaded into the programs
// (LD_PRELOAD), whose wrappers of the watched functions write the same records that the BPF
// programs write, into memory that both share (preload/shared.h).
//
//   PreloadArea area = PreloadArea::make(options)          // two files in memory: library, records
//   Child::start(command, area.environment())              // LD_PRELOAD=/proc/RECORDER/fd/7
//   PreloadRecorder recorder(std::move(area), session); recorder.watchCommand(child);
//
// Seen: programs that are linked dynamically and are not setuid, which the recorder starts, and
// what they start. Not seen: PyTorch's own blocks, a runtime linked in statically (its driver calls
// are). Nothing is left behind by either side's death: the files in memory go with the recorder, a
// program whose recorder is gone goes on. One thread. Cost: docs/performance.md.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "record/preload/preload_area.h"
#include "record/process/child.h"
#include "record/source.h"

namespace tidegauge::record {

class PreloadRecorder final : public Source {
 public:
  PreloadRecorder(PreloadArea area, RecorderSink& sink);
  ~PreloadRecorder() override;

  void watchCommand(Child& child) { child_ = &child; }
  size_t poll(int timeout_ms) override;
  void finish() override;
  void tellCounts() override;
  Losses losses() const override;
  bool anyTargetRuns() const override;
  // Some program has loaded the library; the command itself may have refused it (static, setuid).
  bool wasLoaded() const { return next_index_ > 0; }

 private:
  struct Program;
  struct Batch;
  Program& program(uint32_t image, uint32_t tgid, const system_record* seen);
  void readChunk(preload_chunk& chunk, Batch& batch);
  void readEntry(uint32_t type, const uint8_t* bytes, uint32_t size, uint32_t image, Batch& batch);
  void tellStack(const Program& program, uint32_t image, int32_t id);
  void end(uint32_t image, uint64_t time_ns, std::optional<int> status);
  void endThese(const std::vector<uint32_t>& images);
  void takeNames(Batch& batch);
  void takeCounts(uint32_t image);

  PreloadArea area_;
  RecorderSink& sink_;
  Child* child_ = nullptr;
  int epoll_ = -1;
  std::map<uint32_t, Program> programs_;  // by image
  // By image and the library's id: their first call is on its way.
  std::map<uint32_t, std::map<int32_t, std::vector<uint64_t>>> stacks_;
  size_t waiting_stacks_ = 0;              // all of them
  std::map<uint32_t, uint32_t> image_of_;  // tgid → the program that it runs
  std::vector<uint32_t> gone_;             // images: gone, but not all was read yet
  std::unique_ptr<Batch> waiting_;         // read too early to be in order
  uint64_t damaged_ = 0;                   // entries that no library of ours wrote
  uint32_t next_index_ = 0;
};

}  // namespace tidegauge::record
