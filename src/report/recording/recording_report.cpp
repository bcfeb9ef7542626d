#include "report/recording/recording_report.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>

#include "base/format.h"
#include "base/sizes.h"
#include "base/text_layout.h"
#include "model/call_words.h"
#include "model/incomplete.h"
#include "model/ledger/ledger.h"
#include "model/recorded_work.h"
#include "report/recording/signal_name.h"
#include "report/recording/unrecorded_report.h"
#include "report/words/holder_names.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using base::counted;
using base::humanBytes;
using base::withCommas;
using model::ownRow;
using model::RecordedWork;
using nlohmann::json;

constexpr size_t kMaxCommand = 200;  // columns
constexpr size_t kMaxJsonRows = 50;

json orNull(int64_t value) { return value == model::kNotRecorded ? json() : json(value); }

// "watched for 60.0 s, from 2026-11-22 15:03:12 UTC on, when it was already running"
std::string watchedText(const model::RecordedProcesses& p, size_t row) {
  bool ran_before = p.ran_before[row] != 0;
  std::string words = ran_before ? "watched" : "seen";
  if (p.watched_to_ns[row] != model::kNotRecorded) {
    double seconds = std::max(0.0, (static_cast<double>(p.watched_to_ns[row]) -
                                    static_cast<double>(p.watched_from_ns[row])) /
                                       1e9);
    words += fmt::format(" for {:.{}f} s,", seconds, seconds < 10 ? 3 : 1);
  }
  words += " from " + base::utcTime(p.watched_from_ns[row]);
  return words + (ran_before ? " on, when it was already running" : "");
}

std::string howItEnded(const RecordedWork& work, size_t row) {
  const model::RecordedProcesses& p = work.run->processes;
  if (p.ended_ns[row] == model::kNotRecorded) {
    return work.run->ended_ns ? "it ran on when the recording ended" : "it was still running";
  }
  if (work.run->strings.text(p.end_reason[row]) == "exec")
    return "it became another program (exec)";
  if (p.exit_status[row] == model::kNotRecorded) return "it ended; how is not recorded";
  return endingText(p.exit_status[row]);
}

Section processSection(const RecordedWork& work, size_t row) {
  const model::RecordedProcesses& p = work.run->processes;
  const base::StringPool& strings = work.run->strings;
  std::string name(strings.text(p.name[row])), command(strings.text(p.command[row]));
  Section section{
      .key = "process", .title = fmt::format("Process {} {}", p.pid[row], name), .json = {}};
  std::string sql =
      "SELECT *, (watched_to_ns - watched_from_ns) / 1e9 AS seconds, datetime(watched_from_ns / "
      "1000000000, 'unixepoch') AS watched_from, exit_status >> 8 AS code, exit_status & 127 AS "
      "signal FROM processes WHERE is_this";
  Sentence sentence{{}, sqlLink(sql), sql};
  std::string words;
  if (p.parent_pid[row] != model::kNotRecorded)
    words += fmt::format("started by {}; ", p.parent_pid[row]);
  words += watchedText(p, row) + "; ";
  words += howItEnded(work, row) + ".";
  if (command.empty()) {
    // each of them begins with a lower-case letter
    words[0] = static_cast<char>(words[0] - 'a' + 'A');
  } else {
    sentence.parts = {code(base::cutMiddle(base::printable(command), kMaxCommand)), plain(": ")};
  }
  sentence.parts.push_back(plain(words));
  section.sentences.push_back(std::move(sentence));
  section.json = {
      {"pid", p.pid[row]},
      {"parent_pid", orNull(p.parent_pid[row])},
      {"name", clean(name)},
      {"command", p.command[row].valid() ? json(clean(command)) : json()},
      {"began_ns", p.began_ns[row]},
      {"ended_ns", orNull(p.ended_ns[row])},
      {"watched_from_ns", p.watched_from_ns[row]},
      {"watched_to_ns", orNull(p.watched_to_ns[row])},
      {"ran_before", p.ran_before[row] != 0},
      {"exit_status", orNull(p.exit_status[row])},
      {"end_reason",
       p.end_reason[row].valid() ? json(clean(strings.text(p.end_reason[row]))) : json()},
      {"ending", howItEnded(work, row)},
      {"sql", sql}};
  return section;
}

