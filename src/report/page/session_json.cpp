// A file of the page's session: its devices, their peaks and out-of-memory events.
#include <algorithm>

#include "analysis/oom/oom_verdict.h"
#include "report/page/page_json.h"
#include "report/story/file_json.h"
#include "report/words/holders_json.h"
#include "report/words/incomplete_words.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using nlohmann::json;

// The page draws only steps.
json pagePeakJson(const analysis::Peak& peak, bool is_at_least = false) {
  return {{"bytes", peak.bytes},
          {"step", peak.step},
          {"at_start", peak.at_start},
          {"at_least", is_at_least}};
}

bool isPeakOfAllAtLeast(const AnalysedTrace& analysed, const analysis::DeviceAnalysis& device) {
  analysis::Step steps = device.totals.steps();
  return steps > 0 && analysis::isPeakAtLeast(analysed, device, 0, steps - 1);
}

}  // namespace

json sessionFileJson(const AnalysedTrace& analysed, size_t file_id, const std::string& name) {
  json file = fileJson(analysed);
  file["id"] = file_id;
  // People identify the file by its last name; the tooltip shows the whole path.
  file["path"] = clean(analysed.trace.source.name);
  file["name"] = clean(name);
  json devices = json::array();
  for (const auto& device : analysed.devices) {
    const analysis::TotalsIndex& totals = device->totals;
    json ooms = json::array();
    uint64_t oom_count = 0;
    std::optional<uint64_t> ceiling;
    for (const analysis::OomReport& oom : analysis::oomsOf(analysed, *device, 0)) {
      oom_count += 1;
      if (ooms.size() < 1000) {
        ooms.push_back({{"step", oom.step},
                        {"time_us", timeJson(*device, oom.step)},
                        {"requested_bytes", orNull(oom.requested_bytes)},
                        {"device_free_bytes", orNull(oom.device_free_bytes)},
                        {"reserved_bytes", oom.totals.reserved_bytes}});
      }
      ceiling = std::max(ceiling, oom.ceilingBytes());  // absent counts as the least
    }
    const model::Device& d = device->device;
    json gaps = json::array();
    for (model::Step gap : d.gaps) {
      if (gaps.size() == 1000) break;
      gaps.push_back({{"step", gap}, {"time_us", timeJson(*device, gap)}});
    }
    bool timed = device->time.present();
    devices.push_back(
        {{"ordinal", d.ordinal},
         {"kind", d.kind == model::DeviceKind::kGpu ? "gpu" : "pinned_host"},
         {"label", analysis::deviceLabel(d)},
         {"events", d.steps()},
         {"allocations", d.allocation_end - d.allocation_begin},
         {"segments", d.segment_end - d.segment_begin},
         {"first_time_us", timed ? json(device->time.firstUs()) : json()},
         {"last_time_us", timed ? json(device->time.lastUs()) : json()},
         {"peak",
          {{"requested", pagePeakJson(totals.peakRequested())},
           {"active", pagePeakJson(totals.peakActive(), isPeakOfAllAtLeast(analysed, *device))},
           {"reserved", pagePeakJson(totals.peakReserved(),
                                     model::boundsOf(d).reserved == model::Bound::kAtLeast)}}},
         {"initial", totalsJson(d, totals.initial())},
         {"final", totalsJson(d, totals.last())},
         {"ceiling_bytes", orNull(ceiling)},
         {"ceiling_at_most", analysis::unmappedBytes(analysed, *device) > 0},
         {"oom_count", oom_count},
         {"gaps", gaps},
         {"ooms", ooms}});
  }
  file["devices"] = devices;
  file["incomplete"] = incompleteRows(incompleteOf(analysed));
  return file;
}

}  // namespace tidegauge::report
