#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "wss/measurement.h"
#include "wss/pressure.h"
#include "wss/row_json.h"

namespace tidegauge::wss {
namespace {

using nlohmann::json;

constexpr std::string_view kBeginning = R"({"tidegauge_wss":)";
constexpr size_t kMostText = 4096, kMostMappings = 1'000'000;
constexpr double kMostBytes =
    9007199254740992.0;  // 2^53: exact in JSON, and no sum of them overflows
constexpr double kMostSeconds = 1e9, kMostTime = 1e11;

// Fields of one line. The first that is not as it should be is remembered; what is asked for after it is 0.
class Fields {
 public:
  double number(const json& of, const char* name, double most) {
    const json* value = find(of, name);
    if (value == nullptr || !value->is_number())
      return wrong(fmt::format("\"{}\" is no number", name)), 0;
    auto number = value->get<double>();
    if (!(number >= 0 && number <= most))
      return wrong(fmt::format("\"{}\" is not from 0 to {:g}", name, most)), 0;
    return number;
  }
  uint64_t whole(const json& of, const char* name, double most = kMostBytes) {
    return static_cast<uint64_t>(number(of, name, most));
  }
  // null, of what the back-end does not know: 0.
  uint64_t wholeOrNull(const json& of, const char* name) {
    const json* value = find(of, name);
    return value != nullptr && value->is_null() ? 0 : whole(of, name);
  }
  int64_t nanoseconds(const json& of, const char* name) {
    return std::llround(number(of, name, kMostSeconds) * 1e9);
  }
  std::string text(const json& of, const char* name) {
    const json* value = find(of, name);
    if (value == nullptr || !value->is_string() ||
        value->get_ref<const std::string&>().size() > kMostText)
      return wrong(fmt::format("\"{}\" is no text, or longer than {} bytes", name, kMostText)), "";
    return value->get<std::string>();
  }
  bool flag(const json& of, const char* name) {
    const json* value = find(of, name);
    if (value == nullptr || !value->is_boolean())
      return wrong(fmt::format("\"{}\" is neither true nor false", name)), false;
    return value->get<bool>();
  }
  const json& object(const json& of, const char* name) {
    const json* value = find(of, name);
    if (value != nullptr && value->is_object()) return *value;
    wrong(fmt::format("\"{}\" is no object", name));
    return empty_;
  }
  // Absent: an empty one.
  const json& list(const json& of, const char* name, size_t most) {
    const json* value = find(of, name);
    if (value == nullptr) return empty_list_;
    if (value->is_array() && value->size() <= most) return *value;
    wrong(fmt::format("\"{}\" is no list, or has more than {} members", name, most));
    return empty_list_;
  }
  void wrong(std::string what) {
    if (!wrong_) wrong_ = std::move(what);
  }
  const std::optional<std::string>& firstWrong() const { return wrong_; }