// The driver's own figure, and the part that no call shows.
void addDriversFigure(const AnalysedTrace& analysed, size_t row, Section& section) {
  const RecordedWork& work = *analysed.trace.work;
  section.json["drivers_figure"] = nullptr;
  if (!work.drivers_figure) return;
  const model::DriversFigure& it = *work.drivers_figure;
  bool is_more = it.used_bytes >= it.recorded_bytes && !it.has_managed;
  std::string words = fmt::format(
      " at most, {:.1f} s after it was first seen; at that time, recorded calls had allocated {}",
      (static_cast<double>(it.time_ns) - static_cast<double>(work.run->processes.began_ns[row])) /
          1e9,
      base::sizeOrZero(it.recorded_bytes));
  Sentence sentence{{plain("The driver says that it used "), strong(humanBytes(it.used_bytes)),
                     plain(std::move(words))},
                    {},
                    {}};
  if (is_more) {
    sentence.parts.push_back(plain(", and "));
    sentence.parts.push_back(strong(base::sizeOrZero(it.used_bytes - it.recorded_bytes)));
    sentence.parts.push_back(
        plain(work.at_least.empty()
                  ? " are its contexts, modules and memory without a recorded call."
                  : " are its contexts, modules, and memory from before the recording."));
  } else {
    sentence.parts.push_back(plain(it.has_managed
                                       ? ", managed memory with them, which may lie elsewhere."
                                       : ". The two were not read at the same moment."));
  }
  section.sentences.push_back(std::move(sentence));
  section.json["drivers_figure"] = {
      {"time_ns", it.time_ns},
      {"used_bytes", it.used_bytes},
      {"recorded_bytes", it.recorded_bytes},
      {"untracked_bytes", is_more ? json(it.used_bytes - it.recorded_bytes) : json()}};
}

// ---- unfreed memory ----------------------------------------------------------------------------

struct HeldSums {
  uint64_t device_bytes = 0, device_count = 0, host_bytes = 0, host_count = 0;
  uint64_t block_bytes = 0, block_count = 0;
};

HeldSums sumsOf(const model::RecordedHoldings& held) {
  HeldSums sums;
  for (size_t i = 0; i < held.size(); ++i) {
    bool is_block = held.kind[i] == model::MemoryKind::kBlock;
    bool is_host = model::isHostMemory(held.kind[i]);
    (is_block ? sums.block_bytes : is_host ? sums.host_bytes : sums.device_bytes) += held.bytes[i];
    (is_block ? sums.block_count : is_host ? sums.host_count : sums.device_count) += held.count[i];
  }
  return sums;
}

