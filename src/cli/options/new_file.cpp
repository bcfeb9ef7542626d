#include "cli/options/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text_layout.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"

namespace tidegauge::cli {
namespace {

namespace fs = std::filesystem;

int notWritten(const std::string& path, int error) {
  complain(base::printable(
      fmt::format("tidegauge: {} could not be written: {}.", path, std::strerror(error))));
  return kNotWritten;
}

// 0, or errno.
int writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Opens, writes, closes; some file systems report a full disk only at the end. 0, or errno.
int fill(const std::string& path, int flags, std::string_view text) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  if (fd < 0) return errno;
  int error = writeAll(fd, text);
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

bool isSpecial(const std::string& path) {
  std::error_code ignored;
  fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// Where a symbolic link leads: the link itself stays.
std::string resolveLinks(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  fs::path target = fs::canonical(path, error);
  return error ? path : target.string();
}

// Why no file can be created in the folder of `path`: 0, or errno.
int noPlaceBeside(const fs::path& path) {
  fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return ::access((folder / "").c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

}  // namespace

int NewFile::existsAlready() const {
  return usageError(
      fmt::format("{} already exists", path_),
      fmt::format("Choose another file with {}, or overwrite it with --force", option_));
}

int NewFile::refuse(const std::string& input) const {
  if (isStandardOutput() || isSpecial(path_)) return 0;
  std::error_code ignored;
  fs::file_status status = fs::symlink_status(path_, ignored);
  if (fs::is_directory(status))
    return usageError(path_ + " is a folder",
                      fmt::format("Give the name of a file with {}", option_));
  if (fs::equivalent(path_, input == "-" ? "/dev/stdin" : input, ignored)) {
    return usageError(path_ + " is also the input file",
                      fmt::format("Choose another file with {}", option_));
  }
  if (fs::exists(status) && !overwrite_) return existsAlready();
  int error = noPlaceBeside(resolveLinks(path_));
  return error == 0 ? 0 : notWritten(path_, error);
}

int NewFile::write(std::string_view text) const {
  if (isStandardOutput()) {
    Output out;
    out.write(text);
    return out.finish(0);
  }
  if (isSpecial(path_)) {
    int error = fill(path_, 0, text);
    return error == 0 ? 0 : notWritten(path_, error);
  }
  std::string place = resolveLinks(path_);
  std::string part = fmt::format("{}.{}.part", place, ::getpid());
  if (int error = fill(part, O_CREAT | O_EXCL, text); error != 0) {
    if (error != EEXIST) ::unlink(part.c_str());
    return notWritten(path_, error);
  }
  return move(part, place);
}

int NewFile::move(const std::string& from, const std::string& to) const {
  // A link fails if the place was taken in the meantime; a rename would not.
  int outcome = overwrite_ ? ::rename(from.c_str(), to.c_str()) : ::link(from.c_str(), to.c_str());
  int error = outcome == 0 ? 0 : errno;
  bool no_links = error == EPERM || error == EOPNOTSUPP || error == ENOSYS;
  if (!overwrite_ && no_links) {  // as on FAT: the check of refuse() must do
    error = ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  }
  if (!(overwrite_ && error == 0)) ::unlink(from.c_str());
  if (error == EEXIST) return existsAlready();
  return error == 0 ? 0 : notWritten(path_, error);
}

}  // namespace tidegauge::cli