 private:
  static const json* find(const json& of, const char* name) {
    if (!of.is_object()) return nullptr;
    auto found = of.find(name);
    return found == of.end() ? nullptr : &*found;
  }
  json empty_ = json::object(), empty_list_ = json::array();
  std::optional<std::string> wrong_;
};

MeasurementHead readHead(Fields& fields, const json& line) {
  MeasurementHead head;
  double version = fields.number(line, "tidegauge_wss", 1e9);
  if (version > 1) fields.wrong("this version does not know it: a newer tidegauge wrote it");
  if (version != 1) fields.wrong(fmt::format("there is no version {:g} of it", version));
  head.pid = static_cast<int64_t>(fields.whole(line, "pid"));
  for (auto [name, to] : {std::pair{"process", &head.process},
                          {"backend", &head.backend},
                          {"how", &head.how},
                          {"why", &head.why},
                          {"cgroup", &head.cgroup},
                          {"pressure_of", &head.pressure_of},
                          {"course", &head.course}})
    *to = fields.text(line, name);
  constexpr size_t kMostLimits = 100;
  for (const json& limit : fields.list(line, "limits", kMostLimits)) {
    if (limit.is_string() && limit.get_ref<const std::string&>().size() <= kMostText)
      head.limits.push_back(limit.get<std::string>());
  }
  constexpr std::array<std::string_view, 5> kCourses{"single", "cumulative", "snapshots", "profile",
                                                     "rolling"};
  if (std::ranges::find(kCourses, head.course) == kCourses.end())
    fields.wrong("\"course\" is none that this version knows");
  head.window_s = fields.number(line, "window_s", kMostSeconds);
  head.is_sampled = fields.flag(line, "is_sampled");
  head.knows_sharing = fields.flag(line, "knows_sharing");
  head.tells_writes = fields.flag(line, "tells_writes");
  const json& machine = fields.object(line, "machine");
  constexpr double kMostEntries = 1e6;
  head.machine = {
      .l2_bytes = fields.whole(machine, "l2_bytes"),
      .l3_bytes = fields.whole(machine, "l3_bytes"),
      .l3_processors = static_cast<uint32_t>(fields.whole(machine, "l3_processors", kMostEntries)),
      .tlb_entries = fields.whole(machine, "tlb_entries", kMostEntries),
      .huge_tlb_entries = fields.whole(machine, "huge_tlb_entries", kMostEntries),
      .limit_bytes = fields.whole(machine, "limit_bytes"),
      .limit_of = fields.text(machine, "limit_of"),
      .memory_bytes = fields.whole(machine, "memory_bytes")};
  return head;
}

Window readWindow(Fields& fields, const json& of) {
  const json& window = fields.object(of, "window_s");
  return {fields.nanoseconds(window, "least"), fields.nanoseconds(window, "mean"),
          fields.nanoseconds(window, "most")};
}

MappingSums readSums(Fields& fields, const json& of, bool tells_writes) {
  const json& bytes = fields.object(of, "bytes");
  MappingSums sums;
  for (const auto& [name, sum] : kSums)
    sums.*sum = fields.wholeOrNull(bytes, sumName(name, sum, tells_writes));
  return sums;
}

MappingKind readKind(Fields& fields, const json& of) {
  std::string text = fields.text(of, "kind");
  for (auto kind = MappingKind::kHeap; kind <= MappingKind::kPinned;
       kind = static_cast<MappingKind>(static_cast<int>(kind) + 1))
    if (name(kind) == text) return kind;
  fields.wrong("\"kind\" is none that this version knows");
  return MappingKind::kAnonymous;
}

// An address; user space ends below 2^57, and [vsyscall] lies above it: as if it had none.
uint64_t readAddress(Fields& fields, const json& of, const char* name, MappingKind kind) {
  constexpr double kMostAddress = 144115188075855872.0;
  const auto found = of.find(name);
  if (found != of.end() && found->is_number_unsigned() &&
      found->get<uint64_t>() <= static_cast<uint64_t>(kMostAddress))
    return found->get<uint64_t>();
  if (found == of.end() || kind == MappingKind::kKernel) return 0;
  return fields.wrong(fmt::format("\"{}\" is no address", name)), 0;
}

// They are written as they are listed; here they are in the order of addresses.
void readMappings(Fields& fields, const json& line, bool tells_writes, Row& row) {
  std::vector<std::pair<MappingUse, Window>> all;
  for (const json& group : fields.list(line, "groups", kMostMappings)) {
    if (!group.is_object()) return fields.wrong("a group is no object");
    MappingUse use;
    use.mapping.path = fields.text(group, "name");
    use.mapping.kind = readKind(fields, group);
    use.mapping.start = readAddress(fields, group, "start", use.mapping.kind);
    use.mapping.end = readAddress(fields, group, "end", use.mapping.kind);
    if (use.mapping.end < use.mapping.start) fields.wrong("a mapping ends before it begins");
    use.sums = readSums(fields, group, tells_writes);
    all.emplace_back(std::move(use), readWindow(fields, group));
    if (fields.firstWrong()) return;
  }
  std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first.mapping.start; });
  for (auto& [use, window] : all) {
    row.uses.push_back(std::move(use));
    row.windows.push_back(window);
  }
}

