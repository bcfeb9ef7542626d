#include "readers/recording/open_recording.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "readers/recording/growing_recording.h"

namespace tidegauge::readers::recording {

bool isSqliteFile(const std::string& path) {
  static constexpr char kText[] = "SQLite format 3";  // and the zero byte at its end
  constexpr std::string_view kBegin{kText, sizeof(kText)};
  struct stat status {};
  // Never open a pipe: it would lose its first bytes.
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, kBegin.size()> bytes{};
  auto read = ::pread(file, bytes.data(), bytes.size(), 0);
  ::close(file);
  return read == static_cast<ssize_t>(kBegin.size()) &&
         std::memcmp(bytes.data(), kBegin.data(), kBegin.size()) == 0;
}

base::Result<std::vector<model::Trace>> openRecording(const std::string& path,
                                                      const ReadOptions& options) {
  GrowingRecording recording(path, {.driver_memory = options.driver_memory});
  return recording.read(options.progress);
}

}  // namespace tidegauge::readers::recording
