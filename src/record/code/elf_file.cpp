#include "record/code/elf_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "record/process/errors.h"

namespace tidegauge::record {
namespace {

constexpr uint64_t kMaxSymbols = 20'000'000;  // of all tables
constexpr size_t kMaxSymbolName = 16384;      // longer texts are not names

bool isFunction(const GElf_Sym& symbol) {
  int type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
         (type == STT_FUNC || type == STT_GNU_IFUNC);
}

// Calls visit(name, symbol) for each symbol of the dynamic table, then of the static one; stops
// when it returns false.
template <class Visit>
void eachSymbol(Elf* elf, const Visit& visit) {
  uint64_t left = kMaxSymbols;
  for (uint32_t wanted : {SHT_DYNSYM, SHT_SYMTAB}) {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != wanted ||
          header.sh_entsize == 0)
        continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      if (data == nullptr) continue;
      uint64_t count = std::min<uint64_t>(data->d_size / header.sh_entsize, left);
      left -= count;
      for (uint64_t i = 0; i < count; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
        const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (name == nullptr) continue;
        size_t length = strnlen(name, kMaxSymbolName);
        if (length < kMaxSymbolName && !visit(std::string_view(name, length), symbol)) return;
      }
    }
  }
}

}  // namespace

struct ElfFile::Handle {
  int descriptor = -1;
  Elf* elf = nullptr;
  ~Handle() {
    if (elf != nullptr) elf_end(elf);
    if (descriptor >= 0) ::close(descriptor);
  }
};

