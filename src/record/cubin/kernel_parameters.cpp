#include "record/cubin/kernel_parameters.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>

namespace tidegauge::record {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint16_t kCuda = 190;  // e_machine
constexpr std::string_view kInfo = ".nv.info.";
// Attributes: {format, attribute, value of 16 bits}; with kSized, the value is the number of bytes
// that follow.
constexpr uint8_t kSized = 4;
constexpr uint8_t kParameter = 0x17;  // EIATTR_KPARAM_INFO
// EIATTR_KPARAM_INFO_V2: likewise, but the lower half of `packed` is the size. Above it is a mark:
// 0x0500 for some pointers in PyTorch 2.15.
constexpr uint8_t kLargeParameter = 0x45;
constexpr uint32_t kLargeSize = 0xffff;
constexpr uint8_t kParametersSize = 0x19;  // EIATTR_CBANK_PARAM_SIZE
constexpr size_t kParameterBytes = 12;     // {u32 index, u16 ordinal, u16 offset, u32 packed}
constexpr uint32_t kSizeShift = 18;        // of the packed word: size in its upper 14 bits
constexpr size_t kMaxParameters = 4096;
constexpr size_t kMaxNameBytes = size_t{1} << 16;

template <class T>
std::optional<T> readAt(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::optional<Bytes> part(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

std::string_view textAt(Bytes texts, uint64_t offset) {
  if (offset >= texts.size()) return {};
  Bytes rest = texts.subspan(offset);
  const auto* begin = reinterpret_cast<const char*>(rest.data());
  return {begin, strnlen(begin, std::min(rest.size(), kMaxNameBytes))};
}

// Collects the attributes of one kernel.
class Info {
 public:
  // False: damaged.
  bool read(Bytes info) {
    while (!info.empty()) {
      if (info.size() < 4) return false;
      uint8_t format = info[0], attribute = info[1];
      uint16_t value = *readAt<uint16_t>(info, 2);
      info = info.subspan(4);
      if (format != kSized) {
        if (attribute == kParametersSize) total_bytes_ = value;
        continue;
      }
      if (value > info.size()) return false;
      bool is_large = attribute == kLargeParameter;
      if ((attribute == kParameter || is_large) && !add(info.first(value), is_large)) return false;
      info = info.subspan(value);
    }
    return true;
  }

  // Absent: some are missing, or they contradict each other.
  std::optional<KernelParameters> parameters() const {
    KernelParameters all;
    uint64_t end = 0;
    for (const auto& it : found_) {
      if (!it || it->offset < end || it->size_bytes == 0) return std::nullopt;
      end = uint64_t{it->offset} + it->size_bytes;
      all.push_back(*it);
    }
    if (total_bytes_ && end > *total_bytes_) return std::nullopt;
    if (total_bytes_.value_or(0) > 0 && all.empty()) return std::nullopt;
    return all;
  }

 private:
  bool add(Bytes value, bool is_large) {
    if (value.size() < kParameterBytes) return false;
    size_t ordinal = *readAt<uint16_t>(value, 4);
    if (ordinal >= kMaxParameters) return false;
    if (found_.size() <= ordinal) found_.resize(ordinal + 1);
    if (found_[ordinal]) return false;
    auto packed = *readAt<uint32_t>(value, 8);
    found_[ordinal] = KernelParameter{*readAt<uint16_t>(value, 6),
                                      is_large ? packed & kLargeSize : packed >> kSizeShift};
    return true;
  }

  std::vector<std::optional<KernelParameter>> found_;  // by ordinal
  std::optional<uint16_t> total_bytes_;
};

}  // namespace

CubinCounts eachKernel(Bytes cubin,
                       const std::function<void(std::string_view, KernelParameters)>& visit) {
  CubinCounts counts;
  auto header = readAt<Elf64_Ehdr>(cubin, 0);
  bool is_cubin = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                  header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_machine == kCuda &&
                  header->e_shentsize == sizeof(Elf64_Shdr);
  if (!is_cubin) {
    ++counts.damaged;
    return counts;
  }
  // With 65,280 sections and more, the real numbers are in the first section header.
  auto first = readAt<Elf64_Shdr>(cubin, header->e_shoff);
  if (!first) return counts;
  uint64_t sections = header->e_shnum != 0 ? header->e_shnum : first->sh_size;
  uint64_t names_at = header->e_shstrndx != SHN_XINDEX ? header->e_shstrndx : first->sh_link;
  auto section = [&](uint64_t index) {
    bool fits = index < cubin.size() / sizeof(Elf64_Shdr);
    return fits ? readAt<Elf64_Shdr>(cubin, header->e_shoff + index * sizeof(Elf64_Shdr))
                : std::nullopt;
  };
  auto names_header = section(names_at);
  auto names =
      names_header ? part(cubin, names_header->sh_offset, names_header->sh_size) : std::nullopt;
  if (!names) {
    ++counts.damaged;
    return counts;
  }
  uint64_t name_bytes = 0;
  for (uint64_t i = 0; i < sections; ++i) {
    auto it = section(i);
    if (!it) {
      ++counts.damaged;
      break;
    }
    auto prefix = part(*names, it->sh_name, kInfo.size());
    if (!prefix || std::memcmp(prefix->data(), kInfo.data(), kInfo.size()) != 0) continue;
    std::string_view name = textAt(*names, it->sh_name);
    if (name.size() == kInfo.size()) continue;
    // Names of a table are distinct: more than it has bytes is a crafted one.
    name_bytes += name.size();
    if (name_bytes > names->size()) {
      ++counts.damaged;
      break;
    }
    auto bytes = part(cubin, it->sh_offset, it->sh_size);
    Info info;
    std::optional<KernelParameters> parameters;
    if (bytes && info.read(*bytes)) parameters = info.parameters();
    if (!parameters) {
      ++counts.damaged;
      continue;
    }
    ++counts.kernels;
    visit(name.substr(kInfo.size()), std::move(*parameters));
  }
  return counts;
}

std::string parametersText(const KernelParameters& parameters) {
  std::string text;
  for (const KernelParameter& it : parameters)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", it.offset, it.size_bytes);
  return text;
}

}  // namespace tidegauge::record
