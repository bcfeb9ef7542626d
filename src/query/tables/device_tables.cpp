// device_activities, device_programs: what the device measured itself (--device-times).
#include <string>

#include "model/recorded_work.h"
#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

void addWholes(Table& table, const char* name, const char* doc, const std::vector<int64_t>& values,
               ColumnKind kind = ColumnKind::kInteger) {
  add(table, kind, name, doc, storedIntegers(values));
}
void addIds(Table& table, const char* name, const char* doc, const std::vector<uint32_t>& values) {
  add(table, ColumnKind::kInteger, name, doc,
      stored(values, [](uint32_t value) { return int64_t{value}; }));
}

std::string workWord(int64_t kind) {
  switch (static_cast<model::DeviceWork>(kind)) {
    case model::DeviceWork::kKernel:
      return "kernel";
    case model::DeviceWork::kCopy:
      return "copy";
    case model::DeviceWork::kSet:
      break;
  }
  return "set";
}

}  // namespace

Table deviceActivitiesTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedDeviceActivities& a = work.device_activities;
  Table table = recordingTable(
      "device_activities",
      "Kernels, copies and sets of this process as the device ran them, by start, if the recorder "
      "was asked for them (--device-times).",
      a.size());
  addWholes(table, "start_ns", "start on the device, ns since the epoch", a.start_ns);
  addWholes(table, "end_ns", "end on the device", a.end_ns);
  addProcessId(table, work);
  addMadeText(table, "kind", "kernel, copy, set",
              eachRow([&a](Row row) { return static_cast<int64_t>(a.kind[row]); }), workWord);
  addPoolText(table, "direction", "\"host to device\", …; \"set\": memset; NULL: a kernel",
              storedIds(a.direction), work.run->strings);
  add(table, ColumnKind::kInteger, "device", "as the program numbers them",
      stored(a.device, [](int32_t device) { return int64_t{device}; }));
  addIds(table, "context", "as CUPTI numbers them", a.context);
  addIds(table, "stream", "as CUPTI numbers them, which is not the program's handle", a.stream);
  addWholes(table, "size_bytes", "bytes of a copy or a set; NULL: a kernel", a.size_bytes,
            ColumnKind::kBytes);
  addIds(table, "correlation", "CUPTI's number of the call that submitted it", a.correlation);
  addPoolText(table, "kernel", "name of the kernel; NULL: a copy, a set, or unknown",
              storedIds(a.name), work.run->strings);
  return table;
}

Table deviceProgramsTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedDevicePrograms& p = work.run->device_programs;
  Table table = recordingTable("device_programs",
                               "Programs that loaded the library of --device-times, and what "
                               "became of CUPTI there, for all processes.",
                               p.size(), true);
  addWholes(table, "time_ns", "ns since the epoch", p.time_ns);
  addWholes(table, "process_id", "→ processes.process_id; NULL: the process was not seen",
            p.process_id);
  addWholes(table, "pid", "", p.pid);
  addPoolText(table, "outcome",
              "timed; no library: libcupti was not found; refused: CUPTI does not work there; new "
              "version: its records are not known",
              storedIds(p.outcome), work.run->strings);
  addPoolText(table, "reason", "NULL: it is timed", storedIds(p.reason), work.run->strings);
  addPoolText(table, "library", "path of libcupti; NULL: none", storedIds(p.library),
              work.run->strings);
  addWholes(table, "version", "as cuptiGetVersion() says; NULL: unknown", p.version);
  addWholes(table, "clock_error_ns",
            "0: times are of the recorder's clock; else by how much they may differ",
            p.clock_error_ns);
  return table;
}

}  // namespace tidegauge::query
