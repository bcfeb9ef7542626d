#include "cli/options/selection_options.h"

#include <fmt/format.h>

#include "analysis/summary.h"
#include "base/text_layout.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"

namespace tidegauge::cli {

void addSelectionOptions(CLI::App& command, exporting::Selection& selection,
                         const std::string& end) {
  command.add_option("--device", selection.device, "This device only: 0, 1, …; -1 = pinned memory")
      ->check(integer(-1, INT32_MAX))
      ->type_name("N");
  command
      .add_option("--from", selection.from,
                  "From here: a step (3101), a time since the first event (2.5s, 350ms) or the "
                  "name of an annotation (backward, backward#2 for the second of that name)")
      ->type_name("PLACE");
  command.add_option(end, selection.to, "To here, as --from; the end of an annotation")
      ->type_name("PLACE");
}

void sayLeftOut(const exporting::Choice& choice) {
  for (const base::Error& why : choice.absent) {
    complain(base::printable("tidegauge: left out: " + why.what + "."));
  }
}

void sayChoice(const exporting::Choice& choice) {
  sayLeftOut(choice);
  for (const exporting::Chosen& chosen : choice.devices) {
    if (!chosen.range) continue;
    std::string label = analysis::deviceLabel(chosen.device->device);
    for (const std::string& note : chosen.range->notes) {
      complain(base::printable(fmt::format("tidegauge: {}: {}", label, note)));
    }
  }
}

}  // namespace tidegauge::cli
