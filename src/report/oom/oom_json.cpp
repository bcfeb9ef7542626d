#include "report/oom/oom_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/trace/peak.h"
#include "base/format.h"
#include "report/frag/free_json.h"
#include "report/oom/advice_words.h"
#include "report/oom/oom_story.h"
#include "report/words/holders_json.h"
#include "report/words/pool_names.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::OomVerdict;
using nlohmann::json;

constexpr size_t kMaxPinRows = 20;
constexpr size_t kMaxPageRows = 100;

json orNull(std::optional<uint64_t> number) { return number ? json(*number) : json(); }
json orNull(const std::string& text) { return text.empty() ? json() : json(clean(text)); }

json sumJson(const OomVerdict& v) {
  return {{"live_bytes", v.live_bytes},
          {"free_bytes", v.free_bytes},
          {"driver_bytes", orNull(v.driver_bytes)},
          {"most_driver_bytes", orNull(v.most_driver_bytes)},
          {"other_bytes", orNull(v.otherBytes())},
          {"reserved_bytes", v.reserved_bytes},
          {"ceiling_bytes", orNull(v.ceilingBytes())},
          {"total_bytes", orNull(v.total_bytes)},
          {"least_total_bytes", v.least_total_bytes},
          {"outside_bytes", v.outside_bytes},
          {"difference_bytes", v.differenceBytes()},
          {"sql", sumSentence(v).sql}};
}

json rowsJson(const OomVerdict& v) {
  std::vector<Sentence> sentences = verdictSentences(v);
  json rows = json::array();
  for (size_t i = 0; i < v.rows.size(); ++i) {
    rows.push_back({{"verdict", analysis::name(v.rows[i].verdict)},
                    {"bytes", v.rows[i].bytes},
                    {"certain", v.rows[i].certain},
                    {"text", clean(plainText(sentences[i].parts))}});
  }
  return rows;
}

json capJson(const OomVerdict& v) {
  if (!v.cap) return nullptr;
  return {{"least_bytes", v.cap->least_bytes},
          {"below_bytes", v.cap->below_bytes},
          {"would_fit", v.cap->would_fit ? json(*v.cap->would_fit) : json()},
          {"fraction", v.cap->fraction ? json(*v.cap->fraction) : json()}};
}

json poolsJson(const AnalysedTrace& analysed, const OomVerdict& v) {
  json rows = json::array();
  for (const analysis::PoolShare& share : v.pools) {
    rows.push_back({{"pool_id", share.pool.value},
                    {"name", poolName(analysed.trace, share.pool)},
                    {"live_bytes", share.live_bytes},
                    {"free_bytes", share.free_bytes},
                    {"whole_bytes", share.whole_bytes},
                    {"live_blocks", share.live_blocks},
                    {"segments", share.segments},
                    {"stack_id", share.stack.valid() ? json(share.stack.value) : json()},
                    {"stack_bytes", share.stack_bytes}});
  }
  return rows;
}

json phaseJson(const AnalysedTrace& analysed, const OomVerdict& v) {
  if (!v.last_phase) return nullptr;
  const analysis::LastPhase& last = *v.last_phase;
  const model::Trace& trace = analysed.trace;
  return {{"name", clean(trace.strings.text(trace.annotations.name[last.annotation]))},
          {"begin_step", last.begin_step},
          {"live_bytes", last.live_bytes},
          {"blocks", last.blocks},
          {"stack_id", last.stack.valid() ? json(last.stack.value) : json()},
          {"label", clean(analysed.labels.label(last.stack))},
          {"stack_bytes", last.stack_bytes}};
}

json pinnedJson(const AnalysedTrace& analysed, const OomVerdict& v, size_t most) {
  json pins = pinsJson(analysed, v.pinned, most);
  pins["sql"] = fmt::format(
      "SELECT pinned_bytes, releasable_bytes, shared_bytes, by_nobody_bytes, (SELECT count(*) FROM "
      "pins({}, {})) AS stacks FROM {} WHERE step = {} LIMIT 1",
      v.device, v.step, verdictTable(v), v.step);
  pins["rows_sql"] = fmt::format("SELECT * FROM pins({}, {}) LIMIT {}", v.device, v.step, most);
  return pins;
}

