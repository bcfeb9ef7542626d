// Fragmentation: over time, the forecast at a step, details of one step, and whether a request
// fits.
#include <algorithm>

#include "report/frag/frag_report.h"
#include "report/frag/free_json.h"
#include "server/session/questions.h"
#include "server/wire/stack_names.h"

namespace tidegauge::server {
namespace {

constexpr int64_t kMaxSamples = 2000;
constexpr size_t kMaxPins = 200;

Response textResponse(std::string text) {
  Response response;
  response.body = std::move(text);
  return response;
}

json scoreOrNull(const analysis::DeviceAnalysis& device, const analysis::LayoutScore& score) {
  return device.device.has_allocator ? json(score.score) : json();
}

// A column per number: shorter than a row per sample, and in the form for a plot.
json columnsJson(const analysis::DeviceAnalysis& device,
                 const std::vector<analysis::FragmentationSample>& samples) {
  json columns;
  for (const analysis::FragmentationSample& sample : samples) {
    const analysis::FreeSums& free = sample.sums.free;
    columns["step"].push_back(sample.step);
    columns["time_us"].push_back(timeOrNull(device.time.timeOf(sample.step)));
    columns["reserved_bytes"].push_back(sample.totals.reserved_bytes);
    columns["active_bytes"].push_back(sample.totals.active_bytes);
    columns["free_bytes"].push_back(free.bytes);
    columns["pinned_bytes"].push_back(free.pinned_bytes);
    columns["largest_hole_bytes"].push_back(free.largest_bytes);
    columns["stranded_bytes"].push_back(free.stranded_bytes);
    columns["waste_bytes"].push_back(sample.sums.waste_bytes);
    columns["reserved_score"].push_back(scoreOrNull(device, sample.reserved));
    columns["address_score"].push_back(scoreOrNull(device, sample.address));
  }
  return columns;
}

// For a device without events: its final state.
base::Result<model::Step> stepOf(const Question& question, const Place& place) {
  int64_t last = std::max<int64_t>(place.device->device.steps(), 1) - 1;
  TG_ASSIGN_OR_RETURN(int64_t step, question.params.integer("step", 0, last, last));
  return static_cast<model::Step>(step);
}

std::string fragText(const Place& place, size_t samples) {
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  analysis::FragmentationSeries series =
      analysis::fragmentationSeries(analysed, *place.device, {.samples = samples});
  return dump({{"request_bytes", series.request_bytes},
               {"pool", report::poolJson(analysed, series.pool)},
               {"columns", columnsJson(*place.device, series.samples)}});
}

// The forecast from the first `known` slices, and the later scores. Steps beyond the end of the
// recording have the distance of its slices.
std::string forecastText(const analysis::DeviceAnalysis& device,
                         const analysis::FragmentationSeries& slices, size_t known,
                         report::Arena arena) {
  analysis::FragmentationSeries past;
  past.samples.assign(slices.samples.begin(),
                      slices.samples.begin() + static_cast<std::ptrdiff_t>(known));
  analysis::Forecast forecast = report::forecastOf(device.device, past, arena);
  json answer = report::forecastJson(forecast);
  answer["checked"] = forecast.of(analysis::ForecastModel::kPersistence).errors.count[0];
  answer["from_step"] = past.samples.back().step;
  uint64_t next_step = past.samples.back().step;
  for (size_t k = known; k < known + analysis::kForecastHorizons; ++k) {
    bool recorded = k < slices.samples.size();
    next_step = recorded ? slices.samples[k].step : next_step + report::stepsApart(slices);
    answer["steps"].push_back(next_step);
    answer["came"].push_back(
        recorded ? scoreOrNull(device, report::scoreOf(slices.samples[k], arena)) : json());
  }
  return dump(answer);
}

}  // namespace

base::Result<Response> answerFrag(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(int64_t samples,
                      question.params.integer("samples", 1, kMaxSamples, report::kForecastSlices));
  std::string key =
      "frag " + std::to_string(place.device->device.ordinal) + " " + std::to_string(samples);
  return textResponse(*place.file->frag_texts.get(key, [&] {
    return std::make_shared<const std::string>(fragText(place, static_cast<size_t>(samples)));
  }));
}

base::Result<Response> answerForecast(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(model::Step step, stepOf(question, place));
  std::string name = question.params.text("arena", "reserved");
  if (name != "reserved" && name != "address") {
    return notUsable("arena must be reserved or address");
  }
  report::Arena arena = name == "address" ? report::Arena::kAddress : report::Arena::kReserved;
  std::string key = std::to_string(place.device->device.ordinal);
  auto slices = place.file->frag_slices.get(key, [&] {
    return std::make_shared<const analysis::FragmentationSeries>(analysis::fragmentationSeries(
        *place.file->analysed, *place.device, {.samples = report::kForecastSlices}));
  });
  auto later = std::upper_bound(
      slices->samples.begin(), slices->samples.end(), step,
      [](model::Step at, const analysis::FragmentationSample& one) { return at < one.step; });
  // The first slice is that of step 0.
  auto known = static_cast<size_t>(std::max<std::ptrdiff_t>(later - slices->samples.begin(), 1));
  key += " " + name + " " + std::to_string(known);
  return textResponse(*place.file->forecast_texts.get(key, [&] {
    return std::make_shared<const std::string>(forecastText(*place.device, *slices, known, arena));
  }));
}

base::Result<Response> answerFragAt(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(model::Step step, stepOf(question, place));
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  const model::Device& device = place.device->device;
  // They scan all requests and pieces of the device, whatever the step.
  auto options = place.file->frag_options.get(std::to_string(device.ordinal), [&] {
    return std::make_shared<const analysis::FragmentationOptions>(
        analysis::ownOptions(analysed.trace, device));
  });
  analysis::FragmentationDetails details =
      analysis::fragmentationAt(analysed, *place.device, step, *options);
  analysis::SegmentedLayout layout(
      analysis::blocksAt(analysed.trace, device, place.device->live, step));
  json answer = report::detailsJson(analysed, device, details);
  answer["now"] = report::sampleJson(*place.device, details.sample);
  answer["pins"] = report::pinsJson(analysed, analysis::pinnedBy(analysed.trace, layout), kMaxPins);
  nameCallers(analysed, answer["pins"]["rows"]);
  return jsonResponse(answer);
}

base::Result<Response> answerFit(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(model::Step step, stepOf(question, place));
  TG_ASSIGN_OR_RETURN(int64_t bytes, question.params.integer("bytes", 1, int64_t{1} << 53));
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  auto request = static_cast<uint64_t>(bytes);
  json lists = json::array();
  analysis::FreeBlocks free = analysis::freeBlocksAt(analysed, *place.device, step);
  analysis::AllocatorKind allocator = analysis::allocatorOf(place.device->device);
  std::optional<analysis::DriverFree> driver_free;
  if (allocator == analysis::AllocatorKind::kDriver)
    driver_free = analysis::driverFreeAt(analysed, *place.device, step);
  bool rules_known = allocator == analysis::AllocatorKind::kCaching;
  if (rules_known) {
    for (const report::FitRow& row : report::fitRows(free, request)) {
      lists.push_back(report::fitJson(analysed, row));
    }
  }
  return jsonResponse({{"step", step},
                       {"request_bytes", request},
                       {"rules_known", rules_known},
                       {"allocator", analysis::name(allocator)},
                       {"driver_free", report::driverFreeJson(driver_free)},
                       {"free_bytes", free.bytes},
                       // By holes alone, like the curve of frag_at; the lists are what counts.
                       {"stranded_bytes", analysis::strandedBytes(free, request)},
                       {"lists", std::move(lists)}});
}

}  // namespace tidegauge::server
