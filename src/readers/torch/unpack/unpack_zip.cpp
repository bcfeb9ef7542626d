#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "readers/torch/unpack/unpack.h"

namespace tidegauge::readers::torch {
namespace {

using base::Error;
using base::ErrorKind;

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kDirectoryEnd = 0x06054b50;
constexpr uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr uint32_t kDirectoryEnd64Locator = 0x07064b50;
constexpr size_t kDirectoryEndBytes = 22;
constexpr size_t kDirectoryEntryBytes = 46;
constexpr size_t kLocalHeaderBytes = 30;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kZip64Extra = 1;
enum Method : uint16_t { kStored = 0, kDeflate = 8, kZstd = 93 };

Error damaged(uint64_t offset, std::string_view what) {
  return {ErrorKind::kUnreadable, fmt::format("the zip file is damaged ({})", what), offset,
          "Copy the file again."};
}

// Little-endian numbers at offsets that are checked against the input's size first.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> input) : input_(input) {}
  bool has(uint64_t offset, uint64_t count) const {
    return offset <= input_.size() && count <= input_.size() - offset;
  }
  template <class T>
  T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, input_.data() + offset, sizeof value);
    return value;
  }
  std::span<const uint8_t> part(uint64_t offset, uint64_t count) const {
    return input_.subspan(offset, count);
  }
  uint64_t size() const { return input_.size(); }

 private:
  std::span<const uint8_t> input_;
};

struct Directory {
  uint64_t offset = 0;
  uint64_t entries = 0;
};

// The end record is last in the file, except for a comment of at most 64 KiB.
std::optional<Directory> findDirectory(const Bytes& bytes) {
  constexpr uint64_t kMaxComment = 0xffff;
  if (bytes.size() < kDirectoryEndBytes) return std::nullopt;
  uint64_t last = bytes.size() - kDirectoryEndBytes;
  uint64_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (bytes.at<uint32_t>(at) != kDirectoryEnd) continue;
    Directory directory{bytes.at<uint32_t>(at + 16), bytes.at<uint16_t>(at + 10)};
    bool has_locator = at >= 20 && bytes.at<uint32_t>(at - 20) == kDirectoryEnd64Locator;
    if (!has_locator) return directory;
    auto end64 = bytes.at<uint64_t>(at - 12);
    if (!bytes.has(end64, 56) || bytes.at<uint32_t>(end64) != kDirectoryEnd64) return std::nullopt;
    return Directory{bytes.at<uint64_t>(end64 + 48), bytes.at<uint64_t>(end64 + 32)};
  }
  return std::nullopt;
}

struct Member {
  std::string name;
  uint16_t method = 0;
  bool encrypted = false;
  uint32_t crc32 = 0;
  uint64_t packed_bytes = 0;
  uint64_t local_offset = 0;
  uint64_t next_entry = 0;
};

// Sizes and offsets beyond 32 bits are in an extra field, which contains only those.
void readZip64(const Bytes& bytes, uint64_t extra, uint64_t extra_bytes, bool wide_size,
               Member& member) {
  uint64_t end = extra + extra_bytes;
  while (extra + 4 <= end) {
    auto tag = bytes.at<uint16_t>(extra);
    auto field_end = std::min<uint64_t>(extra + 4 + bytes.at<uint16_t>(extra + 2), end);
    if (tag == kZip64Extra) {
      uint64_t at = extra + 4 + (wide_size ? 8 : 0);
      if (member.packed_bytes == 0xffffffff && at + 8 <= field_end) {
        member.packed_bytes = bytes.at<uint64_t>(at);
        at += 8;
      }
      if (member.local_offset == 0xffffffff && at + 8 <= field_end) {
        member.local_offset = bytes.at<uint64_t>(at);
      }
    }
    extra = field_end;
  }
}

base::Result<Member> readEntry(const Bytes& bytes, uint64_t at) {
  if (!bytes.has(at, kDirectoryEntryBytes) || bytes.at<uint32_t>(at) != kDirectoryEntry) {
    return damaged(at, "its directory ends early");
  }
  auto name_bytes = bytes.at<uint16_t>(at + 28);
  auto extra_bytes = bytes.at<uint16_t>(at + 30);
  auto comment_bytes = bytes.at<uint16_t>(at + 32);
  uint64_t total = kDirectoryEntryBytes + name_bytes + uint64_t{extra_bytes} + comment_bytes;
  if (!bytes.has(at, total)) return damaged(at, "its directory ends early");
  Member member;
  auto name = bytes.part(at + kDirectoryEntryBytes, name_bytes);
  member.name.assign(name.begin(), name.end());
  member.encrypted = (bytes.at<uint16_t>(at + 8) & kEncrypted) != 0;
  member.method = bytes.at<uint16_t>(at + 10);
  member.crc32 = bytes.at<uint32_t>(at + 16);
  member.packed_bytes = bytes.at<uint32_t>(at + 20);
  member.local_offset = bytes.at<uint32_t>(at + 42);
  member.next_entry = at + total;
  bool wide_size = bytes.at<uint32_t>(at + 24) == 0xffffffff;
  readZip64(bytes, at + kDirectoryEntryBytes + name_bytes, extra_bytes, wide_size, member);
  return member;
}