ElfFile::ElfFile(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
ElfFile::ElfFile(ElfFile&&) noexcept = default;
ElfFile& ElfFile::operator=(ElfFile&&) noexcept = default;
ElfFile::~ElfFile() = default;

base::Result<ElfFile> ElfFile::open(const std::string& path) {
  elf_version(EV_CURRENT);
  auto handle = std::make_unique<Handle>();
  handle->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (handle->descriptor < 0 || fstat(handle->descriptor, &status) != 0)
    return unreadable(fmt::format("{}: {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return unreadable(path + ": not a file");
  // Read, not mapped: a process with write access can shorten the file at any moment.
  handle->elf = elf_begin(handle->descriptor, ELF_C_READ, nullptr);
  if (handle->elf == nullptr || elf_kind(handle->elf) != ELF_K_ELF)
    return unreadable(path + ": not an ELF program or library");
  GElf_Ehdr header;
  if (gelf_getehdr(handle->elf, &header) == nullptr || header.e_machine != EM_X86_64)
    return unreadable(path + ": not for x86-64");
  return ElfFile(std::move(handle));
}

namespace {

// The first loaded part of the file for which found(header) returns a value.
template <class Found>
std::optional<uint64_t> inLoadedParts(Elf* elf, const Found& found) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_LOAD) continue;
    if (std::optional<uint64_t> place = found(header)) return place;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> ElfFile::offsetOfAddress(uint64_t address) const {
  return inLoadedParts(handle_->elf, [&](const GElf_Phdr& part) -> std::optional<uint64_t> {
    if (address < part.p_vaddr || address - part.p_vaddr >= part.p_filesz) return std::nullopt;
    return address - part.p_vaddr + part.p_offset;
  });
}

std::optional<uint64_t> ElfFile::addressOfOffset(uint64_t offset) const {
  return inLoadedParts(handle_->elf, [&](const GElf_Phdr& part) -> std::optional<uint64_t> {
    bool is_code = (part.p_flags & PF_X) != 0;
    if (!is_code || offset < part.p_offset || offset - part.p_offset >= part.p_filesz)
      return std::nullopt;
    return offset - part.p_offset + part.p_vaddr;
  });
}

std::vector<FunctionSymbol> ElfFile::allFunctions() const {
  std::vector<FunctionSymbol> all;
  eachSymbol(handle_->elf, [&](std::string_view name, const GElf_Sym& symbol) {
    if (isFunction(symbol)) all.push_back({symbol.st_value, symbol.st_size, std::string(name)});
    return true;
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.address < b.address; });
  auto same = [](const auto& a, const auto& b) { return a.address == b.address; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

std::map<std::string, uint64_t, std::less<>> ElfFile::functions(
    const std::vector<std::string_view>& wanted) const {
  std::map<std::string_view, bool> names;
  for (std::string_view name : wanted) names.emplace(name, true);
  std::map<std::string, uint64_t, std::less<>> found;
  eachSymbol(handle_->elf, [&](std::string_view name, const GElf_Sym& symbol) {
    if (isFunction(symbol) && names.contains(name) && !found.contains(name))
      if (auto offset = offsetOfAddress(symbol.st_value)) found.emplace(name, *offset);
    return found.size() < names.size();
  });
  return found;
}

std::optional<uint64_t> ElfFile::addressOf(std::string_view symbol_name) const {
  std::optional<uint64_t> found;
  eachSymbol(handle_->elf, [&](std::string_view name, const GElf_Sym& symbol) {
    if (name == symbol_name && symbol.st_shndx != SHN_UNDEF) found = symbol.st_value;
    return !found;
  });
  return found;
}

std::optional<uint64_t> ElfFile::pointerAt(uint64_t address) const {
  // A program at any address and a library have their pointers in a table of relocations.
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(handle_->elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA ||
        header.sh_entsize == 0)
      continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    uint64_t count = std::min<uint64_t>(data->d_size / header.sh_entsize, kMaxSymbols);
    for (uint64_t i = 0; i < count; ++i) {
      GElf_Rela entry;
      if (gelf_getrela(data, static_cast<int>(i), &entry) == nullptr) break;
      if (entry.r_offset == address && GELF_R_TYPE(entry.r_info) == R_X86_64_RELATIVE)
        return static_cast<uint64_t>(entry.r_addend);
    }
  }
  auto offset = offsetOfAddress(address);
  auto bytes = offset ? bytesAt(*offset, sizeof(uint64_t)) : std::vector<uint8_t>();
  uint64_t pointer = 0;
  if (bytes.size() == sizeof(pointer)) std::memcpy(&pointer, bytes.data(), sizeof(pointer));
  return pointer != 0 ? std::optional(pointer) : std::nullopt;
}

std::string ElfFile::buildId() const {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(handle_->elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    GElf_Nhdr note;
    size_t name_at = 0, text_at = 0;
    for (size_t at = 0; (at = gelf_getnote(data, at, &note, &name_at, &text_at)) != 0;) {
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || note.n_descsz > 64) continue;
      const auto* bytes = static_cast<const uint8_t*>(data->d_buf);
      if (std::memcmp(bytes + name_at, "GNU", 4) != 0) continue;
      std::string id;
      for (size_t i = 0; i < note.n_descsz; ++i) id += fmt::format("{:02x}", bytes[text_at + i]);
      return id;
    }
  }
  return {};
}

std::string ElfFile::interpreter() const {
  size_t count = 0;
  if (elf_getphdrnum(handle_->elf, &count) != 0) return {};
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(handle_->elf, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_INTERP) continue;
    std::vector<uint8_t> bytes =
        bytesAt(header.p_offset, std::min<uint64_t>(header.p_filesz, 4096));
    std::string path(bytes.begin(), bytes.end());
    return path.substr(0, path.find('\0'));
  }
  return {};
}

std::vector<ElfFile::Section> ElfFile::sections(std::string_view wanted) const {
  std::vector<Section> found;
  size_t names = 0;
  if (elf_getshdrstrndx(handle_->elf, &names) != 0) return found;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(handle_->elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(handle_->elf, names, header.sh_name);
    if (name != nullptr && wanted == name)
      found.push_back({header.sh_offset, header.sh_size, header.sh_addr});
  }
  return found;
}

bool ElfFile::hasSection(std::string_view wanted) const { return !sections(wanted).empty(); }

bool ElfFile::mentions(std::string_view wanted) const {
  bool found = false;
  eachSymbol(handle_->elf, [&](std::string_view name, const GElf_Sym&) {
    found = name == wanted;
    return !found;
  });
  return found;
}

bool ElfFile::hasNote(std::string_view section_name, std::string_view owner) const {
  size_t names = 0;
  if (elf_getshdrstrndx(handle_->elf, &names) != 0) return false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(handle_->elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(handle_->elf, names, header.sh_name);
    if (name == nullptr || section_name != name) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    std::string_view bytes(static_cast<const char*>(data->d_buf), data->d_size);
    return bytes.find(owner) != std::string_view::npos;
  }
  return false;
}

std::vector<uint8_t> ElfFile::bytesAt(uint64_t offset, size_t size) const {
  struct stat file {};
  if (fstat(handle_->descriptor, &file) != 0) return {};
  auto whole = static_cast<uint64_t>(file.st_size);
  if (offset >= whole) return {};
  size = std::min<uint64_t>(size, whole - offset);  // a header may claim more
  std::vector<uint8_t> bytes(size);
  ssize_t got = pread(handle_->descriptor, bytes.data(), size, static_cast<off_t>(offset));
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

bool hasBadPrefix(const std::vector<uint8_t>& first_bytes) {
  constexpr std::array<uint8_t, 5> kBad = {0xf0, 0x26, 0x2e, 0x36, 0x3e};
  constexpr std::array<uint8_t, 6> kOther = {0x66, 0x67, 0xf2, 0xf3, 0x64, 0x65};
  for (uint8_t byte : first_bytes) {
    if (std::find(kBad.begin(), kBad.end(), byte) != kBad.end()) return true;
    if (std::find(kOther.begin(), kOther.end(), byte) == kOther.end()) return false;
  }
  return false;
}

uint64_t probeSkip(const std::vector<uint8_t>& first_bytes) {
  bool stub = first_bytes.size() >= 11 && first_bytes[0] == 0x81 && first_bytes[1] == 0x3d &&
              first_bytes[10] == 0x74;
  return stub ? 10 : 0;
}

}  // namespace tidegauge::record
