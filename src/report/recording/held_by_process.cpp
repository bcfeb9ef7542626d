#include "report/recording/held_by_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/format.h"
#include "model/ledger/ledger_sums.h"
#include "report/recording/process_table.h"
#include "report/recording/recording_report.h"
#include "report/words/section_text.h"

namespace tidegauge::report {
namespace {

using analysis::HeldSum;
using analysis::ProcessSum;
using analysis::WholeRecording;

const ProcessSum* processOf(const WholeRecording& whole, int64_t process_id) {
  auto found = std::find_if(whole.processes.begin(), whole.processes.end(),
                            [&](const ProcessSum& sum) { return sum.process_id == process_id; });
  return found == whole.processes.end() ? nullptr : &*found;
}

// Blocks of a framework lie in device memory: they would count twice.
std::vector<const HeldSum*> heldOf(const WholeRecording& whole) {
  std::vector<const HeldSum*> held;
  for (const HeldSum& sum : whole.held)
    if (sum.kind != model::MemoryKind::kBlock && sum.bytes > 0) held.push_back(&sum);
  std::stable_sort(held.begin(), held.end(),
                   [](const HeldSum* a, const HeldSum* b) { return a->bytes > b->bytes; });
  return held;
}

}  // namespace

std::string heldByProcessText(const WholeRecording& whole, size_t rows,
                              const TextOptions& options) {
  if (whole.processes.empty()) return {};
  std::vector<const HeldSum*> held = heldOf(whole);
  uint64_t bytes = 0;
  std::set<int64_t> holders;
  analysis::Sureness sureness = analysis::Sureness::kWhole;
  for (const ProcessSum& sum : whole.processes) sureness = std::max(sureness, sum.memory);
  for (const HeldSum* sum : held) {
    if (model::isHostMemory(sum->kind)) continue;
    bytes += sum->bytes;
    holders.insert(sum->process_id);
  }
  std::string sql =
      "SELECT sum(bytes) AS bytes, count(DISTINCT process_id) AS holders, (SELECT count(*) FROM "
      "all_processes) AS processes FROM all_held WHERE memory = 'device' AND bytes > 0";
  Section section{.key = "held_by_process", .title = "Held at the end"};
  Sentence sentence{{}, sqlLink(sql), sql};
  size_t count = whole.processes.size();
  bool is_one = count == 1;
  std::string when =
      is_one ? "when the process, or the recording, ended." : "when they, or the recording, ended.";
  if (bytes == 0) {
    sentence.parts = {plain("No recorded device memory was held " + when)};
  } else {
    std::string who = fmt::format("by {} of {} processes ", base::withCommas(holders.size()),
                                  base::withCommas(count));
    sentence.parts = {strong(std::string(signOf(sureness)) + base::humanBytes(bytes)),
                      plain(" of device memory were held " + (is_one ? "" : who) + when)};
  }
  section.sentences.push_back(std::move(sentence));
  if (!held.empty()) {
    std::string rows_sql =
        "SELECT h.bytes, h.count, h.kind, h.pid, p.name, p.exit_status >> 8 AS code, "
        "p.exit_status & 127 AS signal FROM all_held AS h JOIN all_processes AS p USING "
        "(process_id) WHERE h.memory <> 'framework' AND h.bytes > 0 ORDER BY h.bytes DESC";
    Grid grid{
        .heads = {"held", "blocks", "of", "process"}, .sql = rows_sql, .link = sqlLink(rows_sql)};
    for (const HeldSum* sum : held) {
      if (grid.rows.size() == rows) {
        ++grid.more;
        continue;
      }
      const ProcessSum* process = processOf(whole, sum->process_id);
      grid.rows.push_back(
          {base::humanBytes(sum->bytes), base::withCommas(sum->count),
           std::string(model::name(sum->kind)),
           process != nullptr ? processName(*process) : fmt::format("{}", sum->pid)});
    }
    section.grid = std::move(grid);
  }
  TextPage page(options.columns, options.colour);
  SectionText(page, options.evidence).section(section);
  return page.take().substr(1);  // without its blank line: it is the first
}

}  // namespace tidegauge::report
