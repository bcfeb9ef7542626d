// The fragmentation report as JSON: docs/formats/json.md, docs/schema/frag.schema.json.
#include "analysis/summary.h"
#include "base/format.h"
#include "report/frag/frag_report.h"
#include "report/frag/free_json.h"
#include "report/words/incomplete_words.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using nlohmann::json;

constexpr size_t kMaxJsonPins = 50;

json orNull(std::optional<double> number) { return number ? json(*number) : json(); }

json timeJson(const analysis::DeviceAnalysis& device, analysis::Step step) {
  int64_t time = device.time.timeOf(step);
  return time == model::kNoTime ? json() : json(time);
}

// null: no allocator divides the device's memory, so it has no layout.
json scoreJson(const model::Device& device, const analysis::LayoutScore& score) {
  if (!device.has_allocator) return nullptr;
  json features = {{"score", score.score}, {"band", name(analysis::bandOf(score.score))}};
  std::array<double, 6> values = analysis::featuresOf(score);
  for (size_t i = 0; i < values.size(); ++i) {
    features[std::string(analysis::kFeatureNames[i])] = values[i];
  }
  return features;
}

json sumsJson(const analysis::FragmentationSums& sums) {
  const analysis::FreeSums& free = sums.free;
  return {{"segments_bytes", sums.reserved_bytes},
          {"covered_bytes", sums.covered_bytes},
          {"blocks", sums.blocks},
          {"waste_bytes", sums.waste_bytes},
          {"free_bytes", free.bytes},
          {"holes", free.holes},
          {"largest_hole_bytes", free.largest_bytes},
          {"scattered_bytes", free.scatteredBytes()},
          {"external", free.external()},
          {"external_by_segment", free.externalBySegment()},
          {"pinned_bytes", free.pinned_bytes},
          {"pinned_segments", free.pinned_segments},
          {"releasable_bytes", free.releasable_bytes},
          {"held_in_pools_bytes", free.held_in_pools_bytes},
          {"stranded_bytes", free.stranded_bytes}};
}

}  // namespace

json sampleJson(const analysis::DeviceAnalysis& device,
                const analysis::FragmentationSample& sample) {
  json j = sumsJson(sample.sums);
  j["step"] = sample.step;
  j["time_us"] = timeJson(device, sample.step);
  j["reserved_bytes"] = sample.totals.reserved_bytes;
  j["active_bytes"] = sample.totals.active_bytes;
  j["requested_bytes"] = sample.totals.requested_bytes;
  j["outside_blocks"] = sample.outside_blocks;
  j["reserved"] = scoreJson(device.device, sample.reserved);
  j["address"] = scoreJson(device.device, sample.address);
  return j;
}

json forecastJson(const analysis::Forecast& forecast) {
  json j = {{"enough", forecast.enough},
            {"history", forecast.history},
            {"least", analysis::kForecastLeast}};
  if (!forecast.enough) {
    for (const char* key : {"now", "best", "beats_no_change", "published_beats_no_change",
                            "confidence", "slope", "risk", "warnings", "models"}) {
      j[key] = nullptr;
    }
    return j;
  }
  json models = json::array();
  for (const analysis::ModelForecast& model : forecast.models) {
    json skill = json::array();
    for (const std::optional<double>& of_horizon : model.skill) skill.push_back(orNull(of_horizon));
    json errors = json::array();
    for (size_t k = 0; k < analysis::kForecastHorizons; ++k) {
      errors.push_back(model.errors.count[k] == 0 ? json() : json(model.errors.mean[k]));
    }
    models.push_back({{"model", name(model.model)},
                      {"predicted", model.predicted},
                      {"mean_error", model.errors.overall},
                      {"errors", errors},
                      {"skill", skill}});
  }
  j["now"] = forecast.score_now;
  j["best"] = name(forecast.best);
  j["beats_no_change"] = forecast.beatsNoChange();
  j["published_beats_no_change"] = forecast.publishedBeatsNoChange();
  j["confidence"] = forecast.confidence;
  j["slope"] = forecast.slope;
  j["risk"] = name(forecast.risk);
  j["warnings"] = {{"worse", forecast.warnings.worse},
                   {"jump", forecast.warnings.jump},
                   {"trend", forecast.warnings.trend}};
  j["models"] = models;
  return j;
}

