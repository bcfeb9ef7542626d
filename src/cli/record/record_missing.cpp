// The commands of the recorder in builds without it: no clang, no libbpf, or another processor.
#include "cli/open_trace.h"
#include "cli/record/record_options.h"
#include "cli/watch/live_options.h"

namespace tidegauge::cli {
namespace {

int sayMissing() {
  return reportError({base::ErrorKind::kMissingFeature,
                      "this tidegauge was built without the recorder",
                      {},
                      "Install clang, libbpf-dev, libelf-dev and libdw-dev on an x86-64 machine "
                      "and build again. `tidegauge wss --probe` shows what wss can do here"});
}

}  // namespace

int runRecord(const RecordOptions&) { return sayMissing(); }
int runDoctor(const DoctorOptions&) { return sayMissing(); }
int runMonitor(const MonitorOptions&) { return sayMissing(); }
int runTop(const TopOptions&) { return sayMissing(); }

}  // namespace tidegauge::cli
