#include "record/unwind/unwind_table.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "record/process/errors.h"
#include "record/unwind/unwind_entry.h"

namespace tidegauge::record {
namespace {

using namespace std::string_view_literals;

constexpr size_t kMaxParts = 128;
constexpr size_t kMaxSections = 4096;
constexpr size_t kLongestSection = size_t{64} << 20;
constexpr size_t kMaxRows = 50'000'000;
constexpr size_t kLongestEntry = size_t{1} << 20;
constexpr size_t kRowsAtOnce = 256;

constexpr uint8_t kTableEncoding = 0x3b;  // signed 4 bytes, from the start of .eh_frame_hdr
constexpr uint8_t kCountEncoding = 0x03;  // unsigned 4 bytes

bool readAll(int descriptor, uint64_t offset, void* into, size_t bytes) {
  auto* at = static_cast<char*>(into);
  while (bytes > 0) {
    ssize_t got = pread(descriptor, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

UnwindTable::UnwindTable(UnwindTable&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      parts_(std::move(other.parts_)),
      header_(other.header_),
      rows_at_(other.rows_at_),
      rows_(other.rows_),
      index_(std::move(other.index_)) {}

UnwindTable& UnwindTable::operator=(UnwindTable&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  parts_ = std::move(other.parts_);
  header_ = other.header_;
  rows_at_ = other.rows_at_;
  rows_ = other.rows_;
  index_ = std::move(other.index_);
  return *this;
}

UnwindTable::~UnwindTable() {
  if (descriptor_ >= 0) close(descriptor_);
}

base::Result<UnwindTable> UnwindTable::open(const std::string& path) {
  UnwindTable table;
  table.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (table.descriptor_ < 0 || fstat(table.descriptor_, &status) != 0)
    return unreadable(fmt::format("{}: {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return unreadable(path + ": not a file");
  TG_RETURN_IF_ERROR(table.readHeader(path));
  return table;
}

base::Status UnwindTable::readHeader(const std::string& path) {
  Elf64_Ehdr file{};
  if (!readAll(descriptor_, 0, &file, sizeof(file)) ||
      std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != ELFCLASS64 ||
      file.e_ident[EI_DATA] != ELFDATA2LSB || file.e_machine != EM_X86_64 ||
      file.e_phentsize != sizeof(Elf64_Phdr))
    return unreadable(path + ": not an ELF program or library for x86-64");
  std::vector<Elf64_Phdr> headers(std::min<size_t>(file.e_phnum, kMaxParts));
  if (!readAll(descriptor_, file.e_phoff, headers.data(), headers.size() * sizeof(Elf64_Phdr)))
    return unreadable(path + ": damaged");
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD)
      parts_.push_back(
          {header.p_offset, header.p_vaddr, header.p_filesz, (header.p_flags & PF_X) != 0});
    if (header.p_type == PT_GNU_EH_FRAME) header_ = header.p_vaddr;
  }
  if (readIndexOfLinker()) return base::okStatus();
  return makeIndex(file, path);
}

bool UnwindTable::readIndexOfLinker() {
  std::array<uint8_t, 16> head{};
  if (header_ == 0 || !read(header_, head.data(), head.size())) return false;
  size_t pointer = bytesOf(head[1]);
  if (head[0] != 1 || pointer < 4 || head[2] != kCountEncoding || head[3] != kTableEncoding)
    return false;
  std::memcpy(&rows_, head.data() + 4 + pointer, 4);  // at most offset 16: 4 + 8 + 4
  rows_ = std::min<uint64_t>(rows_ & 0xffffffffU, kMaxRows);
  rows_at_ = header_ + 4 + pointer + 4;
  return true;
}

// GCC omits .eh_frame_hdr in programs linked with -static. Then only section headers locate
// .eh_frame; `strip` keeps them.
base::Status UnwindTable::makeIndex(const Elf64_Ehdr& file, const std::string& path) {
  std::vector<Elf64_Shdr> sections(std::min<size_t>(file.e_shnum, kMaxSections));
  if (sections.empty() || file.e_shentsize != sizeof(Elf64_Shdr) ||
      file.e_shstrndx >= sections.size() ||
      !readAll(descriptor_, file.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)))
    return unreadable(path +
                      ": no .eh_frame_hdr, and no section "
                      "headers that would say where .eh_frame is");
  uint64_t names = sections[file.e_shstrndx].sh_offset;
  constexpr std::string_view kName = ".eh_frame\0"sv;  // including its terminator
  for (const Elf64_Shdr& section : sections) {
    std::array<char, kName.size()> name{};
    if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_size > kLongestSection ||
        !readAll(descriptor_, names + section.sh_name, name.data(), name.size()) ||
        std::string_view(name.data(), name.size()) != kName)
      continue;
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || section.sh_size > static_cast<uint64_t>(status.st_size))
      break;
    std::vector<uint8_t> bytes(section.sh_size);
    if (!read(section.sh_addr, bytes.data(), bytes.size())) break;
    index_ = indexOf(bytes, section.sh_addr);
    return base::okStatus();
  }
  return unreadable(path + ": neither .eh_frame_hdr nor .eh_frame");
}

bool UnwindTable::read(uint64_t address, void* into, size_t bytes) const {
  for (const Part& part : parts_)
    if (address >= part.address && address - part.address < part.bytes)
      return bytes <= part.bytes - (address - part.address) &&
             readAll(descriptor_, part.offset + (address - part.address), into, bytes);
  return false;
}

std::optional<uint64_t> UnwindTable::addressOfOffset(uint64_t offset) const {
  for (const Part& part : parts_)
    if (part.is_code && offset >= part.offset && offset - part.offset < part.bytes)
      return offset - part.offset + part.address;
  return std::nullopt;
}

// Rows are {function, its FDE}, both relative to header_, by function.
std::optional<uint64_t> UnwindTable::findFde(uint64_t address) const {
  if (rows_at_ == 0) {
    auto after =
        std::upper_bound(index_.begin(), index_.end(), address,
                         [](uint64_t at, const UnwindRow& row) { return at < row.function; });
    return after == index_.begin() ? std::nullopt : std::optional(std::prev(after)->fde);
  }
  auto wanted = static_cast<int64_t>(address - header_);
  struct Pair {
    int32_t function, fde;
  };
  uint64_t begin = 0, end = rows_;  // the last row ≤ wanted is in [begin, end)
  while (end - begin > kRowsAtOnce) {
    uint64_t middle = begin + (end - begin) / 2;
    Pair pair{};
    if (!read(rows_at_ + middle * sizeof(Pair), &pair, sizeof(pair))) return std::nullopt;
    (pair.function <= wanted ? begin : end) = middle;
  }
  std::array<Pair, kRowsAtOnce> few{};
  size_t count = static_cast<size_t>(end - begin);
  if (count == 0 || !read(rows_at_ + begin * sizeof(Pair), few.data(), count * sizeof(Pair)))
    return std::nullopt;
  auto after = std::upper_bound(few.begin(), few.begin() + static_cast<ptrdiff_t>(count), wanted,
                                [](int64_t at, const Pair& pair) { return at < pair.function; });
  if (after == few.begin()) return std::nullopt;
  return header_ + static_cast<uint64_t>(int64_t{std::prev(after)->fde});
}

std::optional<std::vector<uint8_t>> UnwindTable::entryAt(uint64_t address) const {
  uint32_t length = 0;
  if (!read(address, &length, 4) || length < 4 || length > kLongestEntry) return std::nullopt;
  std::vector<uint8_t> bytes(length);
  if (!read(address + 4, bytes.data(), length)) return std::nullopt;
  return bytes;
}

std::optional<unwind_rule> UnwindTable::ruleAt(uint64_t address) const {
  std::optional<uint64_t> at = findFde(address);
  if (!at) return std::nullopt;
  auto bytes = entryAt(*at);
  if (!bytes) return std::nullopt;
  ByteReader fde(*bytes);
  uint64_t back = fde.number(4);
  if (back == 0 || back > *at + 4) return std::nullopt;
  auto cie_bytes = entryAt(*at + 4 - back);
  if (!cie_bytes) return std::nullopt;
  std::optional<Cie> cie = readCie(*cie_bytes);
  if (!cie) return std::nullopt;
  auto range = readRange(fde, cie->address_encoding, *at + 8);
  if (!range || address < range->begin || address - range->begin >= range->length)
    return std::nullopt;
  if (cie->has_augmentation) fde.take(fde.uleb());
  if (!fde.ok()) return std::nullopt;
  cie->program.begin = range->begin;
  cie->program.of_fde = std::span(*bytes).subspan(fde.at());
  return ruleOf(cie->program, address);
}

}  // namespace tidegauge::record
