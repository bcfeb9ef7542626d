// WholeRecording: what can only be said of all processes of a recording together: a sum for each of
// them, what each held at the end by kind, and of each GPU that the driver told of (NVML) who used
// it when most was used, beside what calls had handed out.
//
//   run.sqlite ─► traces "pid 41", "pid 57" ─► wholeRecording ─► SQL all_processes, all_held, …
//                                                              ─► the first page of `report`
//
// Passive rows. Cost: O(n log n) of n rows of processes, launches, copies, refusals, holdings and
// device_memory; some texts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "model/recorded_work.h"

namespace tidegauge::analysis {

// How far a figure is the truth; of a sum the worst of its parts.
enum class Sureness : uint8_t {
  kWhole,
  kAtLeast,     // it can only be too low
  kIncomplete,  // it may be more or less
};

// A program that called for memory, launched or copied. Times, pid and status may be kNotRecorded.
struct ProcessSum {
  size_t trace = 0;  // index
  int64_t process_id = 0;
  int64_t pid = model::kNotRecorded;
  std::string name, command;
  int64_t began_ns = model::kNotRecorded, ended_ns = model::kNotRecorded;
  int64_t exit_status = model::kNotRecorded;
  std::string end_reason;                   // empty: it ran on
  uint64_t peak_bytes = 0, live_bytes = 0;  // of its GPUs; peaks of several are added
  uint64_t host_peak_bytes = 0, host_live_bytes = 0;
  uint64_t block_live_bytes = 0;  // of the framework, inside live_bytes
  uint64_t initial_bytes = 0;     // there before the first event, on its GPUs
  uint64_t launches = 0, copies = 0, copied_bytes = 0, copy_failures = 0, refused = 0;
  bool at_least = false;  // of older memory on its GPUs a part alone is known
  Sureness memory{}, launched{}, copied{};
  std::string incomplete;  // which figures are not the whole truth: "memory,launches"
};

// What a process held at its end, of one device and kind: held_at_end without call sites.
struct HeldSum {
  int64_t process_id = 0;
  int64_t pid = model::kNotRecorded;
  int32_t device = 0;  // below 0: not known, or of the host
  model::MemoryKind kind{};
  uint64_t bytes = 0, count = 0;
};

// A process on a GPU when that was used most, as the driver said.
struct GpuUse {
  int32_t device = 0;
  int64_t pid = 0;
  int64_t process_id = model::kNotRecorded;  // none: no process of the recording
  std::string name;
  uint64_t used_bytes = 0;
  // Handed out to it by calls and live then. None: nobody knows (it was not recorded, uses several
  // GPUs, or has managed memory, which may lie elsewhere).
  std::optional<uint64_t> recorded_bytes;
};

// A GPU as the driver numbers them: by bus, which need not be CUDA's numbering.
struct GpuSum {
  int32_t device = 0;
  std::string name, uuid;
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> peak_used_bytes, last_used_bytes;  // none: it did not say
  int64_t peak_ns = model::kNotRecorded;
  uint64_t by_processes_bytes = 0;  // of peak_used_bytes, as far as it named processes
};

struct WholeRecording {
  std::vector<ProcessSum> processes;  // as the traces
  std::vector<HeldSum> held;          // by process, device, kind
  std::vector<GpuSum> gpus;           // by device
  std::vector<GpuUse> gpu_uses;       // by device; most bytes first
  std::shared_ptr<const model::RecordedRun> run;
};

// `traces` are all of one recording; those without recorded work are passed over. `run` where some
// are of an older reading; else that of the traces.
WholeRecording wholeRecording(std::span<const AnalysedTrace* const> traces,
                              std::shared_ptr<const model::RecordedRun> run = nullptr);

// The same for traces of any files: by recording.
using WholeRecordings = std::map<const model::RecordedRun*, std::shared_ptr<const WholeRecording>>;
WholeRecordings wholeRecordings(std::span<const AnalysedTrace* const> traces);
// That of this trace; null: it is of no recording.
std::shared_ptr<const WholeRecording> wholeOf(const WholeRecordings& all,
                                              const AnalysedTrace& trace);

}  // namespace tidegauge::analysis
