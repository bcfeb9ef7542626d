#include "wss/file/measurement_parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wss/units.h"
#include "wss/words/row_json.h"

namespace tidegauge::wss {
namespace {

using nlohmann::json;

constexpr size_t kMaxMappings = 1'000'000;
constexpr double kMaxTime = 1e11;
constexpr uint64_t kMaxAddress = uint64_t{1} << 57;  // user space ends below this

Window readWindow(Fields& fields, const json& of) {
  const json& window = fields.object(of, "window_s");
  return {fields.nanoseconds(window, "least"), fields.nanoseconds(window, "mean"),
          fields.nanoseconds(window, "most")};
}

MappingKind readKind(Fields& fields, const json& group) {
  std::string text = fields.text(group, "kind");
  auto kind = kindNamed(text);
  if (!kind)
    fields.wrong("this version does not know the \"kind\" of a mapping: " + text.substr(0, 40));
  return kind.value_or(MappingKind::kAnonymous);
}

// [vsyscall], which is not memory of the process.
bool liesAboveUserSpace(const json& group) {
  const auto end = group.find("end");
  return end != group.end() && end->is_number_unsigned() && end->get<uint64_t>() > kMaxAddress;
}

uint64_t readAddress(Fields& fields, const json& of, const char* name) {
  const auto found = of.find(name);
  if (found == of.end()) return 0;
  if (found->is_number_unsigned() && found->get<uint64_t>() <= kMaxAddress)
    return found->get<uint64_t>();
  return fields.wrong(fmt::format("\"{}\" is not an address", name)), 0;
}

Rolling readRolling(Fields& fields, const json& of, double window_s) {
  Rolling rolling;
  rolling.never = fields.whole(of, "never_bytes");
  rolling.first = fields.whole(of, "first_bytes");
  for (const json& one : fields.list(of, "within", Rolling::kBins)) {
    auto windows = static_cast<uint32_t>(fields.whole(one, "windows", PageHistory::kMaxWindows));
    uint32_t before = rolling.within.empty() ? 0 : rolling.within.back().windows;
    if (windows <= before || windows * window_s > Fields::kMaxSeconds)
      fields.wrong("\"windows\" do not grow, or are longer than any clock counts");
    bool is_at_least = Fields::tells(one, "at_least") && fields.flag(one, "at_least");
    rolling.within.push_back({windows, fields.whole(one, "bytes"), is_at_least});
  }
  size_t bin = 0;
  for (const json& one : fields.list(of, "again", Rolling::kBins))
    rolling.again.at(bin++) = fields.whole(one, "bytes");
  return rolling;
}

std::vector<HeatMap::Cell> readCells(Fields& fields, const json& of) {
  constexpr uint64_t kCellBytes = 64 << 10, kPagesOfCell = 16;
  std::vector<HeatMap::Cell> cells;
  for (const json& one : fields.list(of, "cells", kMaxLineBytes / 8)) {
    bool fits = one.is_array() && one.size() == 3 &&
                std::ranges::all_of(one, [](const json& v) { return v.is_number_unsigned(); });
    if (!fits) return fields.wrong("a cell is not [address, pages, touched pages]"), cells;
    auto address = one[0].get<uint64_t>(), there = one[1].get<uint64_t>(),
         touched = one[2].get<uint64_t>();
    bool in_order = cells.empty() || address > cells.back().address;
    if (address >= kMaxAddress || address % kCellBytes != 0 || there == 0 || there > kPagesOfCell ||
        touched > there || !in_order)
      return fields.wrong("a cell is out of order, or cannot be"), cells;
    cells.push_back({address, static_cast<uint32_t>(there), static_cast<uint32_t>(touched)});
  }
  return cells;
}

// Rows of older versions lack it.
std::optional<Shortage> readShortage(Fields& fields, const json& line) {
  if (!Fields::tells(line, "pressure")) return std::nullopt;
  std::string text = fields.text(fields.object(line, "pressure"), "shortage");
  for (Shortage shortage : {Shortage::kNone, Shortage::kNear, Shortage::kShort})
    if (nameOf(shortage) == text) return shortage;
  fields.wrong("this version does not know this \"shortage\"");
  return std::nullopt;
}

// Rows of older versions lack most of it.
void readMeanwhile(Fields& fields, const json& line, std::optional<Shortage> shortage, Row& row) {
  Meanwhile& meanwhile = row.meanwhile;
  const json& error = fields.object(line, "error");
  if (Fields::tells(error, "reclaimed_bytes"))
    row.gone_bytes = fields.whole(error, "reclaimed_bytes");
  if (Fields::tells(error, "repeated_bytes"))
    row.repeated_bytes = fields.whole(error, "repeated_bytes");
  if (Fields::tells(line, "once")) {
    const json& once = fields.object(line, "once");
    row.once = Once{fields.whole(once, "rss"), fields.whole(once, "referenced")};
  }
  if (shortage) {
    const json& pressure = fields.object(line, "pressure");
    const json& bytes = fields.object(pressure, "bytes");
    meanwhile.pressure.counted = {.refaulted_file = fields.whole(bytes, "refaulted_file"),
                                  .refaulted_anonymous = fields.whole(bytes, "refaulted_anonymous"),
                                  .scanned = fields.whole(bytes, "scanned"),
                                  .taken = fields.whole(bytes, "taken")};
    meanwhile.pressure.window_ns = fields.nanoseconds(pressure, "window_s");
    meanwhile.within = meanwhile.pressure;  // a file does not distinguish them
    meanwhile.is_reclaimed = *shortage != Shortage::kNone;
    if (Fields::tells(pressure, "of_machine"))
      meanwhile.scans_machine = fields.flag(pressure, "of_machine");
  }
  if (Fields::tells(error, "flushed")) row.is_flushed = fields.flag(error, "flushed");
  for (const json& name : fields.list(error, "unseen", kTouchers.size())) {
    auto known = name.is_string() ? toucherOf(name.get<std::string>()) : std::nullopt;
    if (known)
      meanwhile.unseen.add(*known);
    else
      fields.wrong("this version does not know one of \"unseen\"");
  }
  // If nothing else explains it, memory was reclaimed.
  if (Fields::tells(error, "at_least"))
    meanwhile.is_reclaimed = fields.flag(error, "at_least") &&
                             (meanwhile.is_reclaimed || row.gone_bytes > 0 || !isAtLeast(row));
  if (Fields::tells(line, "limit")) {
    const json& limit = fields.object(line, "limit");
    meanwhile.limit_bytes = fields.whole(limit, "bytes");
    meanwhile.limit_of = fields.text(limit, "cgroup");
    meanwhile.charged_bytes = fields.whole(limit, "charged_bytes");
  }
  if (Fields::tells(line, "cgroup")) {
    const json& cgroup = fields.object(line, "cgroup");
    CgroupMemory memory;
    meanwhile.cgroup = fields.text(cgroup, "path");
    memory.charged = fields.whole(cgroup, "charged_bytes");
    memory.inactive_file =
        memory.charged - std::min(memory.charged, fields.whole(cgroup, "working_set_bytes"));
    memory.cache = fields.whole(cgroup, "cache_bytes");
    memory.mapped_cache =
        memory.cache - std::min(memory.cache, fields.whole(cgroup, "unmapped_cache_bytes"));
    if (Fields::tells(cgroup, "own_bytes")) memory.own = fields.whole(cgroup, "own_bytes");
    meanwhile.memory = memory;
  }
  if (!Fields::tells(line, "work")) return;
  const json& work = fields.object(line, "work");
  if (Fields::tells(work, "cpu_s")) meanwhile.work.ran_ns = fields.nanoseconds(work, "cpu_s");
  if (Fields::tells(work, "minor_faults"))
    meanwhile.work.minor_faults = fields.whole(work, "minor_faults");
}

}  // namespace

MeasurementHead readHead(Fields& fields, const json& line) {
  MeasurementHead head;
  head.pid = static_cast<int64_t>(fields.whole(line, "pid"));
  for (auto [name, to] : {std::pair{"process", &head.process},
                          {"backend", &head.backend},
                          {"how", &head.how},
                          {"why", &head.why},
                          {"cgroup", &head.cgroup},
                          {"course", &head.course}})
    *to = fields.text(line, name);
  constexpr size_t kMaxLimits = 100;
  for (const json& limit : fields.list(line, "limits", kMaxLimits)) {
    if (limit.is_string() && limit.get_ref<const std::string&>().size() <= Fields::kMaxText)
      head.limits.push_back(limit.get<std::string>());
    else
      fields.wrong("one of \"limits\" is not text, or too long");
  }
  constexpr std::array<std::string_view, 5> kCourses{"single", "cumulative", "snapshots", "profile",
                                                     "rolling"};
  if (std::ranges::find(kCourses, head.course) == kCourses.end())
    fields.wrong("this version does not know this \"course\"");
  head.window_s = fields.number(line, "window_s", Fields::kMaxSeconds);
  head.is_sampled = fields.flag(line, "is_sampled");
  head.knows_sharing = fields.flag(line, "knows_sharing");
  // The first versions had neither.
  if (Fields::tells(line, "tells_writes")) head.tells_writes = fields.flag(line, "tells_writes");
  if (Fields::tells(line, "pressure_cgroup"))
    head.pressure_cgroup = fields.text(line, "pressure_cgroup");
  const json& machine = fields.object(line, "machine");
  constexpr double kMaxEntries = 1e6;
  head.machine = {
      .l2_bytes = fields.whole(machine, "l2_bytes"),
      .l3_bytes = fields.whole(machine, "l3_bytes"),
      .l3_processors = static_cast<uint32_t>(fields.whole(machine, "l3_processors", kMaxEntries)),
      .tlb_entries = fields.whole(machine, "tlb_entries", kMaxEntries),
      .huge_tlb_entries = fields.whole(machine, "huge_tlb_entries", kMaxEntries),
      .limit_bytes = fields.whole(machine, "limit_bytes"),
      .limit_of = fields.text(machine, "limit_of"),
      .memory_bytes = fields.whole(machine, "memory_bytes")};
  return head;
}

MappingSums RowReader::readSums(Fields& fields, const json& of) {
  const json& bytes = fields.object(of, "bytes");
  MappingSums sums;
  for (size_t i = 0; i < kSums.size(); ++i) {
    const auto& [name, sum] = kSums[i];
    const char* written = sumName(name, sum, measurement_.head.tells_writes);
    // Without these two there is no working set. Other sums may be missing in older files, and are
    // then unknown, not 0.
    bool is_needed = sum == &MappingSums::rss || sum == &MappingSums::referenced;
    if (is_needed || Fields::tells(bytes, written))
      sums.*sum = fields.whole(bytes, written);
    else
      measurement_.missing[i] = true;
  }
  return sums;
}

Row RowReader::readRow(Fields& fields, const json& line) {
  Row row;
  row.window = readWindow(fields, line);
  row.slept_ns = fields.nanoseconds(line, "slept_s");
  row.taken_ns = fields.nanoseconds(line, "taken_s");
  row.estimate_ns = fields.nanoseconds(line, "estimate_s");
  row.sums = readSums(fields, line);
  const json& cost = fields.object(line, "cost");
  row.cost = {fields.nanoseconds(cost, "cpu_s"), fields.nanoseconds(cost, "stall_s")};
  if (Fields::tells(cost, "stopped_s")) row.cost.stopped_ns = fields.nanoseconds(cost, "stopped_s");
  row.clear = {0, fields.nanoseconds(cost, "clear_s")};
  row.read = {0, fields.nanoseconds(cost, "read_s")};
  const json& error = fields.object(line, "error");
  std::string method = fields.text(error, "method");
  if (method != "regions" && method != "sample" && method != "exact")
    fields.wrong("this version does not know this \"method\"");
  row.knows_error = method != "regions";
  if (method == "sample")
    row.error_bytes = fields.number(error, "referenced_ci95", Fields::kMaxWhole);
  row.unread_bytes = fields.whole(error, "unread_bytes");
  if (Fields::tells(error, "unmapped_marks_bytes"))
    row.unmapped_bytes = fields.whole(error, "unmapped_marks_bytes");
  return row;
}

// They are written in the order of the list; here they are sorted by address.
void RowReader::readMappings(Fields& fields, const json& line, Row& row) {
  std::vector<std::pair<MappingUse, Window>> all;
  for (const json& group : fields.list(line, "groups", kMaxMappings)) {
    if (!group.is_object()) return fields.wrong("a group is not an object");
    MappingUse use;
    use.mapping.path = fields.text(group, "name");
    use.mapping.kind = readKind(fields, group);
    if (use.mapping.kind != MappingKind::kKernel || !liesAboveUserSpace(group)) {
      use.mapping.start = readAddress(fields, group, "start");
      use.mapping.end = readAddress(fields, group, "end");
      if (use.mapping.end < use.mapping.start) fields.wrong("a mapping ends before it begins");
    }
    use.sums = readSums(fields, group);
    all.emplace_back(std::move(use), readWindow(fields, group));
    if (fields.firstWrong()) return;
  }
  std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first.mapping.start; });
  for (auto& [use, window] : all) {
    row.uses.push_back(std::move(use));
    row.windows.push_back(window);
  }
}