Section heldSection(const AnalysedTrace& analysed, size_t rows, std::optional<size_t> process) {
  const RecordedWork& work = *analysed.trace.work;
  const model::RecordedHoldings& held = work.held;
  bool ended = process && work.run->processes.ended_ns[*process] != model::kNotRecorded;
  Section section{.key = "held_at_end",
                  .title = ended ? "Not freed when it ended" : "Held at the end",
                  .json = {}};
  HeldSums sums = sumsOf(held);
  constexpr std::string_view kSum =
      "coalesce(sum({0}) FILTER (WHERE memory = '{1}'), 0) AS {2}_{0}";
  std::string columns;
  for (auto [memory, key] :
       {std::pair{"device", "device"}, {"host", "host"}, {"framework", "block"}}) {
    for (const char* what : {"bytes", "count"}) {
      columns += columns.empty() ? "" : ", ";
      columns += fmt::format(fmt::runtime(kSum), what, memory, key);
    }
  }
  std::string sql = fmt::format("SELECT {} FROM held_at_end", columns);
  std::string text_sql =
      "SELECT memory, sum(bytes) AS bytes, sum(count) AS count FROM held_at_end GROUP BY memory";
  bool blocks = sums.block_count > 0;
  std::string list_sql =
      "SELECT device, kind, bytes, count, stack_id, label, oldest_ns "
      "FROM held_at_end ORDER BY bytes DESC, kind, stack_id, device";
  if (!analysed.trace.events.action.empty()) {
    Sentence sentence{{}, sqlLink(text_sql), text_sql};
    auto part = [&](uint64_t bytes, uint64_t count, const char* of) {
      sentence.parts.insert(sentence.parts.end(),
                            {strong(humanBytes(bytes)),
                             plain(fmt::format(" of {} in {}", of, counted(count, "allocation")))});
    };
    // Then a framework's blocks may be in memory whose allocation nobody saw.
    model::Incomplete incomplete = model::incompleteOf(work);
    constexpr model::FigureSet kMemory = {model::Figures::kMemory};
    bool is_whole = work.at_least.empty() && !incomplete.touches(kMemory);
    // If a free may have been missed, less may be held, too: then the heading says so.
    bool has_older = !is_whole && (!incomplete.touches(kMemory) || incomplete.isAtLeast(kMemory));
    if (sums.device_count + sums.host_count == 0) {
      const char* none = is_whole ? "Nothing is held." : "No recorded memory is held.";
      const char* all = is_whole ? "It freed everything." : "It freed all recorded memory.";
      sentence.parts.push_back(plain(ended ? all : none));
    } else {
      if (has_older) sentence.parts.push_back(plain("At least "));
      if (sums.device_count > 0) part(sums.device_bytes, sums.device_count, "device memory");
      if (sums.host_count > 0) {
        if (sums.device_count > 0) sentence.parts.push_back(plain(", "));
        part(sums.host_bytes, sums.host_count, "host memory");
      }
      if (blocks) {
        sentence.parts.insert(
            sentence.parts.end(),
            {plain(is_whole    ? "; inside it "
                   : has_older ? "; in it and in older memory "
                               : "; in it and in memory that was not seen "),
             strong(humanBytes(sums.block_bytes)),
             plain(fmt::format(" in {} of the framework", base::blocks(sums.block_count)))});
      }
      sentence.parts.push_back(plain("."));
    }
    section.sentences.push_back(std::move(sentence));
  }
  Grid grid{.heads = {"bytes", "allocations", "kind", "requested by"},
            .sql = list_sql,
            .link = sqlLink(list_sql)};
  std::vector<size_t> order(held.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto key = [&](size_t i) {  // the order of the SQL: unknown first
    int64_t stack = held.stack[i].valid() ? int64_t{held.stack[i].value} : -1;
    return std::tuple(model::name(held.kind[i]), stack, std::max(held.device[i], -1));
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return held.bytes[a] != held.bytes[b] ? held.bytes[a] > held.bytes[b] : key(a) < key(b);
  });
  std::vector<analysis::StackGroup> groups;
  for (size_t i : order) {
    if (groups.size() == rows) break;
    groups.push_back({.stack = held.stack[i]});
  }
  std::vector<HolderName> names = holderNames(analysed, groups, rows);
  json list = json::array();
  for (size_t i : order) {
    if (grid.rows.size() < rows) {
      grid.rows.push_back({humanBytes(held.bytes[i]), withCommas(held.count[i]),
                           std::string(model::name(held.kind[i])),
                           oneName(names[grid.rows.size()])});
    } else {
      ++grid.more;
    }
    if (list.size() == kMaxJsonRows) continue;
    list.push_back({{"device", held.device[i] < 0 ? json() : json(held.device[i])},
                    {"kind", model::name(held.kind[i])},
                    {"bytes", held.bytes[i]},
                    {"count", held.count[i]},
                    {"stack_id", held.stack[i].valid() ? json(held.stack[i].value) : json()},
                    {"label", clean(analysed.labels.label(held.stack[i]))},
                    {"caller", clean(analysed.names.caller(held.stack[i]))},
                    {"oldest_ns", held.oldest_ns[i]}});
  }
  if (!grid.rows.empty()) section.grid = std::move(grid);
  section.json = {{"device_bytes", sums.device_bytes},
                  {"device_count", sums.device_count},
                  {"host_bytes", sums.host_bytes},
                  {"host_count", sums.host_count},
                  {"block_bytes", sums.block_bytes},
                  {"block_count", sums.block_count},
                  {"sql", sql},
                  {"rows", list},
                  {"rows_sql", list_sql + fmt::format(" LIMIT {}", kMaxJsonRows)}};
  return section;
}

// ---- what was refused ---------------------------------------------------------------------------

std::string codeText(int32_t code) {
  std::string_view words = model::codeWords(code);
  return words.empty() ? std::to_string(code) : fmt::format("{} {}", code, words);
}