base::Result<std::span<const uint8_t>> packedBytes(const Bytes& bytes, const Member& member) {
  uint64_t at = member.local_offset;
  if (!bytes.has(at, kLocalHeaderBytes) || bytes.at<uint32_t>(at) != kLocalHeader) {
    return damaged(std::min(at, bytes.size()), "a member does not begin where it should");
  }
  uint64_t begin =
      at + kLocalHeaderBytes + bytes.at<uint16_t>(at + 26) + uint64_t{bytes.at<uint16_t>(at + 28)};
  if (!bytes.has(begin, member.packed_bytes)) return damaged(at, "a member is cut off");
  return bytes.part(begin, member.packed_bytes);
}

base::Result<Decompressed> unpackMember(std::span<const uint8_t> packed, const Member& member,
                                        UnpackBudget& budget) {
  if (member.method == kDeflate) return unpackDeflate(packed, budget);
  if (member.method == kZstd) return unpackZstd(packed, budget);
  return Error{ErrorKind::kUnreadable,
               fmt::format("zip member '{}' uses compression method {}, which is not supported",
                           member.name, member.method),
               member.local_offset, "Unpack it first."};
}

base::Status checkSum(std::span<const uint8_t> content, const Member& member) {
  if (::crc32_z(0, content.data(), content.size()) == member.crc32) return base::okStatus();
  return damaged(member.local_offset,
                 fmt::format("member '{}' does not match its checksum", member.name));
}

// What torch.save writes: a pickle, and notes on its format and its tensors. Only the pickle is of
// interest, under the name of the archive.
//
//   snapshot/data.pkl · snapshot/version · snapshot/byteorder · snapshot/.data/serialization_id …
void keepTorchSave(std::vector<Member>& members) {
  constexpr std::string_view kPickle = "/data.pkl";
  auto pickle = std::find_if(members.begin(), members.end(),
                             [&](const Member& it) { return it.name.ends_with(kPickle); });
  if (pickle == members.end()) return;
  std::string folder = pickle->name.substr(0, pickle->name.size() - kPickle.size() + 1);
  bool has_version = std::any_of(members.begin(), members.end(),
                                 [&](const Member& it) { return it.name == folder + "version"; });
  bool alone = std::all_of(members.begin(), members.end(),
                           [&](const Member& it) { return it.name.starts_with(folder); });
  if (!has_version || !alone) return;
  std::iter_swap(members.begin(), pickle);
  members.resize(1);
  members.front().name.clear();
}

}  // namespace

bool isZip(std::span<const uint8_t> input) {
  if (input.size() < 4) return false;
  auto signature = Bytes(input).at<uint32_t>(0);
  return signature == kLocalHeader || signature == kDirectoryEnd;  // the latter: an empty archive
}

base::Status unpackZip(std::span<const uint8_t> input, UnpackBudget& budget,
                       const VisitMember& visit) {
  Bytes bytes(input);
  std::optional<Directory> directory = findDirectory(bytes);
  if (!directory) return damaged(input.size(), "it has no directory at its end");
  std::vector<Member> members;
  uint64_t at = directory->offset;
  for (uint64_t i = 0; i < directory->entries; ++i) {
    TG_ASSIGN_OR_RETURN(Member member, readEntry(bytes, at));
    at = member.next_entry;
    if (member.name.ends_with('/')) continue;  // a folder
    members.push_back(std::move(member));
  }
  keepTorchSave(members);  // which may have a member for each of a model's tensors
  if (members.size() > kMaxMembers) return tooManyMembers(directory->entries, directory->offset);
  for (const Member& member : members) {
    if (member.encrypted) {
      return Error{ErrorKind::kUnreadable, fmt::format("zip member '{}' is encrypted", member.name),
                   member.local_offset, "Unpack it first."};
    }
    TG_ASSIGN_OR_RETURN(std::span<const uint8_t> packed, packedBytes(bytes, member));
    if (member.method == kStored) {
      // Entries may refer to the same bytes repeatedly, and even reading has a cost.
      if (!budget.take(packed.size())) return budget.error();
      TG_RETURN_IF_ERROR(checkSum(packed, member));
      TG_RETURN_IF_ERROR(visit(member.name, packed));
    } else {
      TG_ASSIGN_OR_RETURN(Decompressed content, unpackMember(packed, member, budget));
      if (content.is_whole) TG_RETURN_IF_ERROR(checkSum(content.bytes.bytes(), member));
      TG_RETURN_IF_ERROR(visit(member.name, content.bytes.bytes()));
    }
  }
  return base::okStatus();
}

}  // namespace tidegauge::readers::torch
