// launch_events: the single launches of a recording, if it has them, with the names of their
// kernels and their arguments in words.
#include <boost/unordered/unordered_flat_map.hpp>
#include <string>

#include "model/launch_arguments.h"
#include "model/recorded_work.h"
#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

void addIntegers(Table& table, const char* name, const char* doc,
                 const std::vector<int64_t>& values) {
  add(table, ColumnKind::kInteger, name, doc, storedIntegers(values));
}
void addCounts(Table& table, const char* name, const char* doc,
               const std::vector<uint32_t>& values) {
  add(table, ColumnKind::kInteger, name, doc,
      stored(values, [](uint32_t value) { return int64_t{value}; }));
}

std::string parametersOf(const model::RecordedWork& work, Row row, base::StringId layout) {
  int64_t parameters = work.launch_events.parameters[row];
  if (parameters < 0 || !layout.valid()) return "unknown";
  return std::string(work.run->strings.text(layout));
}

std::string argumentsOf(const model::RecordedWork& work, Row row, base::StringId layout) {
  const model::RecordedLaunchEvents& e = work.launch_events;
  uint64_t begin = row == 0 ? 0 : e.arguments_end[row - 1];
  std::span<const uint8_t> bytes(e.argument_bytes.data() + begin, e.arguments_end[row] - begin);
  std::string_view text = layout.valid() ? work.run->strings.text(layout) : std::string_view();
  return model::argumentsText(bytes, e.parameters[row], text);
}

}  // namespace

Table launchEventsTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedLaunchEvents& e = work.launch_events;
  Table table =
      recordingTable("launch_events",
                     "Single launches of this process, by time, if the recorder was asked for them "
                     "(--launch-events).",
                     e.size());
  addIntegers(table, "time_ns", "ns since the epoch", e.time_ns);
  addProcessId(table, work);
  addIntegers(table, "thread", "", e.thread);
  addIntegers(table, "kernel_id", "→ kernels.kernel_id", e.kernel_id);
  addIntegers(table, "function_id", "→ functions.function_id: the function that launched it",
              e.function_id);
  constexpr const char* kGrid[] = {"grid_x", "grid_y", "grid_z"};
  constexpr const char* kBlock[] = {"block_x", "block_y", "block_z"};
  for (size_t i = 0; i < 3; ++i) addCounts(table, kGrid[i], "number of blocks", e.grid[i]);
  for (size_t i = 0; i < 3; ++i)
    addCounts(table, kBlock[i], "number of threads per block", e.block[i]);
  add(table, ColumnKind::kBytes, "shared_bytes", "dynamic shared memory per block",
      stored(e.shared_bytes, [](uint32_t bytes) { return int64_t{bytes}; }));
  add(table, ColumnKind::kInteger, "stream", "as the program passed it", storedAddresses(e.stream));
  add(table, ColumnKind::kInteger, "device", "NULL: unknown",
      stored(e.device, [](int32_t device) { return device < 0 ? kNull : int64_t{device}; }));
  addReference(table, "stack_id", "→ stacks.id; NULL: no stack recorded", storedIds(e.stack),
               analysed.trace.stacks.size());
  // By row of kernels, so that a row of this table costs no search.
  boost::unordered_flat_map<int64_t, size_t> kernels;
  for (size_t i = 0; i < work.kernels.size(); ++i)
    kernels.try_emplace(work.kernels.kernel_id[i], i);
  std::vector<base::StringId> names(e.size()), layouts(e.size());
  for (size_t i = 0; i < e.size(); ++i) {
    auto kernel = kernels.find(e.kernel_id[i]);
    if (kernel == kernels.end()) continue;
    names[i] = work.kernels.name[kernel->second];
    layouts[i] = work.kernels.parameters[kernel->second];
  }
  addPoolText(table, "kernel", "name of the kernel; NULL: unknown",
              eachRow([names = std::move(names)](Row row) { return keyOf(names[row]); }),
              work.run->strings);
  Fill asked_for = eachRow([&e](Row row) {
    return e.parameters[row] == model::kNotRecorded ? kNull : static_cast<int64_t>(row);
  });
  addMadeText(
      table, "parameters",
      "offset:size in bytes of each parameter of the kernel, \"0:8 8:4\", in one of the "
      "architectures of its code; unknown: its code was not found; NULL: arguments were not "
      "recorded (--args)",
      asked_for, [&work, layouts](int64_t row) {
        auto at = static_cast<size_t>(row);
        return parametersOf(work, at, layouts[at]);
      });
  addMadeText(table, "arguments",
              "values in hexadecimal, \"0x7f0000001000 0xa\"; a struct: the first 8 bytes, or all "
              "of it as x'…' (--args-whole); without known parameters: words of 8 bytes",
              asked_for, [&work, layouts = std::move(layouts)](int64_t row) {
                auto at = static_cast<size_t>(row);
                return argumentsOf(work, at, layouts[at]);
              });
  return table;
}

}  // namespace tidegauge::query
