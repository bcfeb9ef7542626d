#include "record/python/python_program.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>

#include "record/code/older_python.h"

namespace tidegauge::record {
namespace {

constexpr std::string_view kLoop = "_PyEval_EvalFrameDefault";
constexpr uint64_t kDealloc = 48;  // of tp_dealloc in a type
constexpr uint32_t kFirst = 9, kLast = 13;

// A frame is read from `first` on; these are places in it, in words.
struct Window {
  uint16_t first, previous, code, instruction, last;
};
void set(python_layout& layout, const Window& window) {
  auto word = [&](uint16_t at) { return static_cast<uint8_t>((at - window.first) / 8); };
  layout.window = static_cast<uint8_t>(window.first);
  layout.window_bytes = static_cast<uint8_t>(window.last - window.first + 8);
  layout.previous = word(window.previous);
  layout.code = word(window.code);
  layout.instruction = word(window.instruction);
  layout.flags = word(window.last);
}

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

// The words of _Py_DebugOffsets of 3.13 that are needed, by number.
enum DebugWord {
  kCookie,
  kVersion,
  kFreeThreaded,
  kInterpretersHead = 5,
  kInterpreterNext = 8,
  kThreadsHead = 9,
  kThreadNext = 21,
  kThreadInterpreter = 22,
  kThreadFrame = 23,
  kThreadId = 24,
  kFramePrevious = 29,
  kFrameExecutable = 30,
  kFrameInstruction = 31,
  kFrameOwner = 33,
  kCodeFile = 35,
  kCodeName = 36,
  kCodeQualname = 37,
  kCodeLines = 38,
  kCodeFirstLine = 39,
  kCodeInstructions = 43,
  kDebugWords,
};

}  // namespace

std::optional<python_layout> pythonLayout(uint32_t minor) {
  if (minor < kFirst || minor > kLast) return std::nullopt;
  python_layout it{};
  it.minor = minor;
  it.next_thread = 8;
  it.owner_shift = it.entry_shift = it.first_shim = it.generator = PYTHON_NONE;
  it.kind_shift = 2;
  it.ascii_bytes = minor <= 11 ? 48 : 40;
  it.unicode_bytes = minor <= 11 ? 72 : 56;
  it.texts = minor <= 10 ? 104 : 112;  // file, name, qualified name (from 3.11 on), lines
  it.name_word = minor <= 10 ? 1 : 2;
  it.lines_word = minor <= 10 ? 2 : 3;
  if (minor <= 10) {
    it.key = 584;
    it.interpreters = 32;
    it.threads = 8;
    it.thread_id = 176;
    it.frame = 24;
    it.is_direct = 1;
    uint16_t instruction = minor == 9 ? 104 : 96;
    set(it, {24, 24, 32, instruction, instruction});
    it.is_number = minor == 9 ? 2 : 1;
    it.first_line = 40;
    return it;
  }
  it.generator = 1;
  it.first_shim = minor == 11 ? PYTHON_NONE : 3;
  if (minor == 11) {
    it.key = 592;
    it.interpreters = 40;
    it.threads = 16;
    it.thread_id = 152;
    it.frame = 56;
    it.inner_frame = 8;
    set(it, {32, 48, 32, 56, 64});
    it.entry_shift = 32;
    it.owner_shift = 40;
    it.instructions = 184;
    it.first_line = 72;
    it.first_traceable = 168;
    return it;
  }
  set(it, {0, 8, 0, 56, 64});
  it.owner_shift = 48;
  it.first_line = 68;
  if (minor == 12) {
    it.key = 1544;
    it.interpreters = 40;
    it.threads = 72;
    it.thread_id = 136;
    it.frame = 56;
    it.inner_frame = 0;
    it.instructions = 192;
    it.first_traceable = 176;
    return it;
  }
  it.key = 2160;  // of 3.13.0; another place is found out by the walk, which then takes the list
  it.interpreters = 632;
  it.threads = 7344;
  it.thread_id = 152;
  it.frame = 72;
  it.is_direct = 1;
  it.instructions = 200;
  it.first_traceable = 184;
  return it;
}

std::string readDebugOffsets(std::span<const uint8_t> bytes, python_layout& layout) {
  constexpr const char* kUnreadable = "its table of offsets (_Py_DebugOffsets) cannot be read";
  std::array<uint64_t, kDebugWords> word{};
  if (bytes.size() < sizeof(word)) return kUnreadable;
  std::memcpy(word.data(), bytes.data(), sizeof(word));
  if (std::memcmp(bytes.data(), "xdebugpy", 8) != 0) return kUnreadable;
  if (word[kFreeThreaded] != 0) return "it is a free-threaded build";
  if ((word[kVersion] >> 16 & 0xff) != layout.minor) return kUnreadable;
  // What the walk reads together must be together.
  uint64_t end = word[kFrameOwner] / 8 * 8 + 8;
  for (int i : {kFramePrevious, kFrameExecutable, kFrameInstruction})
    if (word[i] % 8 != 0 || word[i] >= end) return "its frames are of another form";
  if (end > 8 * PYTHON_WINDOW_WORDS || word[kCodeQualname] != word[kCodeFile] + 16 ||
      word[kCodeLines] != word[kCodeFile] + 24)
    return "its code objects are of another form";
  auto small = [&](int i) { return static_cast<uint16_t>(word[i]); };
  layout.interpreters = static_cast<uint32_t>(word[kInterpretersHead]);
  layout.threads = static_cast<uint32_t>(word[kThreadsHead]);
  layout.next_thread = small(kThreadNext);
  layout.thread_id = small(kThreadId);
  layout.frame = small(kThreadFrame);
  set(layout, {0, small(kFramePrevious), small(kFrameExecutable), small(kFrameInstruction),
               static_cast<uint16_t>(end - 8)});
  layout.owner_shift = static_cast<uint8_t>(word[kFrameOwner] % 8 * 8);
  layout.texts = small(kCodeFile);
  layout.first_line = small(kCodeFirstLine);
  if (layout.instructions != small(kCodeInstructions)) layout.first_traceable = 0;
  layout.instructions = small(kCodeInstructions);
  return {};
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
    found.problem = found.version.empty() ? "its version is unknown"
                    : minor < kFirst      ? "it is older than 3.9"
                                          : "it is newer than 3.13";
    return found;
  }
  found.layout = *layout;
  found.layout.runtime = *runtime;
  found.layout.code_type = *type;
  if (minor >= 13) {
    auto offset = file.offsetOfAddress(*runtime);
    auto bytes = offset ? file.bytesAt(*offset, 8 * kDebugWords) : std::vector<uint8_t>();
    found.problem = readDebugOffsets(bytes, found.layout);
  }
  found.loops = loopsOf(file);
  if (found.loops.empty() && found.problem.empty())
    found.problem = fmt::format("it does not export {}", kLoop);
  if (auto function = file.pointerAt(*type + kDealloc))
    found.code_freed = file.offsetOfAddress(*function);
  return found;
}

}  // namespace tidegauge::record
