#include "record/cubin/lz4_block.h"

#include <algorithm>

namespace tidegauge::record {
namespace {

constexpr size_t kLeastMatch = 4;
constexpr size_t kMoreFollows = 15;  // a length of four bits that is continued in further bytes
// LZ4 packs a byte into no less than 1/255 of one.
constexpr uint64_t kMaxRatio = 255;

class Block {
 public:
  Block(std::span<const uint8_t> bytes, uint64_t size) : bytes_(bytes), size_(size) {
    out_.reserve(std::min<uint64_t>(size, bytes.size() * kMaxRatio));
  }

  bool unpack() {
    while (at_ < bytes_.size() && out_.size() < size_) {
      uint8_t token = bytes_[at_++];
      std::optional<uint64_t> literals = length(token >> 4);
      if (!literals || !copyLiterals(*literals)) return false;
      if (at_ == bytes_.size()) return true;  // the last sequence has no match
      if (!copyMatch(token & 15)) return false;
    }
    return true;
  }
  std::vector<uint8_t> out() { return std::move(out_); }

 private:
  std::optional<uint64_t> length(uint64_t first) {
    uint64_t sum = first;
    for (uint8_t more = first == kMoreFollows ? 255 : 0; more == 255; sum += more) {
      if (at_ == bytes_.size()) return std::nullopt;
      more = bytes_[at_++];
    }
    return sum;
  }
  bool copyLiterals(uint64_t count) {
    if (count > bytes_.size() - at_ || count > size_ - out_.size()) return false;
    auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
    out_.insert(out_.end(), from, from + static_cast<std::ptrdiff_t>(count));
    at_ += count;
    return true;
  }
  // What is copied may overlap what it makes, so it goes byte by byte.
  bool copyMatch(uint64_t code) {
    if (bytes_.size() - at_ < 2) return false;
    size_t offset = bytes_[at_] | static_cast<size_t>(bytes_[at_ + 1]) << 8;
    at_ += 2;
    std::optional<uint64_t> more = length(code);
    if (!more || offset == 0 || offset > out_.size()) return false;
    uint64_t count = *more + kLeastMatch;
    if (count > size_ - out_.size()) return false;
    for (size_t from = out_.size() - offset; count > 0; --count) out_.push_back(out_[from++]);
    return true;
  }

  std::span<const uint8_t> bytes_;
  uint64_t size_;
  size_t at_ = 0;
  std::vector<uint8_t> out_;
};

}  // namespace

std::optional<std::vector<uint8_t>> unpackLz4(std::span<const uint8_t> block, uint64_t size) {
  Block reader(block, size);
  if (!reader.unpack()) return std::nullopt;
  return reader.out();
}

}  // namespace tidegauge::record
