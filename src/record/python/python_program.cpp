#include "record/python/python_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "bpf/python/python_layouts.h"
#include "record/code/python_version.h"

namespace tidegauge::record {
namespace {

constexpr std::string_view kLoop = "_PyEval_EvalFrameDefault";
// "3.11" of PY_VERSION_HEX, which the file exports from 3.11 on; else by the name of the file.
std::string versionOf(const std::string& path, const ElfFile& file) {
  if (auto address = file.addressOf("Py_Version"))
    if (auto offset = file.offsetOfAddress(*address))
      if (auto hex = file.bytesAt(*offset, 4); hex.size() == 4)
        return fmt::format("{}.{}", hex[3], hex[2]);
  return pythonVersion(path);
}

// The functions of the evaluation loop: compilers put rarely used parts of it elsewhere, under the
// same name with a suffix (which a stripped file lacks).
std::vector<AddressRange> loopsOf(const ElfFile& file) {
  std::vector<AddressRange> loops;
  for (const FunctionSymbol& function : file.allFunctions()) {
    std::string_view name = function.name;
    if (!name.starts_with(kLoop) || (name.size() > kLoop.size() && name[kLoop.size()] != '.'))
      continue;
    loops.push_back({function.address, function.address + function.size_bytes});
  }
  return loops;
}

}  // namespace

std::optional<python_layout> pythonLayout(uint32_t minor) {
  python_layout layout{};
  if (pythonLayoutOf(minor, &layout) == 0) return std::nullopt;
  return layout;
}

std::string readDebugOffsets(std::span<const uint8_t> bytes, python_layout& layout) {
  std::array<__u64, PYTHON_DEBUG_WORDS> word{};
  if (!bytes.empty()) std::memcpy(word.data(), bytes.data(), std::min(bytes.size(), sizeof(word)));
  auto words = static_cast<uint32_t>(std::min(bytes.size() / sizeof(__u64), word.size()));
  const char* problem = pythonDebugOffsets(word.data(), words, &layout);
  return problem == nullptr ? "" : problem;
}

std::optional<PythonProgram> PythonProgram::of(const std::string& path, const ElfFile& file) {
  auto runtime = file.addressOf("_PyRuntime"), type = file.addressOf("PyCode_Type");
  if (!runtime || !type) {
    std::string older = pythonVersion(path);
    if (older.empty() || !file.addressOf("PyCode_Type")) return std::nullopt;
    return PythonProgram{older, "it is older than 3.9", {}, {}, {}};
  }
  PythonProgram found;
  found.version = versionOf(path, file);
  uint32_t minor = 0;
  if (found.version.starts_with("3."))
    minor = static_cast<uint32_t>(std::atoi(found.version.c_str() + 2));
  auto layout = pythonLayout(minor);
  if (!layout) {
    found.problem = found.version.empty()  ? "its version is unknown"
                    : minor < PYTHON_FIRST ? "it is older than 3.9"
                                           : "it is newer than 3.13";
    return found;
  }
  found.layout = *layout;
  found.layout.runtime = *runtime;
  found.layout.code_type = *type;
  if (minor >= 13) {
    auto offset = file.offsetOfAddress(*runtime);
    auto bytes = offset ? file.bytesAt(*offset, sizeof(uint64_t) * PYTHON_DEBUG_WORDS)
                        : std::vector<uint8_t>();
    found.problem = readDebugOffsets(bytes, found.layout);
  }
  found.loops = loopsOf(file);
  if (found.loops.empty() && found.problem.empty())
    found.problem = fmt::format("it does not export {}", kLoop);
  if (auto function = file.pointerAt(*type + PYTHON_DEALLOC))
    found.code_freed = file.offsetOfAddress(*function);
  return found;
}

}  // namespace tidegauge::record
