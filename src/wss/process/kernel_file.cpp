#include "wss/process/kernel_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "wss/process/process.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kMaxText = size_t{64} << 20;  // a table of 65,535 cgroups on 8 nodes has 40 MB

base::Error failed(const std::string& path, std::string_view what, int error_number) {
  bool may_not = error_number == EACCES || error_number == EPERM;
  return {may_not ? base::ErrorKind::kMissingFeature : base::ErrorKind::kUnreadable,
          fmt::format("{} {}: {}", path, what, std::strerror(error_number)), std::nullopt,
          may_not ? "Run as root" : ""};
}

}  // namespace

base::Result<std::string> readKernelFile(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed(path, "cannot be read", errno);
  int error_number = 0;
  std::string text = readAll(file, kMaxText, error_number);
  close(file);
  if (error_number != 0) return failed(path, "cannot be read", error_number);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

int writeKernelFile(const std::string& path, std::string_view text) {
  int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  ssize_t written = 0;
  do written = write(file, text.data(), text.size());
  while (written < 0 && errno == EINTR);
  int error_number = written < 0 ? errno : 0;
  close(file);
  return error_number;
}

base::Status setKernelFile(const std::string& path, std::string_view text) {
  int error_number = writeKernelFile(path, text);
  if (error_number == 0) return base::okStatus();
  return failed(path, fmt::format("does not take \"{}\"", text), error_number);
}

base::Error missingFeature(std::string what, std::string hint) {
  return {base::ErrorKind::kMissingFeature, std::move(what), std::nullopt, std::move(hint)};
}

base::Error unreadable(std::string what, std::string hint) {
  return {base::ErrorKind::kUnreadable, std::move(what), std::nullopt, std::move(hint)};
}

}  // namespace tidegauge::wss