// No machine has that much: probably −1 was passed as a size.
std::string askedText(uint64_t bytes) {
  return bytes > base::kMaxSizeBytes ? "more than 1,024 TiB" : humanBytes(bytes);
}

Section refusedSection(const AnalysedTrace& analysed, size_t rows) {
  const model::RecordedRefusals& r = analysed.trace.work->refused;
  struct Group {
    size_t first = 0;  // row
    uint64_t times = 0;
  };
  std::map<std::pair<std::string_view, int32_t>, Group> groups;
  uint64_t times = 0;
  auto earlier = [&](size_t a, size_t b) {
    return std::pair(r.first_ns[a], a) < std::pair(r.first_ns[b], b);
  };
  size_t first = 0;
  for (size_t i = 0; i < r.size(); ++i) {
    auto key = std::pair(analysed.trace.strings.text(r.function[i]), r.code[i]);
    Group& group = groups.try_emplace(key, Group{i, 0}).first->second;
    if (earlier(i, group.first)) group.first = i;
    if (earlier(i, first)) first = i;
    group.times += r.count[i];
    times += r.count[i];
  }
  std::vector<Group> order;
  order.reserve(groups.size());
  for (const auto& [key, group] : groups) order.push_back(group);
  std::sort(order.begin(), order.end(), [&](const Group& a, const Group& b) {
    return std::tuple(b.times, r.first_ns[a.first], a.first) <
           std::tuple(a.times, r.first_ns[b.first], b.first);
  });
  std::string sql =
      "SELECT coalesce(sum(count), 0) AS calls, function AS first_function, code AS first_code, "
      "size_bytes AS first_bytes, stack_id AS first_stack_id, label AS first_label, caller AS "
      "first_caller, min(time_ns) AS first_ns FROM refused";
  std::string list_sql =
      "SELECT function, code, meaning, sum(count) AS times, size_bytes AS first_bytes, stack_id AS "
      "first_stack_id, label AS first_label, caller AS first_caller, min(time_ns) AS first_ns FROM "
      "refused GROUP BY "
      "function, code ORDER BY times DESC, first_ns";
  Section section{.key = "refused", .title = "Refused", .json = {}};
  auto asked = [&](size_t i) { return analysed.labels.label(r.stack[i]); };
  auto caller = [&](size_t i) { return analysed.labels.caller(r.stack[i]); };
  auto stackJson = [&](size_t i) { return r.stack[i].valid() ? json(r.stack[i].value) : json(); };
  json list = json::array();
  Grid grid{.heads = {"times", "size of the first", "code", "function ‹ first requested by"},
            .sql = list_sql,
            .link = sqlLink(list_sql)};
  for (const Group& group : order) {
    size_t i = group.first;
    std::string_view function = analysed.trace.strings.text(r.function[i]);
    std::string size = r.size_bytes[i] == 0 ? "–" : askedText(r.size_bytes[i]);
    if (grid.rows.size() < rows) {
      grid.rows.push_back({withCommas(group.times), size, codeText(r.code[i]),
                           fmt::format("{} ‹ {}", function, oneName(analysed, r.stack[i]))});
    } else {
      ++grid.more;
    }
    if (list.size() == kMaxJsonRows) continue;
    std::string_view words = model::codeWords(r.code[i]);
    list.push_back({{"function", clean(function)},
                    {"code", r.code[i]},
                    {"meaning", words.empty() ? json() : json(words)},
                    {"times", group.times},
                    {"first_bytes", r.size_bytes[i]},
                    {"first_stack_id", stackJson(i)},
                    {"first_label", clean(asked(i))},
                    {"first_caller", clean(caller(i))},
                    {"first_ns", r.first_ns[i]}});
  }
  section.json = {{"calls", times},
                  {"first_function", json()},
                  {"first_code", json()},
                  {"first_bytes", json()},
                  {"first_stack_id", json()},
                  {"first_label", json()},
                  {"first_caller", json()},
                  {"first_ns", json()},
                  {"sql", sql},
                  {"rows", list},
                  {"rows_sql", list_sql + fmt::format(" LIMIT {}", kMaxJsonRows)}};
  if (times == 0) return section;
  std::string_view function = analysed.trace.strings.text(r.function[first]);
  std::string_view what = model::codeWords(r.code[first]);
  if (what.empty()) what = "an error";
  section.json["first_function"] = clean(function);
  section.json["first_code"] = r.code[first];
  section.json["first_bytes"] = r.size_bytes[first];
  section.json["first_stack_id"] = stackJson(first);
  section.json["first_label"] = clean(asked(first));
  section.json["first_caller"] = clean(caller(first));
  section.json["first_ns"] = r.first_ns[first];
  Sentence sentence{{strong(counted(times, "call")),
                     plain(times == 1 ? " was refused: " : " were refused; the first: "),
                     code(std::string(function))},
                    sqlLink(sql),
                    sql};
  if (r.size_bytes[first] > 0) {
    sentence.parts.insert(sentence.parts.end(),
                          {plain(" for "), strong(askedText(r.size_bytes[first]))});
  }
  sentence.parts.insert(sentence.parts.end(),
                        {plain(fmt::format(": {} ({}), requested by ", what, r.code[first])),
                         code(oneName(analysed, r.stack[first])), plain(".")});
  section.sentences.push_back(std::move(sentence));
  if (order.size() > 1) section.grid = std::move(grid);
  return section;
}

}  // namespace

