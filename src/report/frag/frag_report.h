// The results of `tidegauge frag` for one device, computed once for several outputs.
//
//   FragReport report = gatherFrag(analysed, chosen, options);
//   fragText(...)   a page for the terminal        fragJson(...)   docs/formats/json.md
//   fragCsv(...)    one row per sample             fragSvg(...)    a picture, see frag_plot.h
//
// It describes the state after the last step of the range.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/forecast/forecast.h"
#include "analysis/growth/wall.h"
#include "analysis/layout/fragmentation_details.h"
#include "analysis/layout/fragmentation_series.h"
#include "analysis/layout/free_blocks.h"
#include "analysis/layout/pinned.h"
#include "analysis/oom/driver_free.h"
#include "report/words/range_summary.h"

namespace tidegauge::report {

enum class Arena : uint8_t { kReserved, kAddress };

struct FragOptions {
  size_t samples = 200;
  Arena arena = Arena::kReserved;  // the arena whose score is forecast
  std::optional<uint64_t> request_bytes{};
  std::optional<uint64_t> capacity_bytes{};  // of the device, as given by the user
  analysis::LayoutOptions layout{};
};

// One free list of the allocator, and how it would serve the request.
struct FitRow {
  analysis::FreeListKey key;
  uint64_t free_bytes = 0;
  uint64_t largest_request_bytes = 0;     // that it serves; 0: none
  uint64_t times = 0;                     // how many requests its free blocks hold, if one fits
  std::optional<uint64_t> block_bytes{};  // of the free block that it would use; absent: none fits
  uint64_t address = 0;                   // of that block
  uint64_t stranded_bytes = 0;            // free, but unusable for requests of that size
  uint64_t driver_bytes = 0;              // requested from the driver if none fits
};

struct FragReport {
  const analysis::DeviceAnalysis* device = nullptr;
  std::optional<analysis::StepRange> range;
  analysis::FragmentationSeries series;
  analysis::FragmentationDetails now;  // after the last step of the range
  analysis::Forecast forecast;         // of the arena's score, by its own slices
  analysis::Step forecast_steps_apart = 0;
  Arena arena = Arena::kReserved;
  analysis::Wall wall;  // of the whole recording
  analysis::Pinned pinned;
  std::vector<FitRow> lists;              // of the allocator, most free bytes first
  std::optional<uint64_t> request_bytes;  // if set, `fits` shows which list serves it
  uint64_t rounded_bytes = 0;             // the block that the request needs
  std::vector<FitRow> fits;
  std::vector<FitRow> typical_fits;                 // the same for series.request_bytes
  std::optional<analysis::DriverFree> driver_free;  // only without an allocator
  std::optional<uint64_t> total_bytes{};            // of the device, as given by the user

  const analysis::FragmentationSample& last() const { return series.samples.back(); }
  // Without known allocator rules, there are no lists and no fits. Without an allocator, no score
  // and no forecast either: nothing can be free inside segments.
  analysis::AllocatorKind allocator() const { return analysis::allocatorOf(device->device); }
  bool hasScore() const { return device->device.has_allocator; }
  bool rulesKnown() const { return allocator() == analysis::AllocatorKind::kCaching; }
  // True if a list of the main pool serves the request: blocks of other pools are not available to
  // everyone.
  bool served() const;
};

FragReport gatherFrag(const analysis::AnalysedTrace& analysed, const Chosen& chosen,
                      const FragOptions& options);
// How each list of the request's size class would serve it; `request_bytes` > 0.
std::vector<FitRow> fitRows(const analysis::FreeBlocks& free, uint64_t request_bytes);

const analysis::LayoutScore& scoreOf(const analysis::FragmentationSample& sample, Arena arena);
std::string_view name(Arena arena);  // "reserved", "address"
// The forecast has its own slices, however fine the picture or the table is.
inline constexpr size_t kForecastSlices = 200;
// Without an allocator there is nothing to forecast: reports too few samples.
analysis::Forecast forecastOf(const model::Device& device,
                              const analysis::FragmentationSeries& slices, Arena arena);
// Between the last two samples; 0 if there is only one.
analysis::Step stepsApart(const analysis::FragmentationSeries& slices);

struct FragTextOptions {
  size_t columns = 100;
  bool colour = false;
  size_t rows = 12;   // of the tables
  bool words = true;  // explains the heads of the table over time
};
std::string fragText(const analysis::AnalysedTrace& analysed, const FragReport& report,
                     const FragTextOptions& options);
// "Forecast no better than assuming no change (27.8)."
std::string forecastSentence(const FragReport& report);

nlohmann::json fragJson(const analysis::AnalysedTrace& analysed, const FragReport& report);
// null: not recorded.
nlohmann::json driverFreeJson(const std::optional<analysis::DriverFree>& free);
// The parts that the page requests individually.
nlohmann::json sampleJson(const analysis::DeviceAnalysis& device,
                          const analysis::FragmentationSample& sample);
nlohmann::json forecastJson(const analysis::Forecast& forecast);
nlohmann::json wallRowsJson(const analysis::Wall& wall);  // report_wall.cpp
nlohmann::json detailsJson(const analysis::AnalysedTrace& analysed, const model::Device& device,
                           const analysis::FragmentationDetails& details);

// CSV (base/csv.h) with a header; the rows of several devices share it.
std::string fragCsvHead();
std::string fragCsv(const FragReport& report);

}  // namespace tidegauge::report
