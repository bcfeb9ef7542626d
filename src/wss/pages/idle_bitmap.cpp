#include "wss/pages/idle_bitmap.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <span>

namespace tidegauge::wss {
namespace {

constexpr uint64_t kFrames = 64;
constexpr size_t kWordsOfACall = 512;  // sysfs takes 4 KiB

}  // namespace

void IdleBitmap::add(uint64_t frame) {
  uint64_t number = frame / kFrames;
  if (words_.empty() || words_.back().number != number) {
    assert(words_.empty() || words_.back().number < number);
    words_.push_back({number, 0});
  }
  words_.back().bits |= uint64_t{1} << frame % kFrames;
}

// Calls transfer(file, index of the first word, count) for words that lie one behind the other.
template <class Transfer>
base::Status IdleBitmap::eachRun(int flags, const Transfer& transfer) const {
  int file = open(path_.c_str(), flags | O_CLOEXEC);
  bool is_good = file >= 0;
  for (size_t i = 0, count = 0; is_good && i < words_.size(); i += count) {
    for (count = 1; i + count < words_.size() && count < kWordsOfACall &&
                    words_[i + count].number == words_[i].number + count;)
      ++count;
    is_good = transfer(file, i, count);
  }
  int error_number = errno;
  if (file >= 0) close(file);
  if (is_good) return base::okStatus();
  return base::Error{
      base::ErrorKind::kUnreadable,
      fmt::format("{} cannot be {}: {}", path_, flags == O_RDONLY ? "read" : "written",
                  std::strerror(error_number)),
      std::nullopt, ""};
}

base::Status IdleBitmap::mark() const {
  return eachRun(O_WRONLY, [&](int file, size_t first, size_t count) {
    std::array<uint64_t, kWordsOfACall> bits{};
    for (size_t i = 0; i < count; ++i) bits[i] = words_[first + i].bits;
    return pwrite(file, bits.data(), count * sizeof(uint64_t),
                  static_cast<off_t>(words_[first].number * sizeof(uint64_t))) >= 0;
  });
}

base::Status IdleBitmap::look() {
  at_ = 0;
  return eachRun(O_RDONLY, [&](int file, size_t first, size_t count) {
    std::array<uint64_t, kWordsOfACall> bits{};
    // The kernel (6.12) does not give the last word if memory ends in its middle: that seems
    // touched.
    if (pread(file, bits.data(), count * sizeof(uint64_t),
              static_cast<off_t>(words_[first].number * sizeof(uint64_t))) < 0)
      return false;
    for (size_t i = 0; i < count; ++i) words_[first + i].bits = bits[i];
    return true;
  });
}

bool IdleBitmap::isIdle(uint64_t frame) {
  while (words_[at_].number < frame / kFrames) ++at_;
  return (words_[at_].bits >> frame % kFrames & 1) != 0;
}

}  // namespace tidegauge::wss