std::string endingText(int64_t exit_status) {
  int status = static_cast<int>(exit_status & 0xffff);
  if (int signal = WTERMSIG(status); signal != 0) {
    std::string name = signalName(signal);
    return name.starts_with("SIG") ? fmt::format("it was killed by {} ({})", name, signal)
                                   : fmt::format("it was killed by {}", name);
  }
  int code = WEXITSTATUS(status);
  return code == 0 ? "it ended well, exit status 0"
                   : fmt::format("it ended with exit status {}", code);
}

std::string shortEnding(const AnalysedTrace& analysed) {
  if (!analysed.trace.work || !analysed.trace.work->run) return {};
  const model::RecordedProcesses& p = analysed.trace.work->run->processes;
  std::optional<size_t> row = ownRow(*analysed.trace.work);
  if (!row) return {};
  return endingInAWord(p.ended_ns[*row], p.exit_status[*row],
                       analysed.trace.work->run->strings.text(p.end_reason[*row]));
}

std::string endingInAWord(int64_t ended_ns, int64_t exit_status, std::string_view end_reason) {
  if (ended_ns == model::kNotRecorded) return "ran on";
  if (exit_status == model::kNotRecorded) return std::string(end_reason);
  int status = static_cast<int>(exit_status & 0xffff);
  if (int signal = WTERMSIG(status); signal != 0) return signalName(signal);
  return fmt::format("exit {}", WEXITSTATUS(status));
}

std::vector<Section> recordingSections(const AnalysedTrace& analysed, size_t rows) {
  std::vector<Section> sections;
  if (!analysed.trace.work || !analysed.trace.work->run) return sections;
  const RecordedWork& work = *analysed.trace.work;
  std::optional<size_t> process = ownRow(work);
  if (process) {
    sections.push_back(processSection(work, *process));
    addDriversFigure(analysed, *process, sections.back());
  }
  sections.push_back(heldSection(analysed, rows, process));
  sections.push_back(refusedSection(analysed, rows));
  sections.push_back(kernelsSection(work, std::min<size_t>(rows, 10)));
  sections.push_back(copiesSection(work));
  sections.push_back(deviceTimesSection(work, std::min<size_t>(rows, 10)));
  sections.push_back(deviceCopiesSection(work));
  for (Section& section : sections) section.json["sentences"] = evidenceJson(section.sentences);
  return sections;
}

json recordingJson(const AnalysedTrace& analysed) {
  if (!analysed.trace.work || !analysed.trace.work->run) return nullptr;
  json all = {{"process", nullptr}};
  for (Section& section : recordingSections(analysed, kMaxJsonRows)) {
    all[section.key] = std::move(section.json);
  }
  Section unrecorded = unrecordedSection(*analysed.trace.work->run, kMaxJsonRows);
  unrecorded.json["sentences"] = evidenceJson(unrecorded.sentences);
  all[unrecorded.key] = std::move(unrecorded.json);
  return all;
}

}  // namespace tidegauge::report
