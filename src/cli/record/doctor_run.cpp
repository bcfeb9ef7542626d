// runDoctor in builds with the recorder; see record_missing.cpp.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/options/output.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "cli/record/record_options.h"
#include "doctor/doctor_text.h"
#include "record/kernel/probes.h"
#include "wss/choice/abilities.h"

namespace tidegauge::cli {

int runDoctor(const DoctorOptions& options) {
  for (const std::string& path : options.libraries) {
    if (access(path.c_str(), R_OK) != 0)
      return usageError(fmt::format("{} cannot be read", shownPath(path)));
    if (!record::libraryKind(path))
      return usageError(fmt::format("record does not watch the library {}", shownPath(path)),
                        "It watches libcuda.so.*, libcudart.so.* and libc10_cuda.so");
  }
  doctor::Diagnosis diagnosis{doctor::lookAtMachine(), doctor::findLibraries(options.libraries)};
  Output out;
  auto backends = wss::lookAtBackends();
  if (options.json) {
    nlohmann::json json = doctor::diagnosisJson(diagnosis);
    json["working_sets"] = wss::abilitiesJson(backends);
    out.print("{}\n", json.dump(2));
  } else {
    out.write(doctor::diagnosisText(diagnosis, pageColumns()));
    out.write("\nWorking sets (tidegauge wss)\n" + wss::abilitiesText(backends, pageColumns()));
  }
  return out.finish(doctor::canRecord(diagnosis.facts) ? 0 : 4);
}

}  // namespace tidegauge::cli
