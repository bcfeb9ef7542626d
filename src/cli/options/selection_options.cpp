#include "cli/options/selection_options.h"

#include <fmt/format.h>

#include "analysis/summary.h"
#include "base/text_layout.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"

namespace tidegauge::cli {

void addSelectionOptions(CLI::App& command, report::Selection& selection, const std::string& end) {
  command
      .add_option("--device", selection.device,
                  "Only this device: 0, 1, …; -1 is pinned host memory")
      ->check(integer(-1, INT32_MAX))
      ->type_name("N");
  command
      .add_option("--from", selection.from,
                  "Start at a step (3101), a time (2.5s, 350ms) "
                  "or an annotation (backward, backward#2)")
      ->type_name("PLACE");
  command.add_option(end, selection.to, "End at a step, a time or the end of an annotation")
      ->type_name("PLACE");
}

void sayLeftOut(const report::Choice& choice) {
  for (const base::Error& why : choice.absent) {
    complain(base::printable("tidegauge: left out: " + why.what + "."));
  }
}

void sayChoice(const report::Choice& choice) {
  sayLeftOut(choice);
  for (const report::Chosen& chosen : choice.devices) {
    if (!chosen.range) continue;
    std::string label = analysis::deviceLabel(chosen.device->device);
    for (const std::string& note : chosen.range->notes) {
      complain(base::printable(fmt::format("tidegauge: {}: {}", label, note)));
    }
  }
}

}  // namespace tidegauge::cli
