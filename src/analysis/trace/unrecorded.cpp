#include "analysis/trace/unrecorded.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "model/incomplete.h"

namespace tidegauge::analysis {
namespace {

using model::kNotRecorded;

constexpr size_t kMaxPrograms = 100;
constexpr size_t kMaxReasons = 3;  // of a program

// By a part of the reason: library names come before it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kRemedies{{
    {"did not load the library of --preload",
     "Record it with eBPF (as root, without --preload), which needs no library."},
    {"runs with other rights",
     "Record it with eBPF (as root, without --preload), which needs no library."},
    {"it is stripped",
     "Keep the symbols of the program, or link CUDA's libraries dynamically (nvcc -cudart "
     "shared)."},
    {"cannot be probed", "Record it with --preload, which needs no probes."},
    {"cannot be read", "Record it as root, who may read the files of every process."},
}};

// Row of the program in `processes`: by its number, or the last with its pid that is in no trace.
std::optional<size_t> programOf(const model::RecordedRun& run, int64_t process_id, int64_t pid) {
  const model::RecordedProcesses& processes = run.processes;
  if (process_id != kNotRecorded) return model::rowOf(processes, process_id);
  for (size_t row = processes.size(); row-- > 0;)
    if (processes.pid[row] == pid && !run.hasTrace(processes.process_id[row])) return row;
  return std::nullopt;
}

}  // namespace

std::string_view remedyFor(std::string_view reason) {
  const auto* found = std::ranges::find_if(kRemedies, [&](const auto& remedy) {
    return reason.find(remedy.first) != std::string_view::npos;
  });
  return found == kRemedies.end() ? std::string_view() : found->second;
}

std::vector<UnrecordedProgram> unrecordedPrograms(const model::RecordedRun& run) {
  const model::RecordedUnwatched& rows = run.unwatched;
  auto text = [&](base::StringId id) { return std::string(run.strings.text(id)); };
  std::vector<UnrecordedProgram> programs;
  std::vector<std::vector<std::string>> reasons;  // of each
  for (size_t i = 0; i < rows.size(); ++i) {
    bool is_of_all = rows.process_id[i] == kNotRecorded && rows.pid[i] == kNotRecorded;
    model::Unwatched what;
    if (rows.begin_ns[i] != kNotRecorded) what.begin_ns = rows.begin_ns[i];
    if (rows.end_ns[i] != kNotRecorded) what.end_ns = rows.end_ns[i];
    what.library = text(rows.library[i]);
    what.function = text(rows.function[i]);
    what.reason = text(rows.reason[i]);
    bool has_trace = rows.process_id[i] != kNotRecorded && run.hasTrace(rows.process_id[i]);
    if (is_of_all || has_trace || model::isOlder(what)) continue;
    std::optional<size_t> row = programOf(run, rows.process_id[i], rows.pid[i]);
    UnrecordedProgram program;
    program.process_id = row ? run.processes.process_id[*row] : rows.process_id[i];
    program.pid = row ? run.processes.pid[*row] : rows.pid[i];
    auto same = std::ranges::find_if(programs, [&](const UnrecordedProgram& it) {
      return it.process_id == program.process_id && it.pid == program.pid;
    });
    if (same == programs.end()) {
      if (programs.size() == kMaxPrograms) continue;
      if (row) {
        program.name = text(run.processes.name[*row]);
        program.command = text(run.processes.command[*row]);
      }
      programs.push_back(std::move(program));
      reasons.emplace_back();
      same = programs.end() - 1;
    }
    std::vector<std::string>& known = reasons[static_cast<size_t>(same - programs.begin())];
    std::string words = model::wordsOf(what);
    if (known.size() == kMaxReasons || std::ranges::find(known, words) != known.end()) continue;
    same->reason += (known.empty() ? "" : "; ") + words;
    if (same->remedy.empty()) same->remedy = remedyFor(words);
    known.push_back(std::move(words));
  }
  return programs;
}

}  // namespace tidegauge::analysis