Rolling readRolling(Fields& fields, const json& of) {
  Rolling rolling;
  rolling.never = fields.whole(of, "never_bytes");
  rolling.first = fields.whole(of, "first_bytes");
  for (const json& one : fields.list(of, "within", Rolling::kBins))
    rolling.within.push_back(
        {static_cast<uint32_t>(fields.whole(one, "windows", 1e6)), fields.whole(one, "bytes")});
  size_t bin = 0;
  for (const json& one : fields.list(of, "again", Rolling::kBins))
    rolling.again.at(bin++) = fields.whole(one, "bytes");
  return rolling;
}

std::vector<HeatMap::Cell> readCells(Fields& fields, const json& of) {
  constexpr uint64_t kMostAddress = uint64_t{1} << 57, kCellBytes = 64 << 10, kPagesOfCell = 16;
  std::vector<HeatMap::Cell> cells;
  for (const json& one : fields.list(of, "cells", kMostLineBytes / 8)) {
    bool fits = one.is_array() && one.size() == 3 &&
                std::ranges::all_of(one, [](const json& v) { return v.is_number_unsigned(); });
    if (!fits) return fields.wrong("a cell is not [address, pages, touched pages]"), cells;
    auto address = one[0].get<uint64_t>(), there = one[1].get<uint64_t>(),
         touched = one[2].get<uint64_t>();
    bool in_order = cells.empty() || address > cells.back().address;
    if (address >= kMostAddress || address % kCellBytes != 0 || there == 0 ||
        there > kPagesOfCell || touched > there || !in_order)
      return fields.wrong("a cell is out of order, or cannot be"), cells;
    cells.push_back({address, static_cast<uint32_t>(there), static_cast<uint32_t>(touched)});
  }
  return cells;
}

Row readRow(Fields& fields, const json& line, bool tells_writes) {
  Row row;
  row.window = readWindow(fields, line);
  row.slept_ns = fields.nanoseconds(line, "slept_s");
  row.taken_ns = fields.nanoseconds(line, "taken_s");
  row.estimate_ns = fields.nanoseconds(line, "estimate_s");
  row.sums = readSums(fields, line, tells_writes);
  const json& cost = fields.object(line, "cost");
  row.cost = {fields.nanoseconds(cost, "cpu_s"), fields.nanoseconds(cost, "stall_s")};
  row.clear = {0, fields.nanoseconds(cost, "clear_s")};
  row.read = {0, fields.nanoseconds(cost, "read_s")};
  const json& error = fields.object(line, "error");
  std::string method = fields.text(error, "method");
  row.knows_error = method != "regions";
  if (method == "sample") row.error_bytes = fields.number(error, "referenced_ci95", kMostBytes);
  row.unread_bytes = fields.whole(error, "unread_bytes");
  row.unmapped_bytes = fields.whole(error, "unmapped_marks_bytes");
  return row;
}

// What was searched for room in the window, if memory was short.
uint64_t readSearched(Fields& fields, const json& line) {
  if (!line.contains("pressure")) return 0;  // nobody looked
  const json& pressure = fields.object(line, "pressure");
  bool is_short = fields.text(pressure, "shortage") != nameOf(Shortage::kNone);
  uint64_t searched = fields.whole(fields.object(pressure, "bytes"), "scanned");
  return is_short ? searched : 0;
}

class Reader {
 public:
  // What is wrong with the line; nothing: it was taken.
  std::optional<std::string> line(const std::string& text) {
    // No line of ours is deeper; deeper parts are passed over, so that they take no memory.
    constexpr int kDeepest = 6;
    json line = json::parse(
        text, [](int depth, json::parse_event_t, json&) { return depth <= kDeepest; }, false);
    if (!line.is_object()) return "it is no JSON object";
    Fields fields;
    if (!has_head_) {
      measurement_.head = readHead(fields, line);
      has_head_ = true;
      return fields.firstWrong();
    }
    add(fields, line);
    return fields.firstWrong();
  }
  bool hasHead() const { return has_head_; }
  Measurement take() { return std::move(measurement_); }
  size_t samples() const { return measurement_.samples.size(); }

