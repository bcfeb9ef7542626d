#include "report/recording/process_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "base/sizes.h"
#include "report/recording/recording_report.h"
#include "report/words/section_text.h"
#include "report/words/text_table.h"

namespace tidegauge::report {
namespace {

using analysis::GpuSum;
using analysis::GpuUse;
using analysis::ProcessSum;
using analysis::Sureness;
using analysis::WholeRecording;
using base::counted;
using base::humanBytes;
using base::sizeOrZero;
using base::withCommas;

std::vector<std::string> numbersOf(const ProcessSum& sum) {
  auto marked = [](Sureness sureness, const std::string& figure) {
    return std::string(signOf(sureness)) + figure;
  };
  Sureness of_peak = sum.memory == Sureness::kWhole && sum.peak_uncertain_bytes > 0
                         ? Sureness::kIncomplete
                         : sum.memory;
  return {marked(of_peak, sizeOrZero(sum.peak_bytes)),
          marked(sum.memory, sizeOrZero(sum.live_bytes)),
          marked(sum.launched, withCommas(sum.launches)),
          marked(sum.copied, sizeOrZero(sum.copied_bytes)), withCommas(sum.refused)};
}

// How a GPU's peak use is divided.
struct Shares {
  uint64_t recorded = 0, untracked = 0, unrecorded = 0;  // bytes
  size_t uses = 0, unrecorded_uses = 0, named = 0;       // processes
};

Shares sharesOf(const WholeRecording& whole, int32_t device) {
  Shares shares;
  for (const GpuUse& use : whole.gpu_uses) {
    if (use.device != device) continue;
    ++shares.uses;
    if (use.process_id == model::kNotRecorded) {
      ++shares.unrecorded_uses;
      shares.unrecorded += use.used_bytes;
    }
    if (!use.recorded_bytes || use.used_bytes < *use.recorded_bytes) continue;
    ++shares.named;
    shares.recorded += *use.recorded_bytes;
    shares.untracked += use.used_bytes - *use.recorded_bytes;
  }
  return shares;
}

Sentence usedSentence(const GpuSum& gpu, const Shares& shares) {
  std::string sql = fmt::format(
      "SELECT total_bytes, peak_used_bytes, peak_by_processes_bytes, peak_used_bytes - "
      "peak_by_processes_bytes AS of_nobody_bytes, (SELECT count(*) FROM gpu_processes AS p WHERE "
      "p.device = gpus.device) AS processes, last_used_bytes FROM gpus WHERE device = {}",
      gpu.device);
  Sentence sentence{{strong(humanBytes(*gpu.peak_used_bytes))}, sqlLink(sql), sql};
  auto say = [&](std::string words) { sentence.parts.push_back(plain(std::move(words))); };
  if (gpu.total_bytes) say(fmt::format(" of {}", humanBytes(*gpu.total_bytes)));
  say(" were used at most");
  if (shares.uses == 0) {
    say("; the driver named no process");
  } else {
    say(fmt::format(
        ": {} by {}", humanBytes(gpu.by_processes_bytes),
        shares.uses == 1 ? "one process" : fmt::format("{} processes", withCommas(shares.uses))));
    if (*gpu.peak_used_bytes > gpu.by_processes_bytes)
      say(fmt::format(", {} by no process that it named",
                      humanBytes(*gpu.peak_used_bytes - gpu.by_processes_bytes)));
  }
  say(fmt::format("; {} when it was last asked.", sizeOrZero(*gpu.last_used_bytes)));
  return sentence;
}

Sentence untrackedSentence(const GpuSum& gpu, const Shares& shares) {
  std::string sql = fmt::format(
      "SELECT sum(recorded_bytes) FILTER (WHERE untracked_bytes IS NOT NULL) AS recorded_bytes, "
      "sum(untracked_bytes) AS untracked_bytes, sum(used_bytes) FILTER (WHERE process_id IS NULL) "
      "AS unrecorded_bytes, count(*) FILTER (WHERE process_id IS NULL) AS unrecorded FROM "
      "gpu_processes WHERE device = {}",
      gpu.device);
  Sentence sentence{{}, sqlLink(sql), sql};
  if (shares.named > 0) {
    sentence.parts = {
        plain("Recorded calls had allocated "), strong(sizeOrZero(shares.recorded)), plain("; "),
        strong(sizeOrZero(shares.untracked)),
        plain(" of the same processes belong to no recorded call: contexts, modules, and "
              "memory older than the recording.")};
  }
  if (shares.unrecorded_uses > 0) {
    sentence.parts.push_back(
        plain(fmt::format("{}{} are of {} that {} not recorded.", shares.named > 0 ? " " : "",
                          humanBytes(shares.unrecorded),
                          shares.unrecorded_uses == 1
                              ? "one process"
                              : fmt::format("{} processes", withCommas(shares.unrecorded_uses)),
                          shares.unrecorded_uses == 1 ? "was" : "were")));
  }
  return sentence;
}

constexpr size_t kMaxGpuRows = 12;

Section gpuSection(const WholeRecording& whole, const GpuSum& gpu) {
  Section section{
      .key = "gpus",
      .title = fmt::format("GPU {} {}, as the driver says (NVML)", gpu.device, gpu.name)};
  if (!gpu.peak_used_bytes) return section;
  Shares shares = sharesOf(whole, gpu.device);
  section.sentences.push_back(usedSentence(gpu, shares));
  if (Sentence more = untrackedSentence(gpu, shares); !more.parts.empty())
    section.sentences.push_back(std::move(more));
  if (shares.uses == 0) return section;
  std::string sql = fmt::format(
      "SELECT used_bytes, recorded_bytes, untracked_bytes, "
      "pid, name FROM gpu_processes WHERE device = {}",
      gpu.device);
  Grid grid{
      .heads = {"used", "by calls", "by no call", "process"}, .sql = sql, .link = sqlLink(sql)};
  for (const GpuUse& use : whole.gpu_uses) {
    if (use.device != gpu.device) continue;
    if (grid.rows.size() == kMaxGpuRows) {
      ++grid.more;
      continue;
    }
    bool is_recorded = use.process_id != model::kNotRecorded;
    bool is_more = use.recorded_bytes && use.used_bytes >= *use.recorded_bytes;
    grid.rows.push_back({humanBytes(use.used_bytes),
                         use.recorded_bytes ? sizeOrZero(*use.recorded_bytes) : "–",
                         is_more ? sizeOrZero(use.used_bytes - *use.recorded_bytes) : "–",
                         is_recorded ? fmt::format("{} {}", use.pid, use.name)
                                     : fmt::format("{}, not recorded", use.pid)});
  }
  section.grid = std::move(grid);
  return section;
}

// The beginning and duration of the recording; empty if unknown.
std::string recordedFor(const model::RecordedRun& run) {
  if (!run.began_ns) return {};
  std::string from = base::utcTime(*run.began_ns);
  if (!run.ended_ns) return fmt::format("recorded from {} on", from);
  double seconds = (static_cast<double>(*run.ended_ns) - static_cast<double>(*run.began_ns)) / 1e9;
  return fmt::format("recorded for {:.{}f} s, from {}", seconds, seconds < 10 ? 3 : 1, from);
}

// Explains the signs before the figures, if there are any.
void explainSigns(TextPage& page, const WholeRecording& whole) {
  bool at_least = false, incomplete = false;
  for (const ProcessSum& sum : whole.processes) {
    for (Sureness sureness : {sum.memory, sum.launched, sum.copied}) {
      at_least |= sureness == Sureness::kAtLeast;
      incomplete |= sureness == Sureness::kIncomplete;
    }
  }
  bool any_order = std::ranges::any_of(
      whole.processes, [](const ProcessSum& sum) { return sum.peak_uncertain_bytes > 0; });
  if (any_order)
    page.faint(
        "~ of a peak: calls of several threads ran at the same time; all_processes has by how much "
        "it may be higher or lower",
        2, 2);
  if (at_least) page.faint("≥: lower bound; the report of each process says why", 2, 2);
  if (incomplete)
    page.faint("~: incomplete, may be more or less; the report of each process says why", 2, 2);
}

}  // namespace

std::string_view signOf(Sureness sureness) {
  if (sureness == Sureness::kWhole) return "";
  return sureness == Sureness::kAtLeast ? "≥ " : "~ ";
}

std::string processName(const ProcessSum& sum) {
  std::string name = fmt::format("{} {}", sum.pid, sum.name);
  std::string ending = endingInAWord(sum.ended_ns, sum.exit_status, sum.end_reason);
  return ending.empty() ? name : name + ", " + ending;
}

std::vector<size_t> biggestFirst(const WholeRecording& whole) {
  std::vector<size_t> order(whole.processes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return whole.processes[a].peak_bytes > whole.processes[b].peak_bytes;
  });
  return order;
}