json verdictWith(const AnalysedTrace& analysed, const OomVerdict& v, size_t most_pins) {
  bool of_driver = v.allocator == analysis::AllocatorKind::kDriver;
  return {{"rows", rowsJson(v)},
          {"rows_sql", fmt::format("SELECT verdict, bytes, certain FROM {} WHERE step "
                                   "= {} AND verdict IS NOT NULL",
                                   verdictTable(v), v.step)},
          {"sql", fmt::format("SELECT wanted_bytes, missing_bytes, lacking_bytes, uncertain_bytes, "
                              "rounding_bytes FROM {} WHERE step = {} LIMIT 1",
                              verdictTable(v), v.step)},
          {"sum", sumJson(v)},
          {"wanted_bytes", orNull(v.wanted_bytes)},
          {"missing_bytes", orNull(v.missingBytes())},
          {"driver_free", driverFreeJson(v.driver_free)},
          {"from", of_driver ? json() : freeListKeyJson(analysed.trace, v.key)},
          {"pool_recorded", v.pool_recorded},
          {"before_step", v.before_step ? json(*v.before_step) : json()},
          {"reserved_before_bytes", v.before.reserved_bytes},
          {"active_before_bytes", v.before.active_bytes},
          {"free_before_bytes", v.free_before_bytes},
          {"uncertain_bytes", v.uncertain_bytes},
          {"rounding_bytes", v.rounding_bytes},
          {"least_request_bytes", v.request_bytes ? json(v.least_request_bytes) : json()},
          {"lacking_bytes", v.lackingBytes()},
          {"held_bytes", v.held_bytes},
          {"unflushed_bytes", v.unflushed_bytes},
          {"not_on_device_bytes", v.not_on_device_bytes},
          {"rests",
           {{"bytes", v.rests.bytes},
            {"segments", v.rests.segments},
            {"request_bytes", v.rests.request_bytes},
            {"segment_bytes", v.rests.segment_bytes}}},
          {"pools", poolsJson(analysed, v)},
          {"cap", capJson(v)},
          {"last_phase", phaseJson(analysed, v)},
          {"pinned", pinnedJson(analysed, v, most_pins)},
          {"servable", of_driver ? json::array() : servableJson(analysed, v)}};
}

json effectJson(const analysis::Advice& advice) {
  if (!advice.effect) return nullptr;
  const analysis::AdviceEffect& effect = *advice.effect;
  bool has_range = effect.least_ooms_after != effect.ooms_after;
  bool is_setting = !advice.setting.empty() || !effect.conf.empty();
  return {
      {"settings", is_setting ? json(clean(effect.conf)) : json()},
      {"helps", effect.helps},
      {"ooms", effect.ooms_after},
      {"least_ooms", has_range ? json(effect.least_ooms_after) : json()},
      {"most_ooms", has_range ? json(effect.ooms_after) : json()},
      {"ooms_before", effect.ooms_before},
      {"first_failing_step", effect.first_failing_step ? json(*effect.first_failing_step) : json()},
      {"peak_reserved_bytes", effect.peak_reserved_after_bytes},
      {"peak_reserved_before_bytes", effect.peak_reserved_before_bytes},
      {"forecast_from_step", effect.forecast_from ? json(*effect.forecast_from) : json()}};
}

}  // namespace

json verdictJson(const AnalysedTrace& analysed, const OomVerdict& verdict) {
  return verdictWith(analysed, verdict, kMaxPinRows);
}

json adviceJson(const AnalysedTrace& analysed, const std::vector<analysis::Advice>& advice) {
  json rows = json::array();
  for (const analysis::Advice& one : advice) {
    json evidence = json::array();
    for (const analysis::Evidence& e : one.evidence) {
      evidence.push_back({{"name", e.name},
                          {"value", e.value},
                          {"unit", analysis::name(e.unit)},
                          {"source", clean(e.source)}});
    }
    rows.push_back({{"kind", analysis::name(one.kind)},
                    {"text", clean(adviceText(analysed, one))},
                    {"setting", one.setting.empty() ? json() : json(clean(one.setting))},
                    {"copy", orNull(copyLine(analysed, one))},
                    {"step", one.step ? json(*one.step) : json()},
                    {"evidence", evidence},
                    {"replayed", effectJson(one)}});
  }
  return rows;
}

json oomPageJson(const AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                 const std::vector<analysis::OomReport>& ooms, size_t index,
                 const analysis::VerdictOptions& options) {
  const analysis::OomReport& oom = ooms[index];
  OomVerdict v = analysis::verdictOf(analysed, device, oom, options);
  std::vector<Sentence> sentences = verdictSentences(v);
  for (Sentence& sentence : refusalSentences(device, ooms, index))
    sentences.push_back(std::move(sentence));
  json phases = json::array();
  for (uint32_t row : analysis::phasesAt(device.phases, oom.step)) {
    phases.push_back(clean(analysed.trace.strings.text(analysed.trace.annotations.name[row])));
  }
  return {{"step", oom.step},
          {"requested_bytes", orNull(oom.requested_bytes)},
          {"device_free_bytes", orNull(oom.device_free_bytes)},
          {"given_back_bytes", oom.given_back_bytes},
          {"given_back_segments", oom.given_back_segments},
          {"mapped_in_vain_bytes", oom.mapped_bytes},
          {"waited_for", oom.completed},
          {"stack_id", oom.stack.valid() ? json(oom.stack.value) : json()},
          {"label", clean(analysed.labels.label(oom.stack))},
          {"caller", clean(analysed.names.caller(oom.stack))},
          {"phases", phases},
          {"sentences", sentencesJson(sentences)},
          {"sum_sentence", sentencesJson({sumSentence(v, v.unmappedBytes(analysed.trace))})[0]},
          {"verdict", verdictWith(analysed, v, kMaxPageRows)},
          {"pieces", piecesJson(analysed, v)},
          {"holders", holdersJson(analysed, device.device.ordinal,
                                  analysis::holdersAt(analysed, device, oom.step), "oom")},
          {"advice", adviceJson(analysed, analysis::adviceOn(analysed, device, v))}};
}

}  // namespace tidegauge::report
