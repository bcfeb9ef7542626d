// kernels, launches, copies, processes, functions, losses, unwatched, incomplete: what a recording
// says beside memory, with the names and units of its own tables. Of a snapshot they are empty.
#include <memory>
#include <unordered_map>

#include "model/incomplete.h"
#include "model/recorded_work.h"
#include "model/transfer_time.h"
#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

static_assert(model::kNotRecorded == kNull, "what is not known is NULL as it is");

void addNumbers(Table& table, const char* name, const char* doc, const std::vector<int64_t>& values,
                ColumnKind kind = ColumnKind::kInteger) {
  add(table, kind, name, doc, storedIntegers(values));
}

void addTexts(Table& table, const char* name, const char* doc,
              const std::vector<base::StringId>& ids, const model::RecordedRun& run) {
  addPoolText(table, name, doc, storedIds(ids), run.strings);
}

void addTimes(Table& table, const std::vector<int64_t>& begin, const std::vector<int64_t>& end) {
  addNumbers(table, "begin_ns", "start of the interval that the row counts, ns since the epoch",
             begin);
  addNumbers(table, "end_ns", "end of the interval", end);
}

}  // namespace

const model::RecordedWork& workOf(const AnalysedTrace& analysed) {
  static const model::RecordedWork kNothing = [] {
    model::RecordedWork nothing;
    nothing.run = std::make_shared<const model::RecordedRun>();
    return nothing;
  }();
  const model::RecordedWork* work = analysed.trace.work.get();
  return work == nullptr ? kNothing : *work;
}

void addProcessId(Table& table, const model::RecordedWork& work) {
  add(table, ColumnKind::kInteger, "process_id",
      "→ processes.process_id: the process of this trace",
      eachRow([id = work.process_id](Row) { return id; }));
}

Table processesTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedProcesses& p = work.run->processes;
  Table table = recordingTable(
      "processes",
      "Every program that ran during the recording. exec ends one row and begins another.",
      p.size(), true);
  addNumbers(table, "process_id", "", p.process_id);
  addNumbers(table, "pid", "", p.pid);
  addNumbers(table, "parent_pid", "NULL: unknown", p.parent_pid);
  addTexts(table, "name", "name in the kernel", p.name, *work.run);
  addTexts(table, "command", "command line; NULL: unknown", p.command, *work.run);
  addNumbers(table, "cgroup", "number of its cgroup; NULL: unknown", p.cgroup);
  addNumbers(table, "began_ns",
             "time at which the recorder first saw the process, ns since the epoch", p.began_ns);
  addNumbers(table, "ended_ns", "NULL: it still ran at the end", p.ended_ns);
  addNumbers(
      table, "exit_status",
      "status that wait() returns: 256 × the exit status, or the signal that ended it; NULL: it "
      "still ran at the end, or started another program with "
      "exec",
      p.exit_status);
  addTexts(table, "end_reason", "exit, exec; NULL: it still ran at the end", p.end_reason,
           *work.run);
  addNumbers(table, "watched_from_ns", "time from which its calls were recorded",
             p.watched_from_ns);
  addNumbers(table, "watched_to_ns",
             "end of the process or of the recording; NULL: neither has ended", p.watched_to_ns);
  add(table, ColumnKind::kInteger, "ran_before",
      "1: it already ran when the recorder began to watch it",
      stored(p.ran_before, [](uint8_t before) { return int64_t{before}; }));
  add(table, ColumnKind::kInteger, "is_this",
      "1: the process of this trace, which the tables of memory describe",
      stored(p.process_id, [id = work.process_id](int64_t of) { return int64_t{of == id}; }));
  return table;
}

Table functionsTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedFunctions& f = work.run->functions;
  Table table =
      recordingTable("functions", "One row per function that was watched.", f.size(), true);
  addNumbers(table, "function_id", "", f.function_id);
  addTexts(table, "name", "\"cuMemAlloc_v2\"", f.name, *work.run);
  addTexts(table, "plane", "driver, runtime, framework", f.plane, *work.run);
  addTexts(table, "verb", "what the function does with memory; NULL: a copy or a launch", f.verb,
           *work.run);
  addTexts(table, "kind", "kind of this memory; NULL: a copy or a launch", f.kind, *work.run);
  return table;
}

Table lossesTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedLosses& l = work.run->losses;
  Table table = recordingTable(
      "losses", "Events that the recorder lost, for all processes together.", l.size(), true);
  addNumbers(table, "time_ns", "time at which the loss was noticed, ns since the epoch", l.time_ns);
  addTexts(table, "reason", "\"memory ring full\", …", l.reason, *work.run);
  addNumbers(table, "count", "number of lost events", l.count);
  return table;
}

Table unwatchedTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedUnwatched& u = work.run->unwatched;
  Table table = recordingTable(
      "unwatched",
      "Functions, libraries and processes that existed but were not watched, for all processes.",
      u.size(), true);
  addNumbers(table, "begin_ns", "ns since the epoch; NULL: from the beginning of the process",
             u.begin_ns);
  addNumbers(table, "end_ns", "NULL: to the end of the process", u.end_ns);
  addNumbers(table, "process_id",
             "→ processes.process_id; NULL: no call of the process was recorded", u.process_id);
  addNumbers(table, "pid", "NULL: every process (process_id is then NULL, too)", u.pid);
  addTexts(table, "library", "path; NULL: all libraries of the process", u.library, *work.run);
  addTexts(table, "function", "NULL: all functions of the library", u.function, *work.run);
  addTexts(table, "figures", "figures that are incomplete because of it: \"memory,launches\"",
           u.figures, *work.run);
  addTexts(table, "reason", "cause", u.reason, *work.run);
  return table;
}