json detailsJson(const AnalysedTrace& analysed, const model::Device& device,
                 const analysis::FragmentationDetails& details) {
  json pools = json::array();
  for (const analysis::PoolRow& row : details.pools) {
    json j = sumsJson(row.sums);
    j["pool"] = poolJson(analysed, row.pool);
    j["segments"] = row.segments;
    j["reserved"] = scoreJson(device, row.reserved);
    j["address"] = scoreJson(device, row.address);
    pools.push_back(std::move(j));
  }
  json classes = json::array();
  for (const analysis::SizeClass& row : details.classes) {
    classes.push_back({{"from_bytes", row.from_bytes},
                       {"blocks", row.blocks},
                       {"block_bytes", row.block_bytes},
                       {"requested_bytes", row.requested_bytes},
                       {"waste_bytes", row.waste_bytes}});
  }
  json stranded = json::array();
  for (const analysis::StrandedPoint& point : details.stranded) {
    stranded.push_back(
        {{"request_bytes", point.request_bytes}, {"stranded_bytes", point.stranded_bytes}});
  }
  return {{"pools", pools},
          {"pools_total", details.pools_total},
          {"size_classes", classes},
          {"stranded", stranded}};
}

json driverFreeJson(const std::optional<analysis::DriverFree>& free) {
  if (!free) return {};
  return {{"free_bytes", free->free_bytes},
          {"total_bytes", free->total_bytes},
          {"time_us", free->time_us},
          {"said_to", free->is_answer ? "program" : "recorder"},
          {"taken_since_bytes", free->taken_since_bytes}};
}

json fragJson(const AnalysedTrace& analysed, const FragReport& report) {
  const analysis::DeviceAnalysis& device = *report.device;
  json samples = json::array();
  for (const auto& sample : report.series.samples) samples.push_back(sampleJson(device, sample));
  json lists = json::array();
  for (const FitRow& row : report.lists) lists.push_back(freeListJson(analysed, row));
  json fit;
  if (report.request_bytes && report.rulesKnown()) {
    json rows = json::array();
    for (const FitRow& row : report.fits) rows.push_back(fitJson(analysed, row));
    fit = {{"request_bytes", *report.request_bytes}, {"lists", rows}};
  }
  json range;
  if (report.range) {
    json notes = json::array();
    for (const std::string& note : report.range->notes) notes.push_back(clean(note));
    range = {
        {"first_step", report.range->first}, {"last_step", report.range->last}, {"notes", notes}};
  }
  json j = detailsJson(analysed, device.device, report.now);
  j["incomplete"] = incompleteList(incompleteOf(analysed), kOfMemory);
  j["device"] = device.device.ordinal;
  j["label"] = analysis::deviceLabel(device.device);
  j["events"] = device.device.steps();
  j["range"] = range;
  j["arena"] = name(report.arena);
  j["pool"] = poolJson(analysed, report.series.pool);
  j["typical_request_bytes"] = report.series.request_bytes;
  j["now"] = sampleJson(device, report.now.sample);
  j["forecast"] = nullptr;
  if (device.device.has_allocator) {
    j["forecast"] = forecastJson(report.forecast);
    j["forecast"]["steps_apart"] = report.forecast_steps_apart;
  }
  j["wall"] = {{"rows", wallRowsJson(report.wall)}};
  j["rules_known"] = report.rulesKnown();
  j["allocator"] = name(report.allocator());
  j["driver_free"] = driverFreeJson(report.driver_free);
  j["lists"] = lists;
  j["fit"] = fit;
  j["pins"] = pinsJson(analysed, report.pinned, kMaxJsonPins);
  j["samples"] = samples;
  return j;
}

}  // namespace tidegauge::report
