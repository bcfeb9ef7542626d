// WholeRecording: facts about all processes of a recording together: sums for each process, what
// each held at the end by kind, and for each GPU that NVML reported, who used it at its peak, next
// to what recorded calls had allocated.
//
//   run.sqlite ─► traces "pid 41", "pid 57" ─► wholeRecording ─► SQL all_processes, all_held, …
//                                                              ─► the first page of `report`
//
// Plain rows. Cost: O(n log n) for n rows of processes, launches, copies, refusals, holdings and
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

// How exact a figure is; for a sum, the least exact of its parts.
enum class Sureness : uint8_t {
  kWhole,
  kAtLeast,     // it can only be too low
  kIncomplete,  // it may be more or less
};

// A program that allocated, launched or copied. Times, pid and status may be kNotRecorded.
struct ProcessSum {
  size_t trace = 0;  // index
  int64_t process_id = 0;
  int64_t pid = model::kNotRecorded;
  std::string name, command;
  int64_t began_ns = model::kNotRecorded, ended_ns = model::kNotRecorded;
  int64_t exit_status = model::kNotRecorded;
  std::string end_reason;                   // empty: it was still running
  uint64_t peak_bytes = 0, live_bytes = 0;  // on its GPUs; peaks of several GPUs are added
  uint64_t host_peak_bytes = 0, host_live_bytes = 0;
  uint64_t peak_uncertain_bytes = 0, host_peak_uncertain_bytes = 0;  // model::PeakSlack
  uint64_t block_live_bytes = 0;  // of the framework, part of live_bytes
  uint64_t initial_bytes = 0;     // before the first event, on its GPUs
  uint64_t launches = 0, copies = 0, copied_bytes = 0, copy_failures = 0, refused = 0;
  bool at_least = false;  // its older memory on GPUs is known in part only
  Sureness memory{}, launched{}, copied{};
  std::string incomplete;  // which figures are incomplete: "memory,launches"
};

// What a process held at its end, by device and kind: held_at_end without call sites.
struct HeldSum {
  int64_t process_id = 0;
  int64_t pid = model::kNotRecorded;
  int32_t device = 0;  // below 0: unknown, or the host
  model::MemoryKind kind{};
  uint64_t bytes = 0, count = 0;
};

// A process on a GPU at that GPU's peak use, as the driver reported it.
struct GpuUse {
  int32_t device = 0;
  int64_t pid = 0;
  int64_t process_id = model::kNotRecorded;  // kNotRecorded: not a process of the recording
  std::string name;
  uint64_t used_bytes = 0;
  // Live bytes that its calls had allocated there then. Absent if unknown: it was not recorded,
  // uses several GPUs, or has managed memory, which may be elsewhere.
  std::optional<uint64_t> recorded_bytes;
};

// A GPU as the driver numbers it: by bus, which may differ from CUDA's numbering.
struct GpuSum {
  int32_t device = 0;
  std::string name, uuid;
  std::optional<uint64_t> total_bytes;
  int64_t pcie_generation = model::kNotRecorded, pcie_lanes = model::kNotRecorded;  // of its link
  std::optional<int64_t> link_bytes_per_second;                                     // each way
  std::optional<uint64_t> peak_used_bytes, last_used_bytes;  // absent: not reported
  int64_t peak_ns = model::kNotRecorded;
  uint64_t by_processes_bytes = 0;  // of peak_used_bytes, by processes that it named
};

struct WholeRecording {
  std::vector<ProcessSum> processes;  // in the order of the traces
  std::vector<HeldSum> held;          // by process, device, kind
  std::vector<GpuSum> gpus;           // by device
  std::vector<GpuUse> gpu_uses;       // by device; most bytes first
  std::shared_ptr<const model::RecordedRun> run;
};

// `traces` are all of one recording; those without recorded work are skipped. `run` if some traces
// come from an older read; else that of the traces.
WholeRecording wholeRecording(std::span<const AnalysedTrace* const> traces,
                              std::shared_ptr<const model::RecordedRun> run = nullptr);

// The same for traces of any files, by recording.
using WholeRecordings = std::map<const model::RecordedRun*, std::shared_ptr<const WholeRecording>>;
WholeRecordings wholeRecordings(std::span<const AnalysedTrace* const> traces);
// The one of this trace; null: it does not come from a recording.
std::shared_ptr<const WholeRecording> wholeOf(const WholeRecordings& all,
                                              const AnalysedTrace& trace);

}  // namespace tidegauge::analysis
