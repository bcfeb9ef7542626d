#include "wss/pages/linear_map.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <vector>

namespace tidegauge::wss {
namespace {

constexpr uint64_t kPointerMarks = uint64_t{0xff} << 56;  // as in bpf/page_tables.bpf.c

template <class Header>
std::optional<Header> headerAt(std::span<const std::byte> bytes, uint64_t at) {
  Header header;
  if (at > bytes.size() || bytes.size() - at < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data() + at, sizeof(header));
  return header;
}

}  // namespace

std::optional<uint64_t> linearMapOf(std::span<const std::byte> headers, uint64_t address) {
  auto file = headerAt<Elf64_Ehdr>(headers, 0);
  if (!file || std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
      file->e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  for (uint64_t i = 0; i < file->e_phnum; ++i) {
    auto part = headerAt<Elf64_Phdr>(headers, file->e_phoff + i * sizeof(Elf64_Phdr));
    if (!part) return std::nullopt;
    uint64_t begin = part->p_vaddr | kPointerMarks;
    // Parts that are not plain memory (vmalloc) have a physical address of all ones.
    bool is_memory = part->p_type == PT_LOAD && part->p_paddr != ~uint64_t{0};
    if (is_memory && address >= begin && address - begin < part->p_memsz)
      return begin - part->p_paddr;
  }
  return std::nullopt;
}

std::optional<uint64_t> linearMapAt(uint64_t address, const std::string& path) {
  constexpr size_t kMaxHeaders = size_t{1} << 16;  // more than 1,000, one per piece of memory
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::vector<std::byte> headers(kMaxHeaders);
  ssize_t bytes = pread(file, headers.data(), headers.size(), 0);
  close(file);
  if (bytes <= 0) return std::nullopt;
  return linearMapOf(std::span(headers).first(static_cast<size_t>(bytes)), address);
}

uint32_t levelsOfArm64(uint64_t top) {
  constexpr uint32_t kPageBits = 12, kBitsOfALevel = 9;
  auto bits = static_cast<uint32_t>(64 - std::countl_one(top));
  return bits <= kPageBits ? 0 : (bits - kPageBits + kBitsOfALevel - 1) / kBitsOfALevel;
}

}  // namespace tidegauge::wss