// The end of a row, since the beginning of the first; never before the previous one. If the clock
// was set back, the duration comes from the row itself.
double RowReader::timeOf(double unix_s, const Row& row) {
  const auto& samples = measurement_.samples;
  if (samples.empty()) began_s_ = unix_s - seconds(row.window.mean_ns);
  double before_s = samples.empty() ? 0 : samples.back().time_s;
  if (unix_s - began_s_ >= before_s) return unix_s - began_s_;
  const std::string& course = measurement_.head.course;
  bool is_since_first = course == "cumulative" || course == "profile";
  int64_t taken_ns = row.taken_ns - (is_since_first ? samples.back().row.taken_ns : 0);
  measurement_.is_clock_set_back = true;
  double time_s = before_s + seconds(std::max<int64_t>(taken_ns, 0));
  began_s_ = unix_s - time_s;
  return time_s;
}

// Keeps those of the last row that has some.
void RowReader::keepMappings(Fields& fields, const json& line, Measurement::Sample& sample) {
  auto& samples = measurement_.samples;
  if (Fields::tells(line, "groups") || samples.empty()) {
    mappings_time_s_ = sample.time_s;
    measurement_.mappings_age_s = 0;
    measurement_.mappings_left_out =
        Fields::tells(line, "mappings_left_out") ? fields.whole(line, "mappings_left_out") : 0;
    if (!samples.empty()) samples.back().row.uses = {}, samples.back().row.windows = {};
    return;
  }
  measurement_.mappings_age_s = sample.time_s - mappings_time_s_;
  sample.row.uses = std::exchange(samples.back().row.uses, {});
  sample.row.windows = std::exchange(samples.back().row.windows, {});
}

