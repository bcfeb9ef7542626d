#include "wss/file/measurement_text.h"

#include <fmt/format.h>

#include "base/text_layout.h"
#include "wss/file/measurement_notes.h"
#include "wss/file/suggested_limit.h"
#include "wss/measure/grouping.h"
#include "wss/words/cold_text.h"
#include "wss/words/fit_text.h"
#include "wss/words/heat_text.h"
#include "wss/words/rolling_text.h"
#include "wss/words/row_text.h"

namespace tidegauge::wss {

std::string measurementText(const Measurement& measurement, size_t top, size_t columns,
                            bool colour) {
  const MeasurementHead& head = measurement.head;
  TextOptions options{.knows_sharing = head.knows_sharing && measurement.tells(&MappingSums::pss) &&
                                       measurement.tells(&MappingSums::shared),
                      .is_sampled = head.is_sampled,
                      .columns = columns,
                      .tells_writes = head.tells_writes,
                      .knows_huge = measurement.tells(&MappingSums::huge)};
  auto sentence = [&](const std::string& words) { return base::wrapped(words, columns, 0, 2); };
  std::string text =
      sentence(fmt::format("Memory {} by {} (process {}), measured with {}: {}.",
                           head.tells_writes ? "written" : "touched", base::printable(head.process),
                           head.pid, base::printable(head.backend), base::printable(head.how)));
  for (const std::string& note : notesOf(measurement)) text += sentence(base::printable(note));
  if (measurement.samples.empty()) return text + "No window was measured.\n";
  bool rolls = head.course == "rolling";
  const auto& samples = measurement.samples;
  text += rolls ? rollingHeader(samples.front().rolling, head.window_s) : rowHeader(options);
  Reuse reuse;
  std::vector<Touched> profile;
  for (const Measurement::Sample& sample : samples) {
    text += rolls ? rollingText(sample.row, sample.rolling, sample.time_s)
                  : rowText(sample.row, options);
    if (rolls) reuse.add(sample.rolling);
    profile.push_back(touchedIn(sample.row));
  }
  const Row& last = samples.back().row;
  if (head.course == "profile") text += "\n" + profileText(profile, head.machine, columns);
  if (head.course == "single")
    text += rowNotes(last, options) +
            (head.tells_writes ? writesText(last, options)
                               : fitText(profile.back(), last, head.machine, columns)) +
            cgroupText(last, columns);
  else
    for (const std::string& gap : gapsOf(last)) text += sentence(gap);
  if (!rolls && head.course != "snapshots") text += coldText(last, columns);
  if (rolls) text += paceText(measurement.pace(), head.window_s, columns);
  if (std::string again = reuse.text(head.window_s, columns); !again.empty()) text += "\n" + again;
  if (!measurement.heat.columns().empty() && !measurement.heat.addresses().empty())
    text += "\n" + heatText(measurement.heat, last.uses, columns, colour);
  if (!last.uses.empty())
    text += "\n" + groupsText(groupsOf(last, Grouping::kMapping), Grouping::kMapping, top, options);
  if (auto limit = suggestedLimit(measurement)) text += "\n" + sentence(limit->text());
  return text;
}

}  // namespace tidegauge::wss
