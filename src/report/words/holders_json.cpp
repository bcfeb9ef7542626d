#include "report/words/holders_json.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/trace/named_at.h"
#include "report/words/holder_names.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {

using analysis::AnalysedTrace;
using nlohmann::json;

namespace {

// The names of a holder's blocks. The largest are listed only if most of its bytes are named.
json tensorsJson(const model::Trace& trace, const analysis::NamedHolders& named,
                 const analysis::StackGroup& group) {
  auto found = named.find(group.stack);
  if (found == named.end()) return {{"blocks", 0}, {"bytes", 0}, {"largest", json::array()}};
  json largest = json::array();
  if (found->second.block_bytes > group.block_bytes / 2) {
    for (uint32_t tensor : found->second.largest)
      largest.push_back(clean(trace.strings.text(trace.tensors->name[tensor])));
  }
  return {{"blocks", found->second.blocks},
          {"bytes", found->second.block_bytes},
          {"largest", std::move(largest)}};
}

}  // namespace

json holdersJson(const AnalysedTrace& analysed, int device, const analysis::Holders& holders,
                 const char* at) {
  std::vector<HolderName> names = holderNames(analysed, holders.groups, kMaxHolders);
  const analysis::DeviceAnalysis* of = analysed.findDevice(device);
  bool knows_requests = of == nullptr || of->device.knows_requests;
  json rows = json::array();
  analysis::NamedHolders named;
  if (of != nullptr) named = analysis::namedHolders(analysed, *of, holders);
  for (size_t i = 0; i < names.size(); ++i) {
    const analysis::StackGroup& group = holders.groups[i];
    rows.push_back(
        {{"stack_id", group.stack.valid() ? json(group.stack.value) : json()},
         {"label", clean(analysed.labels.label(group.stack))},
         {"caller", clean(names[i].caller)},
         {"slot", analysed.labels.colourSlot(group.stack)},
         {"bytes", group.block_bytes},
         {"requested_bytes", knows_requests ? json(group.requested_bytes) : json()},
         {"blocks", group.blocks},
         {"older_bytes", group.older_bytes},
         {"first_allocation_id", group.first_row},
         {"share", holders.block_bytes == 0 ? 0.0
                                            : static_cast<double>(group.block_bytes) /
                                                  static_cast<double>(holders.block_bytes)}});
    rows.back()["tensors"] =
        analysed.trace.tensors ? tensorsJson(analysed.trace, named, group) : json();
  }
  std::string from = fmt::format("holders({}, {})", device, holders.place());
  return {
      {"at", at},
      {"step", holders.place()},
      {"total_bytes", holders.block_bytes},
      {"blocks", holders.blocks},
      {"stacks", holders.groups.size()},
      {"sql", fmt::format("SELECT CAST(total(bytes) AS INTEGER) AS total_bytes, "
                          "CAST(total(blocks) AS INTEGER) AS blocks, count(*) AS stacks FROM {}",
                          from)},
      {"rows", rows},
      {"rows_sql", fmt::format("SELECT * FROM {} LIMIT {}", from, kMaxHolders)}};
}

json totalsJson(const model::Device& device, const analysis::Totals& totals) {
  return {{"requested_bytes", device.knows_requests ? json(totals.requested_bytes) : json()},
          {"active_bytes", totals.active_bytes},
          {"allocated_bytes", totals.allocated_bytes},
          {"reserved_bytes", totals.reserved_bytes}};
}

}  // namespace tidegauge::report
