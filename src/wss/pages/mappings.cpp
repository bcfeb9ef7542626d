#include "wss/pages/mappings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>

#include "base/memory/memory.h"

namespace tidegauge::wss {
namespace {

// In the order of MappingKind.
constexpr std::array<std::string_view, 9> kNames{
    "heap", "stack", "anonymous", "file", "shared", "hugetlb", "device", "kernel", "pinned"};

// What the kernel calls files that are none on a disk: how names begin.
constexpr std::array<std::string_view, 2> kHugetlbPaths{"/anon_hugepage", "/dev/hugepages/"};
constexpr std::array<std::string_view, 4> kDevicePaths{"/dev/nvidia", "/dev/dri/", "/i915",
                                                       "/drm mm object"};
constexpr std::array<std::string_view, 5> kSharedPaths{"/dev/shm/", "/memfd:", "/SYSV", "/dev/zero",
                                                       "[anon_shmem:"};

// Takes a number off the front of `text`, and the next character, which must be `end`.
bool takeNumber(std::string_view& text, int base, char end, uint64_t& value) {
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || rest == text.data() + text.size() || *rest != end) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()) + 1);
  return true;
}

// Takes a field off the front of `text`, and the blank after the field; empty: there is none.
std::string_view takeField(std::string_view& text) {
  size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return {};
  std::string_view field = text.substr(0, blank);
  text.remove_prefix(blank + 1);
  return field;
}

MappingKind kindOf(const Mapping& mapping, uint64_t inode, bool is_hugetlb) {
  std::string_view path = mapping.path;
  if (is_hugetlb) return MappingKind::kHugetlb;
  if (path == "[heap]") return MappingKind::kHeap;
  if (path.starts_with("[stack")) return MappingKind::kStack;
  if (path.starts_with("[v")) return MappingKind::kKernel;
  if (inode == 0) return MappingKind::kAnonymous;  // with a name given by prctl() too: [anon:name]
  // The text of smaps says the next two better (VmFlags); that of maps has no more than the name.
  auto isOneOf = [&](const auto& heads) {
    return std::ranges::any_of(heads, [&](std::string_view it) { return path.starts_with(it); });
  };
  if (isOneOf(kHugetlbPaths)) return MappingKind::kHugetlb;
  if (isOneOf(kDevicePaths)) return MappingKind::kDevice;
  if (isOneOf(kSharedPaths)) return MappingKind::kShared;
  return MappingKind::kFile;
}

struct Field {
  std::string_view name;
  uint64_t MappingSums::*sum;
};
constexpr std::array<Field, 13> kFields{{{"Rss", &MappingSums::rss},
                                         {"Pss", &MappingSums::pss},
                                         {"Referenced", &MappingSums::referenced},
                                         {"Shared_Clean", &MappingSums::shared},
                                         {"Shared_Dirty", &MappingSums::shared},
                                         {"Private_Dirty", &MappingSums::dirty},
                                         {"AnonHugePages", &MappingSums::huge},
                                         {"ShmemPmdMapped", &MappingSums::huge},
                                         {"FilePmdMapped", &MappingSums::huge},
                                         {"Shared_Hugetlb", &MappingSums::hugetlb},
                                         {"Private_Hugetlb", &MappingSums::hugetlb},
                                         {"Swap", &MappingSums::swap},
                                         {"Locked", &MappingSums::locked}}};

// "VmFlags: rd wr sh mr mw me ms ht sd": what a name cannot say.
void addFlags(Mapping& mapping, std::string_view flags) {
  for (; flags.size() >= 2; flags.remove_prefix(std::min<size_t>(3, flags.size()))) {
    std::string_view flag = flags.substr(0, 2);
    if (flag == "ht") mapping.kind = MappingKind::kHugetlb;
    if (flag == "pf" || flag == "io") mapping.kind = MappingKind::kDevice;
  }
}

uint64_t bytesOf(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t kib = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), kib);
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (error == std::errc::result_out_of_range || kib > kMost / 1024) return kMost;
  return error == std::errc() ? kib * 1024 : 0;
}