void RowReader::add(Fields& fields, const json& line) {
  if (Fields::tells(line, "tidegauge_wss"))
    return fields.wrong("another measurement begins here, and each measurement needs its own file");
  Measurement::Sample sample;
  sample.row = readRow(fields, line);
  double unix_s = fields.number(line, "time", kMaxTime);
  if (fields.firstWrong()) return;
  sample.time_s = timeOf(unix_s, sample.row);
  sample.shortage = readShortage(fields, line);
  readMeanwhile(fields, line, sample.shortage, sample.row);
  readMappings(fields, line, sample.row);
  sample.row.of_others_bytes = Fields::tells(line, "of_others_bytes")
                                   ? fields.whole(line, "of_others_bytes")
                                   : maybeOfOthers(sample.row);
  auto& samples = measurement_.samples;
  if (measurement_.head.course == "rolling") {
    const json& rolling = fields.object(line, "rolling");
    sample.rolling = readRolling(fields, rolling, measurement_.head.window_s);
    std::vector<HeatMap::Cell> cells = readCells(fields, rolling);
    double before_s = samples.empty() ? 0 : samples.back().time_s;
    double begin_s = std::max(before_s, sample.time_s - seconds(sample.row.window.mean_ns));
    if (!fields.firstWrong()) measurement_.heat.addCells(begin_s, sample.time_s, cells);
  }
  if (fields.firstWrong()) return;
  keepMappings(fields, line, sample);
  if (fields.firstWrong()) return;
  samples.push_back(std::move(sample));
}

}  // namespace tidegauge::wss
