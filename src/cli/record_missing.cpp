// runRecord where the recorder could not be built: no clang, no libbpf, or another processor.
#include "cli/open_trace.h"
#include "cli/record_options.h"

namespace tidegauge::cli {

int runRecord(const RecordOptions&) {
  return reportError({base::ErrorKind::kMissingFeature,
                      "this tidegauge was built without the recorder",
                      {},
                      "Install clang, libbpf-dev, libelf-dev and libdw-dev on an x86-64 machine "
                      "and build again"});
}

}  // namespace tidegauge::cli