Table incompleteTable(const AnalysedTrace& analysed) {
  auto all = std::make_shared<const model::Incomplete>(model::incompleteOf(workOf(analysed)));
  Table table = recordingTable(
      "incomplete",
      "Figures of this process that are incomplete, and the reason: lost events, unwatched calls "
      "or unreadable rows.",
      all->missing().size());
  addMadeText(table, "figures", "\"memory,blocks\"", rowNumber(), [all](int64_t row) {
    return listOf(all->missing()[static_cast<size_t>(row)].figures);
  });
  addMadeText(table, "reason", "\"lost: 3 × memory ring full\"", rowNumber(),
              [all](int64_t row) { return all->missing()[static_cast<size_t>(row)].words; });
  add(table, ColumnKind::kInteger, "at_least",
      "1: for this reason the figures can only be too low, e.g. because the process held memory "
      "before it was watched",
      eachRow(
          [all](Row row) { return int64_t{all->missing()[static_cast<size_t>(row)].is_older}; }));
  return table;
}

Table kernelsTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedKernels& k = work.kernels;
  Table table =
      recordingTable("kernels", "One row per kernel that this process launched.", k.size());
  addNumbers(table, "kernel_id", "", k.kernel_id);
  addProcessId(table, work);
  addNumbers(table, "handle", "handle in the program", k.handle);
  addTexts(table, "name", "readable (demangled) name, or: kernel at 0x… (no name)", k.name,
           *work.run);
  addTexts(
      table, "parameters",
      "offset:size in bytes of each parameter, \"0:8 8:4\", in one of the architectures of its "
      "code; NULL: unknown, or arguments were not recorded (--args)",
      k.parameters, *work.run);
  return table;
}

Table launchesTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedLaunches& l = work.launches;
  Table table = recordingTable(
      "launches",
      "Kernel launches of this process: one row per kernel, function and geometry within about a "
      "second.",
      l.size());
  addTimes(table, l.begin_ns, l.end_ns);
  addProcessId(table, work);
  addNumbers(table, "kernel_id", "→ kernels.kernel_id", l.kernel_id);
  addNumbers(table, "function_id", "→ functions.function_id: the function that launched it",
             l.function_id);
  constexpr const char* kGrid[] = {"grid_x", "grid_y", "grid_z"};
  constexpr const char* kBlock[] = {"block_x", "block_y", "block_z"};
  for (size_t i = 0; i < 3; ++i) addNumbers(table, kGrid[i], "number of blocks", l.grid[i]);
  for (size_t i = 0; i < 3; ++i)
    addNumbers(table, kBlock[i], "number of threads per block", l.block[i]);
  addNumbers(table, "count", "launches", l.count);
  std::unordered_map<int64_t, base::StringId> name_of;
  for (size_t i = 0; i < work.kernels.size(); ++i) {
    name_of.try_emplace(work.kernels.kernel_id[i], work.kernels.name[i]);
  }
  std::vector<base::StringId> names(l.size());
  for (size_t i = 0; i < l.size(); ++i) {
    if (auto name = name_of.find(l.kernel_id[i]); name != name_of.end()) names[i] = name->second;
  }
  addPoolText(table, "kernel", "name of the kernel; NULL: unknown",
              eachRow([names = std::move(names)](Row row) { return keyOf(names[row]); }),
              work.run->strings);
  return table;
}

Table copiesTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedCopies& c = work.copies;
  Table table = recordingTable(
      "copies", "Copies of this process: one row per direction and function within about a second.",
      c.size());
  addTimes(table, c.begin_ns, c.end_ns);
  addProcessId(table, work);
  addTexts(table, "direction", "\"host to device\", …; \"set\": memset", c.direction, *work.run);
  addNumbers(table, "function_id", "→ functions.function_id", c.function_id);
  add(table, ColumnKind::kInteger, "submitted",
      "1: the call returns before the copy is finished, so host_ns is not the time of the transfer",
      stored(c.submitted, [](bool submitted) { return int64_t{submitted}; }));
  addNumbers(table, "count", "number of calls that succeeded", c.count);
  addNumbers(table, "size_bytes", "bytes of these copies", c.size_bytes, ColumnKind::kBytes);
  addNumbers(table, "host_ns", "total time inside the calls", c.host_ns);
  std::vector<int64_t> transfer_ns(c.size(), model::kNotRecorded);
  for (size_t i = 0; i < c.size(); ++i)
    if (model::isTransferTime(work.run->strings.text(c.direction[i]), c.submitted[i]))
      transfer_ns[i] = c.host_ns[i];
  add(table, ColumnKind::kInteger, "transfer_ns",
      "host_ns of calls that return when the copy is finished; NULL: not timed",
      eachRow([times = std::move(transfer_ns)](Row row) { return times[row]; }));
  addNumbers(table, "failures", "number of calls that failed", c.failures);
  return table;
}

}  // namespace tidegauge::query
