#include "readers/recording/follow_recording.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "readers/recording/file/growth.h"
#include "readers/recording/file/held_file.h"

namespace tidegauge::readers::recording {
namespace {

constexpr int kMaxTries = 20;

}  // namespace

RecordingFollower::RecordingFollower(std::string path) : path_(std::move(path)) {}

base::Status RecordingFollower::findFile() {
  if (books_ != nullptr && books_->of().isAt(path_)) return base::okStatus();
  auto file = heldFile(path_);
  if (file == nullptr) {
    return base::Error{base::ErrorKind::kUnreadable,
                       fmt::format("{} cannot be read: {}", path_, std::strerror(errno)),
                       std::nullopt,
                       "Perhaps it was moved or deleted. The other views still show it."};
  }
  books_ = std::make_unique<RecordingBooks>(std::move(file));
  return base::okStatus();
}

base::Result<model::LiveSnapshot> RecordingFollower::lookOnce(const model::LiveWish& wish) {
  bool waits = letPartEnd(path_);
  TG_RETURN_IF_ERROR(findFile());
  // Before the file is read: an end that is written in between is seen by the next look.
  bool has_writer = books_->of().hasWriter();
  TG_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::open(path_));
  for (int i = 0; waits && books_->of().isEnding() && i < kMaxTries; ++i) {
    { auto closed = std::move(file); }
    waits = letPartEnd(path_);
    TG_RETURN_IF_ERROR(findFile());
    has_writer = books_->of().hasWriter();
    TG_ASSIGN_OR_RETURN(file, SqliteFile::open(path_));
  }
  if (!books_->of().isAt(path_)) {
    return base::Error{base::ErrorKind::kUnreadable, path_ + " was replaced while it was opened",
                       std::nullopt, "Ask again."};
  }
  TG_RETURN_IF_ERROR(books_->read(file));
  return books_->look(file, wish, has_writer);
}

base::Result<model::LiveSnapshot> RecordingFollower::look(const model::LiveWish& wish) {
  std::lock_guard lock(mutex_);
  // Where the next part of a recording begins there is for a moment no file of that name, or one
  // with nothing in it.
  bool was_read = books_ != nullptr;
  for (int i = 0;; ++i) {
    bool is_same = books_ != nullptr && books_->of().isAt(path_);
    auto snapshot = lookOnce(wish);
    if (snapshot.ok() || is_same || !was_read || i == kMaxTries) return snapshot;
    books_.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace tidegauge::readers::recording
