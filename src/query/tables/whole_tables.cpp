#include "query/tables/whole_tables.h"

#include "analysis/trace/unrecorded.h"
#include "model/ledger/ledger.h"
#include "query/scan/columns.h"

namespace tidegauge::query {
namespace {

using analysis::GpuSum;
using analysis::GpuUse;
using analysis::HeldSum;
using analysis::ProcessSum;
using analysis::WholeRecording;

static_assert(model::kNotRecorded == kNull, "what is not known is NULL as it is");

Whole orNothing(const Whole& whole) {
  static const Whole kNothing = [] {
    auto nothing = std::make_shared<WholeRecording>();
    nothing->run = std::make_shared<const model::RecordedRun>();
    return nothing;
  }();
  return whole && whole->run ? whole : kNothing;
}

// The rows of one list of a WholeRecording, which the columns keep alive.
template <class One>
class RowsOf {
 public:
  RowsOf(const Whole& whole, std::vector<One> WholeRecording::*list, const char* name,
         const char* doc)
      : whole_(orNothing(whole)),
        list_(list),
        table_(recordingTable(name, doc, ((*whole_).*list_).size(), true)) {}

  template <class KeyOf>
  void number(const char* name, const char* doc, KeyOf key_of,
              ColumnKind kind = ColumnKind::kInteger) {
    add(table_, kind, name, doc, eachRow([whole = whole_, list = list_, key_of](Row row) {
          return int64_t{key_of(((*whole).*list)[row])};
        }));
  }
  template <class BytesOf>
  void bytes(const char* name, const char* doc, BytesOf bytes_of) {
    number(
        name, doc, [bytes_of](const One& one) { return keyOfBytes(bytes_of(one)); },
        ColumnKind::kBytes);
  }
  // An empty text is NULL.
  template <class TextOf>
  void text(const char* name, const char* doc, TextOf text_of) {
    auto fill = eachRow([whole = whole_, list = list_, text_of](Row row) {
      return text_of(((*whole).*list)[row]).empty() ? kNull : static_cast<int64_t>(row);
    });
    addMadeText(table_, name, doc, fill, [whole = whole_, list = list_, text_of](int64_t row) {
      return std::string(text_of(((*whole).*list)[static_cast<size_t>(row)]));
    });
  }
  Table take() { return std::move(table_); }

