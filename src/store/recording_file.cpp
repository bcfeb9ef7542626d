#include "store/recording_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "base/utf8.h"
#include "model/recording_format.h"
#include "store/recording_schema.h"

namespace tidegauge::store {
namespace {

// Suffixes of the file, and of SQLite's files beside it.
constexpr const char* kSuffixes[] = {"", "-wal", "-shm", "-journal"};
constexpr const char* kUnnamed = "-new";

base::Error systemError(const std::string& what, int code) {
  return {base::ErrorKind::kUnreadable, fmt::format("{}: {}", what, std::strerror(code)),
          std::nullopt, ""};
}

base::Error existsAlready(const std::string& path) {
  return {base::ErrorKind::kUsage, path + " already exists", std::nullopt,
          "Give another name, or --force to replace it."};
}

// What --force may remove: plain files (for a symbolic link, the link) that nothing records to.
base::Status mayReplace(const std::string& path) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) return base::okStatus();
  if (!S_ISREG(file.st_mode) && !S_ISLNK(file.st_mode))
    return base::Error{base::ErrorKind::kUsage, path + " is no plain file", std::nullopt,
                       "A recording needs a plain file: name another."};
  if (isBeingWritten(path))
    return base::Error{base::ErrorKind::kUsage, path + " is being recorded to by another tidegauge",
                       std::nullopt, "End that recording first, or give another name."};
  return base::okStatus();
}