std::string processesText(const WholeRecording& whole, size_t rows, const TextOptions& options) {
  TextPage page(options.columns, options.colour);
  size_t count = whole.processes.size();
  page.heading(fmt::format("{} {} called for memory, launched or copied", withCommas(count),
                           count == 1 ? "process" : "processes"));
  std::string recorded = whole.run ? recordedFor(*whole.run) : "";
  if (!recorded.empty()) page.paragraph(recorded);
  std::vector<TextRow> table = {
      {{"peak", "at the end", "launches", "copied", "refused"}, "process"}};
  ProcessSum rest;
  size_t row = 0;
  for (size_t index : biggestFirst(whole)) {
    const ProcessSum& sum = whole.processes[index];
    if (row++ < rows) {
      table.push_back({numbersOf(sum), processName(sum)});
      continue;
    }
    rest.peak_bytes = std::max(rest.peak_bytes, sum.peak_bytes);
    rest.live_bytes += sum.live_bytes;
    rest.launches += sum.launches;
    rest.copied_bytes += sum.copied_bytes;
    rest.refused += sum.refused;
    rest.memory = std::max(rest.memory, sum.memory);
    rest.launched = std::max(rest.launched, sum.launched);
    rest.copied = std::max(rest.copied, sum.copied);
  }
  if (count > rows) {
    std::vector<std::string> numbers = numbersOf(rest);
    // Upper bound of each; lower bounds have no known maximum.
    numbers[0] = rest.memory == Sureness::kWhole ? "≤ " + sizeOrZero(rest.peak_bytes) : "";
    table.push_back({numbers, fmt::format("{} more", withCommas(count - rows))});
  }
  printTable(page, table);
  explainSigns(page, whole);
  std::string sql =
      "SELECT peak_bytes, live_bytes, launches, copied_bytes, refused, pid, name, exit_status >> 8 "
      "AS code, exit_status & 127 AS signal FROM all_processes ORDER BY peak_bytes DESC";
  SectionText(page, options.evidence).evidence(sql, sqlLink(sql));
  return page.take();
}

