// PreloadRecorder: records without privileges. A library is loaded into the programs (LD_PRELOAD);
// its wrappers of the watched functions write the same records as the BPF programs, into shared
// memory (preload/shared.h).
//
//   PreloadArea area = PreloadArea::make(options)          // two files in memory: library, records
//   Child::start(command, area.environment())              // LD_PRELOAD=/proc/RECORDER/fd/7
//   PreloadRecorder recorder(std::move(area), session); recorder.watchCommand(child);
//
// Recorded: dynamically linked programs that are not setuid, started by the recorder, and their
// children; others of them that use CUDA are reported as unwatched (strangers.h). Not recorded:
// PyTorch's own blocks, a statically linked runtime (its driver calls are).
// If either side dies, nothing remains: the files in memory vanish with the recorder, and a program
// whose recorder is gone continues. One thread. Cost: docs/performance.md.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "record/kernel/even_clock.h"
#include "record/preload/preload_area.h"
#include "record/preload/strangers.h"
#include "record/process/child.h"
#include "record/python/python_book.h"
#include "record/python/pythons.h"
#include "record/source.h"

namespace tidegauge::record {

class PreloadRecorder final : public Source {
 public:
  PreloadRecorder(PreloadArea area, RecorderSink& sink);
  ~PreloadRecorder() override;

  // `program`: as it was given.
  void watchCommand(Child& child, std::string program) {
    child_ = &child;
    command_ = std::move(program);
    began_ns_ = evenClock().now_ns();
  }
  size_t poll(int timeout_ms) override;
  void finish() override;
  void tellCounts() override;
  Losses losses() const override;
  bool anyTargetRuns() const override;

 private:
  struct Program;
  struct Batch;
  Program& program(uint32_t image, uint32_t tgid, const system_record* seen);
  void readChunk(preload_chunk& chunk, Batch& batch);
  void readEntry(uint32_t type, const uint8_t* bytes, uint32_t size, uint32_t image, Batch& batch);
  void reportStack(const Program& program, uint32_t image, int32_t id);
  void end(uint32_t image, uint64_t time_ns, std::optional<int> status);
  void sayPythonProblem(Program& program);
  void endThese(const std::vector<uint32_t>& gone);
  void takeNames(Batch& batch);
  void readPython(uint32_t type, std::span<const uint8_t> bytes, uint32_t image);
  void takeCounts(uint32_t image);
  void findStrangers();
  void nameCommand();

  PreloadArea area_;
  RecorderSink& sink_;
  Child* child_ = nullptr;
  std::string command_;
  int64_t began_ns_ = 0;
  int epoll_ = -1;
  std::map<uint32_t, Program> programs_;  // by image
  // By image and the library's id: stacks whose first call has not arrived.
  std::map<uint32_t, std::map<int32_t, std::vector<uint64_t>>> stacks_;
  size_t waiting_stacks_ = 0;  // all of them
  PythonFiles python_files_;
  PythonBook python_;  // by image
  // By image and number: tables of lines whose code object has not arrived.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint8_t>> python_lines_;
  size_t waiting_lines_bytes_ = 0;
  std::map<uint32_t, uint32_t> image_of_;  // tgid → its current program
  Strangers strangers_;
  std::map<uint32_t, uint32_t> stranger_index_;  // pid → its process; those that run
  std::set<uint32_t> became_stranger_;           // images, of gone_
  uint64_t next_look_ns_ = 0;
  std::vector<uint32_t> gone_;      // images: ended, but not completely read
  std::unique_ptr<Batch> waiting_;  // read too early to be in order
  uint64_t damaged_ = 0;            // entries that Tidegauge's library did not write
  uint32_t next_index_ = 0;
};

}  // namespace tidegauge::record
