#include "record/cubin/fat_binary.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "record/cubin/lz4_block.h"

namespace tidegauge::record {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint32_t kContainerMagic = 0xba55ed50;
constexpr size_t kContainerHeader = 16;
constexpr size_t kEntryHeader = 64;
constexpr uint16_t kElf = 2;
constexpr uint16_t kSeveral = 0x100;           // packed as one, by `fatbinary --concat`
constexpr uint64_t kPacked = 0x2000 | 0x8000;  // LZ4, zstd
// Of kSeveral, after the header: their number, 4 bytes, and then each {kind, 2 bytes, u32 offset in
// what is unpacked, u64 size, 48 bytes}.
constexpr size_t kSeveralHeader = 8;
constexpr size_t kPartHeader = 64;
constexpr uint32_t kZstdMagic = 0xfd2fb528;
constexpr uint64_t kMaxCubinBytes = uint64_t{1} << 30;
constexpr size_t kContainerAlignment = 8;

template <class Int>
Int at(Bytes bytes, size_t offset) {
  Int value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

struct Entry {
  uint16_t kind = 0;
  Bytes header;  // what follows its fixed part
  Bytes data;
  bool is_packed = false;
  uint64_t unpacked_bytes = 0;
};

// The entry at the beginning of `rest`, which it is then taken from.
std::optional<Entry> nextEntry(Bytes& rest) {
  if (rest.size() < kEntryHeader) return std::nullopt;
  Entry entry;
  entry.kind = at<uint16_t>(rest, 0);
  auto header = at<uint32_t>(rest, 4);
  auto padded = at<uint64_t>(rest, 8);
  auto packed = at<uint32_t>(rest, 16);
  auto flags = at<uint64_t>(rest, 40);
  entry.unpacked_bytes = at<uint64_t>(rest, 56);
  if (header < kEntryHeader || header > rest.size() || padded > rest.size() - header)
    return std::nullopt;
  entry.header = rest.subspan(kEntryHeader, header - kEntryHeader);
  entry.data = rest.subspan(header, padded);
  entry.is_packed = packed != 0 && entry.unpacked_bytes != 0;
  if ((flags & kPacked) != 0 && !entry.is_packed) return std::nullopt;
  if (entry.is_packed) {
    if (packed > padded || entry.unpacked_bytes > kMaxCubinBytes) return std::nullopt;
    entry.data = entry.data.first(packed);
  }
  rest = rest.subspan(header + padded);
  return entry;
}

std::optional<std::vector<uint8_t>> unpackZstd(Bytes data, uint64_t size) {
  // The size in a header may be a lie: the memory follows what the data gives.
  constexpr uint64_t kMaxRatio = 4096;
  std::vector<uint8_t> out(std::min(size, data.size() * kMaxRatio));
  size_t got = ZSTD_decompress(out.data(), out.size(), data.data(), data.size());
  if (ZSTD_isError(got) != 0) return std::nullopt;
  out.resize(got);
  return out;
}

std::optional<std::vector<uint8_t>> unpacked(const Entry& entry) {
  bool is_zstd = entry.data.size() >= 4 && at<uint32_t>(entry.data, 0) == kZstdMagic;
  return is_zstd ? unpackZstd(entry.data, entry.unpacked_bytes)
                 : unpackLz4(entry.data, entry.unpacked_bytes);
}

class Section {
 public:
  Section(Cubins which, const std::function<void(Bytes)>& visit) : which_(which), visit_(visit) {}

  // Takes the container at the beginning, and returns its size; 0: there is none.
  size_t container(Bytes bytes) {
    if (bytes.size() < kContainerHeader || at<uint32_t>(bytes, 0) != kContainerMagic) return 0;
    auto header = at<uint16_t>(bytes, 6);
    auto size = at<uint64_t>(bytes, 8);
    if (header < kContainerHeader || header > bytes.size() || size > bytes.size() - header) {
      ++counts_.damaged;
      return 0;
    }
    ++counts_.containers;
    entries(bytes.subspan(header, size));
    return header + size;
  }
  FatBinaryCounts counts() const { return counts_; }

 private:
  void entries(Bytes rest) {
    std::optional<Entry> smallest;
    while (!rest.empty()) {
      std::optional<Entry> entry = nextEntry(rest);
      if (!entry) {
        ++counts_.damaged;
        break;
      }
      if (entry->kind == kSeveral) {
        several(*entry);
        continue;
      }
      if (entry->kind != kElf) continue;
      ++counts_.cubins;
      if (which_ == Cubins::kAll)
        take(*entry);
      else if (!smallest || sizeOf(*entry) < sizeOf(*smallest))
        smallest = entry;
    }
    if (smallest) take(*smallest);
  }
  void several(const Entry& entry) {
    auto all = entry.is_packed ? unpacked(entry) : std::nullopt;
    if (!all || entry.header.size() < kSeveralHeader) {
      ++counts_.damaged;
      return;
    }
    Bytes parts = entry.header.subspan(kSeveralHeader);
    uint64_t count = std::min<uint64_t>(at<uint32_t>(entry.header, 0), parts.size() / kPartHeader);
    std::optional<Bytes> smallest;
    for (uint64_t i = 0; i < count; ++i, parts = parts.subspan(kPartHeader)) {
      if (at<uint16_t>(parts, 0) != kElf) continue;
      auto offset = at<uint32_t>(parts, 4);
      auto size = at<uint64_t>(parts, 8);
      if (offset > all->size() || size > all->size() - offset) {
        ++counts_.damaged;
        continue;
      }
      ++counts_.cubins;
      Bytes cubin = Bytes(*all).subspan(offset, size);
      if (which_ == Cubins::kAll)
        give(cubin);
      else if (!smallest || cubin.size() < smallest->size())
        smallest = cubin;
    }
    if (smallest) give(*smallest);
  }
  void give(Bytes cubin) {
    ++counts_.unpacked;
    visit_(cubin);
  }
  static uint64_t sizeOf(const Entry& entry) {
    return entry.is_packed ? entry.unpacked_bytes : entry.data.size();
  }
  void take(const Entry& entry) {
    if (!entry.is_packed) {
      give(entry.data);
      return;
    }
    auto cubin = unpacked(entry);
    if (!cubin) {
      ++counts_.damaged;
      return;
    }
    give(*cubin);
  }

  Cubins which_;
  const std::function<void(Bytes)>& visit_;
  FatBinaryCounts counts_;
};

}  // namespace

FatBinaryCounts eachCubin(Bytes section, Cubins which, const std::function<void(Bytes)>& visit) {
  Section reader(which, visit);
  // Between containers there is padding.
  for (size_t at = 0; at < section.size();) {
    size_t taken = reader.container(section.subspan(at));
    at += std::max(taken, kContainerAlignment);
    at += (kContainerAlignment - at % kContainerAlignment) % kContainerAlignment;
  }
  return reader.counts();
}

}  // namespace tidegauge::record