std::string gpusText(const WholeRecording& whole, const TextOptions& options) {
  TextPage page(options.columns, options.colour);
  SectionText text(page, options.evidence);
  for (const GpuSum& gpu : whole.gpus) text.section(gpuSection(whole, gpu));
  return page.take();
}

std::string partText(const WholeRecording& whole, const std::vector<std::string>& beside,
                     const TextOptions& options) {
  if (!whole.run || whole.run->part.number <= 0) return {};
  const model::RecordedPart& part = whole.run->part;
  std::string sql =
      "SELECT number, number - 1 AS before, strftime('%Y-%m-%d %H:%M:%S', began_ns / 1000000000, "
      "'unixepoch') AS began, continues, carried_calls, (SELECT sum(initial_bytes) FROM "
      "all_processes) AS initial_bytes, (SELECT count(*) FROM all_processes WHERE initial_bytes > "
      "0) AS processes FROM part";
  Section section{
      .key = "part",
      .title = fmt::format("Part {} of a recording that is kept below a size (--max-size)",
                           withCommas(static_cast<uint64_t>(part.number)))};
  Sentence sentence{{}, sqlLink(sql), sql};
  auto say = [&](std::string words) { sentence.parts.push_back(plain(std::move(words))); };
  if (part.number == 1) {
    say("It is the first: nothing is before it. Counts are of this file alone.");
  } else {
    uint64_t initial = 0, holders = 0;
    for (const ProcessSum& sum : whole.processes) {
      initial += sum.initial_bytes;
      holders += sum.initial_bytes > 0 ? 1 : 0;
    }
    say(fmt::format("It continues {}", part.continues.empty() ? "another file" : part.continues));
    if (part.began_ns) say(fmt::format(" at {}", base::utcTime(*part.began_ns)));
    say(", and began with ");
    sentence.parts.push_back(strong(sizeOrZero(initial)));
    say(
        fmt::format(" of device memory that {} held ({} carried in). "
                    "Allocations, launches, copies and refusals are counted "
                    "from there on, and processes that had ended are not in it.",
                    holders == 1 ? "one process" : fmt::format("{} processes", withCommas(holders)),
                    counted(static_cast<uint64_t>(part.carried_calls), "row")));
    auto before = static_cast<uint64_t>(part.number) - 1;
    uint64_t here = std::min<uint64_t>(beside.size(), before);
    std::string names = beside.empty()       ? ""
                        : beside.size() == 1 ? " (" + beside[0] + ")"
                                             : " (" + beside.front() + " to " + beside.back() + ")";
    say(before == here
            ? fmt::format(" All {} before it are beside it{}.", counted(before, "part"), names)
            : fmt::format(
                  " Of {} before it {} beside it{}, {} gone.", counted(before, "part"),
                  here == 1 ? "1 is" : fmt::format("{} are", withCommas(here)), names,
                  before - here == 1 ? "1 is" : fmt::format("{} are", withCommas(before - here))));
  }
  section.sentences.push_back(std::move(sentence));
  TextPage page(options.columns, options.colour);
  page.heading(section.title);
  SectionText(page, options.evidence).sentences(section.sentences);
  return page.take();
}

}  // namespace tidegauge::report
