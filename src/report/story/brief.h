// The default report: the answer first, on one page of the terminal.
//
//   oom.pickle.zst: 12.1 MiB, 37,378 events
//   cuda:0: Out of memory at step 812
//     a chart of 8 rows (level_chart.h)
//     What happened  The program requested 4,008 MiB. The driver had 3,842 MiB free, …
//     Why            Fragmentation. …
//     What helps     PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
//                    In a replay with this setting, no request fails (one did), …
//     Who holds it   10.2 GiB  29.0 %   212 ×  model.py:10 layer0 ‹ train.py:30 step
//     What is odd    - …
//     More           --full …
//
// The device with the worst out-of-memory event, else with the highest peak, is described; each of
// the others has a line. Sentences are those of the full report (story.h), the first ones of each
// kind: as many as fit into TextOptions::lines.
#pragma once

#include <string>
#include <vector>

#include "report/words/range_summary.h"
#include "report/words/text_options.h"

namespace tidegauge::report {

// Whole devices only: a range has its own short form (report_text.h).
std::string briefText(const analysis::AnalysedTrace& analysed, const std::vector<Chosen>& devices,
                      const TextOptions& options);

}  // namespace tidegauge::report