uint64_t sumOf(uint64_t one, uint64_t other) {
  uint64_t sum = 0;
  return __builtin_add_overflow(one, other, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

void addField(MappingSums& sums, std::string_view line) {
  size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string_view wanted = line.substr(0, colon);
  for (const Field& field : kFields) {
    if (field.name != wanted) continue;
    sums.*field.sum = sumOf(sums.*field.sum, bytesOf(line.substr(colon + 1)));
    if (wanted == "Shared_Dirty") sums.dirty = sumOf(sums.dirty, bytesOf(line.substr(colon + 1)));
    return;
  }
}

}  // namespace

std::string_view name(MappingKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<MappingKind> kindNamed(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<MappingKind>(found - kNames.begin());
}

bool isPrivateMemory(const Mapping& mapping) {
  return !mapping.shared &&
         (mapping.kind == MappingKind::kAnonymous || mapping.kind == MappingKind::kHeap ||
          mapping.kind == MappingKind::kStack);
}

void MappingSums::add(const MappingSums& other) {
  for (const auto& [name, sum] : kSums) this->*sum = sumOf(this->*sum, other.*sum);
}

MappingsParser::MappingsParser(HugetlbDevices hugetlb_devices, size_t about)
    : ask_(std::move(hugetlb_devices)) {
  constexpr size_t kMaxAhead = 1 << 20;
  uses_.reserve(std::min(kMaxAhead, about));
  base::preferHugePages(uses_.data(), uses_.capacity() * sizeof(MappingUse));
}

bool MappingsParser::isHugetlb(std::string_view device) {
  constexpr std::string_view kNoDisk = "00:";  // of file systems in memory, and of layers of others
  if (!ask_ || !device.starts_with(kNoDisk)) return false;
  if (!hugetlb_) hugetlb_ = ask_();
  return std::ranges::find(*hugetlb_, device) != hugetlb_->end();
}

// "7f12a000-7f13b000 rw-p 00012000 fd:01 131   /usr/lib/libx.so"
std::optional<Mapping> MappingsParser::parseHead(std::string_view line) {
  Mapping mapping;
  uint64_t inode = 0;
  if (!takeNumber(line, 16, '-', mapping.start) || !takeNumber(line, 16, ' ', mapping.end))
    return std::nullopt;
  if (line.size() < 5 || line[4] != ' ' || mapping.end <= mapping.start) return std::nullopt;
  mapping.writable = line[1] == 'w';
  mapping.executable = line[2] == 'x';
  mapping.shared = line[3] == 's';
  line.remove_prefix(5);
  uint64_t offset = 0;
  if (!takeNumber(line, 16, ' ', offset)) return std::nullopt;
  std::string_view device = takeField(line);
  if (device.empty()) return std::nullopt;
  auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), inode);
  if (error != std::errc()) return std::nullopt;
  if (inode != 0) {
    mapping.file = std::hash<std::string_view>()(device) ^
                   inode * 0x9E3779B97F4A7C15;  // spreads small numbers
    mapping.to_file = offset - mapping.start;
  }
  line.remove_prefix(static_cast<size_t>(rest - line.data()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.path = line;
  mapping.kind = kindOf(mapping, inode, inode != 0 && isHugetlb(device));
  return mapping;
}

void MappingsParser::add(std::string_view lines) {
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.empty()) continue;
    bool is_field = line[0] >= 'A' && line[0] <= 'Z';  // addresses are written in small letters
    if (!is_field) {
      if (auto mapping = parseHead(line)) uses_.push_back({std::move(*mapping), {}});
    } else if (uses_.empty()) {
      continue;
    } else if (constexpr std::string_view kFlags = "VmFlags: "; line.starts_with(kFlags)) {
      if (uses_.back().mapping.kind != MappingKind::kKernel)
        addFlags(uses_.back().mapping, line.substr(kFlags.size()));
    } else {
      addField(uses_.back().sums, line);
    }
  }
}

std::vector<MappingUse> parseSmaps(std::string_view text) {
  // A head and some twenty fields.
  MappingsParser parser({}, static_cast<size_t>(std::ranges::count(text, '\n')) / 20);
  parser.add(text);
  return parser.take();
}

}  // namespace tidegauge::wss
