// One HTML file that shows a recording without a server: the page of `tidegauge view` with the
// answers for its overview, timeline and flame views, as many as fit.
//
//   in every page     session, overview, annotations, lines, flames of the range
//   for some steps    what happened there, what was live, the legend      page_places.h
//   at some zooms     tiles and lines, level by level                     page_pyramid.h
//   for some blocks   all details of the largest that are drawn           page_places.h
//
// The questions are those of the page (docs/formats/page-api.md). The function that answers them is
// a parameter, so that this folder does not depend on the server. The file:
// docs/formats/one-file-page.md. Cost: the answers that fit; the answer for a level that does not
// fit is discarded.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/words/range_summary.h"

namespace tidegauge::exporting {

// The body of the answer to "overview?device=0".
using Ask = std::function<base::Result<std::string>(const std::string& question)>;

struct PageQuestion {
  const analysis::AnalysedTrace& analysed;
  std::vector<report::Chosen> devices;  // as choose() gives them
  Ask ask;
  std::string_view shell;  // assets::oneFilePage()
  std::string written;     // "2026-11-21"
  size_t most_bytes = 5'000'000;
};

// What the page contains about a device.
struct PageDevice {
  int32_t ordinal = 0;
  std::string label;
  analysis::StepRange range;
  bool whole = true;             // the range is the whole recording
  analysis::Step events = 0;     // 0: no timeline
  uint32_t coarsest_level = 0;   // a column of level L is 2^L steps
  uint32_t finest_level = 0;     // within the range; elsewhere the nearest level in the page
  uint32_t row_level = 0;        // log2 of the bytes per pixel row
  size_t places = 0;             // steps of the range that are described
  size_t allocations = 0;        // allocations drawn and described
  size_t allocations_drawn = 0;  // all that are drawn
  uint64_t least_bytes = 0;      // the smallest one described, if not all are
};

struct OneFilePage {
  std::string html;
  std::vector<PageDevice> devices;
};

// Errors: kUsage if not even the overview and one picture fit; kMissingFeature without a shell.
base::Result<OneFilePage> oneFilePage(const PageQuestion& question);

}  // namespace tidegauge::exporting