 private:
  Whole whole_;
  std::vector<One> WholeRecording::*list_;
  Table table_;
};

uint64_t orUnknown(const std::optional<uint64_t>& bytes) {
  return bytes.value_or(model::kUnknownBytes);
}

}  // namespace

Table allProcessesTable(const Whole& whole) {
  RowsOf<ProcessSum> rows(
      whole, &WholeRecording::processes, "all_processes",
      "One row per process that requested memory, launched kernels or copied, with its sums.");
  rows.number("process_id", "→ processes.process_id", [](auto& p) { return p.process_id; });
  rows.number("pid", "", [](auto& p) { return p.pid; });
  rows.text(
      "name", "name in the kernel", [](auto& p) -> auto& { return p.name; });
  rows.text(
      "command", "command line; NULL: unknown", [](auto& p) -> auto& { return p.command; });
  rows.number("began_ns", "time at which the recorder first saw the process, ns since the epoch",
              [](auto& p) { return p.began_ns; });
  rows.number("ended_ns", "NULL: it still ran at the end", [](auto& p) { return p.ended_ns; });
  rows.number(
      "exit_status",
      "status that wait() returns: 256 × the exit status, or the signal that ended it; NULL: it "
      "still ran at the end, or started another program with "
      "exec",
      [](auto& p) { return p.exit_status; });
  rows.text(
      "end_reason", "exit, exec; NULL: it still ran at the end",
      [](auto& p) -> auto& { return p.end_reason; });
  rows.bytes("peak_bytes",
             "peak of the memory from the driver; with several GPUs, the sum of their peaks",
             [](auto& p) { return p.peak_bytes; });
  rows.bytes(
      "peak_uncertain_bytes",
      "the true peak is higher or lower by at most this much, as calls of several threads at "
      "the same time may have taken effect in any order",
      [](auto& p) { return p.peak_uncertain_bytes; });
  rows.bytes("live_bytes",
             "bytes held when the process ended, or after its last call if it still ran at the end",
             [](auto& p) { return p.live_bytes; });
  rows.bytes("block_live_bytes", "the part of live_bytes in blocks of the framework",
             [](auto& p) { return p.block_live_bytes; });
  rows.bytes("host_peak_bytes", "peak of pinned and registered host memory",
             [](auto& p) { return p.host_peak_bytes; });
  rows.bytes("host_peak_uncertain_bytes", "the same of host_peak_bytes",
             [](auto& p) { return p.host_peak_uncertain_bytes; });
  rows.bytes("host_live_bytes", "pinned and registered host memory held at the end",
             [](auto& p) { return p.host_live_bytes; });
  rows.bytes("initial_bytes",
             "device memory that the process held before its first call in this file",
             [](auto& p) { return p.initial_bytes; });
  rows.number(
      "at_least",
      "1: only part of the memory allocated before the process was watched is known, so the bytes "
      "are lower bounds",
      [](auto& p) { return int64_t{p.at_least}; });
  auto count = [](uint64_t value) { return keyOfBytes(value); };
  rows.number("refused", "number of memory calls that were refused",
              [count](auto& p) { return count(p.refused); });
  rows.number("launches", "number of kernel launches",
              [count](auto& p) { return count(p.launches); });
  rows.number("copies", "number of copies that succeeded",
              [count](auto& p) { return count(p.copies); });
  rows.bytes("copied_bytes", "bytes of these copies", [](auto& p) { return p.copied_bytes; });
  rows.number("copy_failures", "number of copies that failed",
              [count](auto& p) { return count(p.copy_failures); });
  rows.text(
      "incomplete", "figures of the process that are incomplete: \"memory,launches\"",
      [](auto& p) -> auto& { return p.incomplete; });
  return rows.take();
}

Table allHeldTable(const Whole& whole) {
  RowsOf<HeldSum> rows(
      whole, &WholeRecording::held, "all_held",
      "Memory that each process had not freed when it ended (or after its last call, if it still "
      "ran), one row per device and kind: held_at_end for all processes.");
  rows.number("process_id", "→ processes.process_id", [](auto& h) { return h.process_id; });
  rows.number("pid", "", [](auto& h) { return h.pid; });
  rows.number("device", "NULL: unknown, or host memory",
              [](auto& h) { return h.device < 0 ? kNull : int64_t{h.device}; });
  rows.text("kind", "device, managed, pinned host, pool, …; block: a block of the framework",
            [](auto& h) { return model::name(h.kind); });
  rows.text(
      "memory",
      "device, host or framework; framework blocks are inside device memory, so do not add them up",
      [](auto& h) -> std::string_view {
        if (h.kind == model::MemoryKind::kBlock) return "framework";
        return model::isHostMemory(h.kind) ? "host" : "device";
      });
  rows.bytes("bytes", "requested bytes", [](auto& h) { return h.bytes; });
  rows.number("count", "number of allocations", [](auto& h) { return keyOfBytes(h.count); });
  return rows.take();
}

Table gpusTable(const Whole& whole) {
  RowsOf<GpuSum> rows(
      whole, &WholeRecording::gpus, "gpus",
      "One row per GPU that the driver reports (NVML), which the recorder reads once a second.");
  rows.number("device", "device number of NVML (order of the bus); CUDA's number may differ",
              [](auto& g) { return g.device; });
  rows.text(
      "name", "", [](auto& g) -> auto& { return g.name; });
  rows.text(
      "uuid", "", [](auto& g) -> auto& { return g.uuid; });
  rows.bytes("total_bytes", "memory of the device; NULL: unknown",
             [](auto& g) { return orUnknown(g.total_bytes); });
  rows.number("pcie_generation", "of the fastest link it can have here; NULL: unknown",
              [](auto& g) { return g.pcie_generation; });
  rows.number("pcie_lanes", "of that link", [](auto& g) { return g.pcie_lanes; });
  rows.number("link_bytes_per_second", "that link, each way; NULL: unknown",
              [](auto& g) { return g.link_bytes_per_second.value_or(kNull); });
  rows.bytes(
      "peak_used_bytes",
      "peak used bytes of the device, over all processes; NULL: the driver did not report it",
      [](auto& g) { return orUnknown(g.peak_used_bytes); });
  rows.number("peak_ns", "time of the peak, ns since the epoch", [](auto& g) { return g.peak_ns; });
  rows.bytes(
      "peak_by_processes_bytes",
      "the part of the peak that the driver assigns to processes; see gpu_processes",
      [](auto& g) { return g.peak_used_bytes ? g.by_processes_bytes : model::kUnknownBytes; });
  rows.bytes("peak_free_bytes", "free bytes at the peak", [](auto& g) {
    bool is_known = g.total_bytes && g.peak_used_bytes && *g.total_bytes >= *g.peak_used_bytes;
    return is_known ? *g.total_bytes - *g.peak_used_bytes : model::kUnknownBytes;
  });
  rows.bytes("last_used_bytes", "used bytes at the last reading",
             [](auto& g) { return orUnknown(g.last_used_bytes); });
  return rows.take();
}

Table gpuProcessesTable(const Whole& whole) {
  RowsOf<GpuUse> rows(
      whole, &WholeRecording::gpu_uses, "gpu_processes",
      "One row per GPU and process at the peak of the GPU (gpus.peak_ns): the bytes that the "
      "driver reports, and the bytes that recorded calls had allocated.");
  rows.number("device", "→ gpus.device", [](auto& u) { return u.device; });
  rows.number("pid", "", [](auto& u) { return u.pid; });
  rows.number("process_id", "→ processes.process_id; NULL: the process was not recorded",
              [](auto& u) { return u.process_id; });
  rows.text(
      "name", "NULL: the process was not recorded", [](auto& u) -> auto& { return u.name; });
  rows.bytes("used_bytes", "bytes that the driver reports for the process",
             [](auto& u) { return u.used_bytes; });
  rows.bytes(
      "recorded_bytes",
      "live bytes that recorded calls had allocated; NULL: the process was not recorded, used "
      "several GPUs, or had managed memory, which may be elsewhere",
      [](auto& u) { return orUnknown(u.recorded_bytes); });
  rows.bytes(
      "untracked_bytes",
      "used_bytes − recorded_bytes: contexts, modules and memory without a recorded call; NULL: "
      "unknown",
      [](auto& u) {
        bool is_more = u.recorded_bytes && u.used_bytes >= *u.recorded_bytes;
        return is_more ? u.used_bytes - *u.recorded_bytes : model::kUnknownBytes;
      });
  return rows.take();
}

Table unrecordedTable(const Whole& whole) {
  using analysis::UnrecordedProgram;
  auto all = std::make_shared<const std::vector<UnrecordedProgram>>(
      analysis::unrecordedPrograms(*orNothing(whole)->run));
  Table table = recordingTable(
      "unrecorded",
      "Programs that used CUDA, or may have, and of which no call was recorded: why, and what "
      "records them.",
      all->size(), true);
  auto number = [&](const char* name, const char* doc, int64_t UnrecordedProgram::*member) {
    add(table, ColumnKind::kInteger, name, doc,
        eachRow([all, member](Row row) { return int64_t{(*all)[row].*member}; }));
  };
  auto text = [&](const char* name, const char* doc, std::string UnrecordedProgram::*member) {
    addMadeText(table, name, doc, eachRow([all, member](Row row) {
                  return ((*all)[row].*member).empty() ? kNull : static_cast<int64_t>(row);
                }),
                [all, member](int64_t row) { return (*all)[static_cast<size_t>(row)].*member; });
  };
  number("process_id", "→ processes.process_id; NULL: it is not among them",
         &UnrecordedProgram::process_id);
  number("pid", "", &UnrecordedProgram::pid);
  text("name", "name in the kernel; NULL: unknown", &UnrecordedProgram::name);
  text("command", "command line; NULL: unknown", &UnrecordedProgram::command);
  text("reason", "why nothing was recorded", &UnrecordedProgram::reason);
  text("remedy", "what records it; NULL: nothing that is known", &UnrecordedProgram::remedy);
  return table;
}

Table partTable(const Whole& whole) {
  Whole all = orNothing(whole);
  Table table = recordingTable(
      "part", "One row if this file is a part of a recording with --max-size: which part it is.",
      all->run->part.number > 0 ? 1 : 0, true);
  auto number = [&](const char* name, const char* doc, auto key_of) {
    add(table, ColumnKind::kInteger, name, doc,
        eachRow([all, key_of](Row) { return int64_t{key_of(all->run->part)}; }));
  };
  number("number", "number of the part, from 1", [](auto& part) { return part.number; });
  addMadeText(table, "continues", "file name of the previous part; NULL: this is the first part",
              eachRow([all](Row row) {
                return all->run->part.continues.empty() ? kNull : static_cast<int64_t>(row);
              }),
              [all](int64_t) { return all->run->part.continues; });
  number("began_ns",
         "end of the previous part, ns since the epoch; NULL: no live memory was carried over",
         [](auto& part) { return part.began_ns.value_or(kNull); });
  number("carried_calls", "number of rows that carry over what was live at the start of this part",
         [](auto& part) { return part.carried_calls; });
  return table;
}

Table deviceMemoryTable(const Whole& whole) {
  Whole all = orNothing(whole);
  Table table = recordingTable(
      "device_memory",
      "Used bytes of each GPU as the driver reports them (NVML, read once a second): one row per "
      "change.",
      all->run->device_memory.size(), true);
  auto column = [&](const char* name, const char* doc, auto key_of,
                    ColumnKind kind = ColumnKind::kInteger) {
    add(table, kind, name, doc,
        eachRow([all, key_of](Row row) { return int64_t{key_of(all->run->device_memory, row)}; }));
  };
  column("time_ns", "ns since the epoch", [](auto& m, Row row) { return m.time_ns[row]; });
  column("device", "→ gpus.device", [](auto& m, Row row) { return m.device[row]; });
  column("pid", "NULL: the whole device", [](auto& m, Row row) { return m.pid[row]; });
  column(
      "used_bytes", "bytes that the driver reports; 0: the process ended",
      [](auto& m, Row row) { return keyOfBytes(m.used_bytes[row]); }, ColumnKind::kBytes);
  return table;
}

}  // namespace tidegauge::query
