// One HTML file that shows a recording without a server: the page of `tidegauge view` with the
// answers to what its overview, timeline and flame views ask, as many as fit.
//
//   in every page     session, overview, annotations, lines, flames of the range
//   at some steps     what happened there, what was live, the legend      page_places.h
//   at some zooms     tiles and lines, level by level                     page_pyramid.h
//   of some blocks    all that is known of the largest that are drawn     page_places.h
//
// What is asked is what the page asks (docs/formats/page-api.md); who answers is a parameter, so
// that this folder knows no server. The file: docs/formats/one-file-page.md.
// Cost: the answers, at most as many as fit; a level that does not fit is asked in vain.
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
  std::vector<Chosen> devices;  // as choose() gives them
  Ask ask;
  std::string_view shell;  // assets::oneFilePage()
  std::string written;     // "2026-11-21"
  size_t most_bytes = 5'000'000;
};

// What the page holds of a device.
struct PageDevice {
  int32_t ordinal = 0;
  std::string label;
  analysis::StepRange range;
  bool whole = true;             // the range is the recording
  analysis::Step events = 0;     // 0: no timeline
  uint32_t coarsest_level = 0;   // a column of level L is 2^L steps
  uint32_t finest_level = 0;     // in the range; elsewhere the nearest level that is there
  uint32_t row_level = 0;        // log2 of the bytes per pixel row
  size_t places = 0;             // steps of the range that are described
  size_t allocations = 0;        // that are drawn and described
  size_t allocations_drawn = 0;  // of so many
  uint64_t least_bytes = 0;      // the smallest that is described, if not all are
};

struct OneFilePage {
  std::string html;
  std::vector<PageDevice> devices;
};

// Errors: kUsage if not even the overview and one picture fit; kMissingFeature without a shell.
base::Result<OneFilePage> oneFilePage(const PageQuestion& question);

}  // namespace tidegauge::exporting