bool isSameFile(const std::string& path, const std::string& other) {
  struct stat one {
  }, two{};
  return ::stat(path.c_str(), &one) == 0 && ::stat(other.c_str(), &two) == 0 &&
         one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct Free {
  void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
};
struct Image {
  std::unique_ptr<unsigned char, Free> bytes;
  size_t size = 0;
};

// An empty recording, as bytes of a file.
base::Result<Image> emptyRecording(std::string_view recorder) {
  sqlite3* made = nullptr;
  int rc = sqlite3_open_v2(":memory:", &made, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<sqlite3, Close> db(made);
  std::string sql = fmt::format(
      "PRAGMA page_size = 16384; BEGIN; PRAGMA application_id = {}; PRAGMA user_version = {}; {}{}"
      "INSERT INTO meta VALUES ('recorder', '{}'); COMMIT",
      model::kRecordingApplication, model::kRecordingVersion, kRecordingTables, kRecordingViews,
      recorder);
  if (rc == SQLITE_OK) rc = sqlite3_exec(made, sql.c_str(), nullptr, nullptr, nullptr);
  Image image;
  if (rc == SQLITE_OK) {
    sqlite3_int64 size = 0;
    image.bytes.reset(sqlite3_serialize(made, "main", &size, 0));
    image.size = static_cast<size_t>(size);
    if (image.bytes == nullptr) rc = SQLITE_NOMEM;
  }
  if (rc != SQLITE_OK)
    return base::Error{base::ErrorKind::kUnreadable,
                       fmt::format("a recording cannot be begun: {}", sqlite3_errstr(rc)),
                       {},
                       ""};
  // Read and write versions 2: with a write-ahead log (WAL).
  image.bytes.get()[18] = image.bytes.get()[19] = 2;
  return image;
}

base::Status writeAll(int file, std::span<const unsigned char> bytes, const std::string& path) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t wrote = ::write(file, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return systemError("cannot write " + path, wrote == 0 ? ENOSPC : errno);
    done += static_cast<size_t>(wrote);
  }
  if (::fdatasync(file) != 0 && errno != EINVAL && errno != EROFS)
    return systemError("cannot write " + path, errno);
  return base::okStatus();
}

// Renames the file from its temporary name. It replaces a file only if that is the previous part.
base::Status giveName(const std::string& unnamed, const std::string& path,
                      const std::string& follows) {
  if (!follows.empty() && isSameFile(path, follows)) {
    if (::rename(unnamed.c_str(), path.c_str()) == 0) return base::okStatus();
    return systemError("cannot create " + path, errno);
  }
  if (::renameat2(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
    return base::okStatus();
  if (errno == EINVAL || errno == ENOSYS) {  // not supported by the file system
    if (::access(path.c_str(), F_OK) == 0) return existsAlready(path);
    if (::rename(unnamed.c_str(), path.c_str()) == 0) return base::okStatus();
  }
  if (errno == EEXIST) return existsAlready(path);
  return systemError("cannot create " + path, errno);
}

}  // namespace

void lockByte(int file, int64_t byte, bool on) {
  struct flock lock {};
  lock.l_type = on ? F_WRLCK : F_UNLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  (void)::fcntl(file, F_OFD_SETLK, &lock);
}

bool isBeingWritten(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return false;
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = model::kWriterLockByte;
  lock.l_len = 1;
  bool held = ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
  ::close(file);
  return held;
}

bool isRecording(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr size_t kApplicationAt = 68;
  std::array<unsigned char, kApplicationAt + 4> head{};
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return false;
  struct stat status {};
  bool read = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
              ::pread(file, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size());
  ::close(file);
  if (!read || std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) return false;
  uint32_t application = 0;
  for (size_t i = 0; i < 4; ++i) application = application << 8 | head[kApplicationAt + i];
  return application == static_cast<uint32_t>(model::kRecordingApplication);
}

std::optional<std::string> metaOf(const std::string& path, const char* key) {
  if (!isRecording(path)) return std::nullopt;
  sqlite3* opened = nullptr;
  int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  std::unique_ptr<sqlite3, Close> db(opened);
  sqlite3_stmt* prepared = nullptr;
  if (code != SQLITE_OK || sqlite3_prepare_v2(db.get(), "SELECT value FROM meta WHERE key = ?1", -1,
                                              &prepared, nullptr) != SQLITE_OK)
    return std::nullopt;
  std::optional<std::string> value;
  sqlite3_bind_text(prepared, 1, key, -1, SQLITE_STATIC);
  if (sqlite3_step(prepared) == SQLITE_ROW)
    if (const unsigned char* text = sqlite3_column_text(prepared, 0); text != nullptr)
      value = reinterpret_cast<const char*>(text);
  sqlite3_finalize(prepared);
  return value;
}

void removeRecording(const std::string& path) {
  for (const char* suffix : kSuffixes) ::unlink((path + suffix).c_str());
}

base::Result<int> beginRecordingFile(const std::string& path, const WriterOptions& options) {
  if (options.replace) {
    TG_RETURN_IF_ERROR(mayReplace(path));
    for (const char* suffix : kSuffixes) {
      if (::unlink((path + suffix).c_str()) != 0 && errno != ENOENT) {
        return systemError("cannot replace " + path + suffix, errno);
      }
    }
  }
  struct stat there {};
  bool is_before = !options.follows.empty() && isSameFile(path, options.follows);
  if (::lstat(path.c_str(), &there) == 0 && !is_before) return existsAlready(path);
  // SQLite would use a journal left behind by another file of this name.
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    if (::access((path + suffix).c_str(), F_OK) == 0) {
      return base::Error{base::ErrorKind::kUsage, fmt::format("{}{} already exists", path, suffix),
                         std::nullopt, "Give another name, or --force."};
    }
  }
  std::string recorder =
      base::repairedUtf8(options.recorder.empty() ? "tidegauge" : options.recorder);
  std::erase_if(recorder, [](char c) { return c == '\'' || c == '\0'; });
  TG_ASSIGN_OR_RETURN(Image image, emptyRecording(recorder));
  std::string unnamed = path + kUnnamed;
  // Left by a recorder that was killed at that moment.
  if (isRecording(unnamed) && !isBeingWritten(unnamed)) ::unlink(unnamed.c_str());
  // Command lines, arguments of kernels and stacks concern its owner alone. SQLite gives the files
  // beside it the same mode.
  int file = ::open(unnamed.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 && errno == EEXIST)
    return base::Error{base::ErrorKind::kUsage, unnamed + " already exists", std::nullopt,
                       isRecording(unnamed)
                           ? "Another recorder begins a recording under this name: give another."
                           : "A recording begins under this name: remove it, or give another."};
  if (file < 0) return systemError("cannot create " + path, errno);
  lockByte(file, model::kWriterLockByte, true);
  lockByte(file, model::kEndingLockByte, true);
  base::Status status = writeAll(file, {image.bytes.get(), image.size}, path);
  if (status.ok()) status = giveName(unnamed, path, options.follows);
  if (!status.ok()) {
    ::unlink(unnamed.c_str());
    ::close(file);
    return std::move(status.error());
  }
  return file;
}

}  // namespace tidegauge::store
