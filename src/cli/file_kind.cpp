#include "cli/file_kind.h"

#include "readers/recording/open_recording.h"
#include "wss/file/measurement.h"

namespace tidegauge::cli {

FileKind kindOf(const std::string& path) {
  if (path == "-") return FileKind::kSnapshot;
  if (readers::recording::isSqliteFile(path)) return FileKind::kRecording;
  if (wss::isMeasurementFile(path)) return FileKind::kWorkingSet;
  return FileKind::kSnapshot;
}

}  // namespace tidegauge::cli