 private:
  void add(Fields& fields, const json& line) {
    Measurement::Sample sample;
    bool tells_writes = measurement_.head.tells_writes;
    sample.row = readRow(fields, line, tells_writes);
    sample.searched_bytes = readSearched(fields, line);
    double unix_s = fields.number(line, "time", kMostTime);
    auto& samples = measurement_.samples;
    double mean_s = static_cast<double>(sample.row.window.mean_ns) * 1e-9;
    if (samples.empty()) began_s_ = unix_s - mean_s;
    // Somebody set the clock back: as if it had gone on by the window.
    double before_s = samples.empty() ? 0 : samples.back().time_s;
    if (unix_s - began_s_ < before_s) began_s_ = unix_s - before_s - mean_s;
    sample.time_s = unix_s - began_s_;
    readMappings(fields, line, tells_writes, sample.row);
    if (measurement_.head.course == "rolling") {
      const json& rolling = fields.object(line, "rolling");
      sample.rolling = readRolling(fields, rolling);
      std::vector<HeatMap::Cell> cells = readCells(fields, rolling);
      if (!fields.firstWrong())
        measurement_.heat.addCells(std::max(sample.time_s - mean_s, before_s), sample.time_s,
                                   cells);
    }
    if (fields.firstWrong()) return;
    if (!samples.empty()) samples.back().row.uses = {}, samples.back().row.windows = {};
    samples.push_back(std::move(sample));
  }

  Measurement measurement_;
  bool has_head_ = false;
  double began_s_ = 0;
};

base::Error unreadable(size_t number, const std::string& what) {
  return {base::ErrorKind::kUnreadable,
          fmt::format("line {}: {}", number, what),
          {},
          "Measure again with tidegauge wss -o FILE"};
}

// The next line, without its end; false: there is none. `ended`: it had one.
bool nextLine(std::istream& in, std::string& line, bool& ended, bool& too_long) {
  line.clear();
  ended = too_long = false;
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') return ended = true;
    if (line.size() == kMostLineBytes) return too_long = true;
    line.push_back(static_cast<char>(c));
  }
  return !line.empty();
}

}  // namespace

bool isMeasurement(std::string_view beginning) { return beginning.starts_with(kBeginning); }

base::Result<Measurement> readMeasurement(std::istream& in) {
  Reader reader;
  std::string line;
  bool ended = false, too_long = false, is_cut = false;
  for (size_t number = 1; nextLine(in, line, ended, too_long); ++number) {
    if (too_long) return unreadable(number, fmt::format("longer than {} bytes", kMostLineBytes));
    if (number == 1 && !isMeasurement(line))
      return unreadable(1, "no head of a measurement of tidegauge wss");
    if (reader.samples() == kMostSamples)
      return base::Error{base::ErrorKind::kLimit,
                         fmt::format("it has more than {} windows", kMostSamples),
                         {},
                         "Split it: each part wants the first line before it"};
    // Of a measurement that goes on, or was killed.
    if (!ended && number > 1 && !json::accept(line)) {
      is_cut = true;
      break;
    }
    if (auto wrong = reader.line(line)) return unreadable(number, *wrong);
  }
  if (!reader.hasHead()) return unreadable(1, "there is none");
  Measurement measurement = reader.take();
  measurement.is_cut = is_cut;
  return measurement;
}

bool isMeasurementFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // one may wait for ever
  std::ifstream in(path, std::ios::binary);
  std::string beginning(kBeginning.size(), '\0');
  return in.read(beginning.data(), static_cast<std::streamsize>(beginning.size())) &&
         isMeasurement(beginning);
}

base::Result<Measurement> readMeasurementFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return base::Error{base::ErrorKind::kUnreadable,
                       "it cannot be opened",
                       {},
                       "Is the path right, and may this user read it?"};
  return readMeasurement(in);
}

}  // namespace tidegauge::wss
