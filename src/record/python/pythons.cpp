#include "record/python/pythons.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "bpf/python/python_layouts.h"
#include "record/process/running_process.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxFiles = 4096;  // examined ones
// The program runs while its frames are read, and threads begin and end.
constexpr int kTries = 20;
constexpr useconds_t kBetweenTries_us = 500;
constexpr size_t kMaxAgreed = 16384;
constexpr uint64_t kPage = 4096;

class Memory {
 public:
  explicit Memory(uint32_t tgid)
      : file_(open(fmt::format("/proc/{}/mem", tgid).c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Memory() {
    if (file_ >= 0) close(file_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  bool ok() const { return file_ >= 0; }
  uint64_t word(uint64_t address) const {
    uint64_t word = 0;
    if (pread(file_, &word, sizeof(word), static_cast<off_t>(address)) != sizeof(word)) return 0;
    return word;
  }

 private:
  int file_;
};

bool mayBePython(const Mapping& mapping, const std::string& program) {
  if (mapping.file.inode == 0) return false;
  std::string_view path = mapping.path;
  return path.substr(path.find_last_of('/') + 1).find("python") != std::string_view::npos ||
         path == program;
}

}  // namespace

std::optional<std::string> layoutProblem(uint32_t tgid, const python_layout& layout) {
  Memory memory(tgid);
  const char* problem = nullptr;
  for (int i = 0; i < kTries && memory.ok(); ++i) {
    if (i > 0) usleep(kBetweenTries_us);
    uint64_t interpreter = memory.word(layout.runtime + layout.interpreters);
    uint64_t thread = interpreter != 0 ? memory.word(interpreter + layout.threads) : 0;
    if (thread == 0) return std::nullopt;
    if (memory.word(thread + PYTHON_INTERPRETER) != interpreter ||
        memory.word(thread + layout.thread_id) == 0) {
      problem = "the states of its threads are not where this version has them";
      continue;
    }
    uint64_t frame = memory.word(thread + layout.frame);
    if (layout.is_direct == 0 && frame != 0) frame = memory.word(frame + layout.inner_frame);
    if (frame == 0) return std::nullopt;
    uint64_t window = frame + layout.window;
    uint64_t code = memory.word(window + uint64_t{layout.code} * 8) & ~uint64_t{7};
    if (memory.word(code + 8) == layout.code_type) return std::string();
    uint64_t flags = memory.word(window + uint64_t{layout.flags} * 8);
    if (layout.owner_shift != PYTHON_NONE &&
        (flags >> layout.owner_shift & 0xff) == layout.first_shim)
      return std::nullopt;
    problem = "its frames have no code objects where this version has them";
  }
  if (problem == nullptr) return std::nullopt;
  return problem;
}

Pythons::~Pythons() { detach(); }

void Pythons::detach() {
  for (int link : links_) close(link);
  links_.clear();
}

std::vector<AddressRange> PythonFiles::Found::loops() const {
  std::vector<AddressRange> loops;
  for (const AddressRange& loop : program->loops)
    loops.push_back({loop.begin + moved, loop.end + moved});
  return loops;
}

std::string PythonFiles::Found::problem(const std::string& why) const {
  return fmt::format("Python{}{}: {}", program->version.empty() ? "" : " ", program->version, why);
}

std::optional<PythonFiles::Found> PythonFiles::look(uint32_t tgid) {
  std::string program = programOf(tgid);
  for (const Mapping& mapping : executableMappings(tgid)) {
    if (!mayBePython(mapping, program)) continue;
    if (files_.size() >= kMaxFiles)
      std::erase_if(files_, [](const auto& it) { return !it.second; });
    auto [known, is_new] = files_.try_emplace(mapping.file);
    auto elf = ElfFile::open(pathFromHere(tgid, mapping));
    if (is_new && elf.ok()) known->second = PythonProgram::of(mapping.path, elf.value());
    if (!known->second) continue;
    // A part of a file is mapped from the begin of its first page.
    auto address =
        elf.ok() ? elf.value().addressOfOffset(mapping.offset + kPage - 1) : std::nullopt;
    if (address) return Found{&*known->second, mapping, mapping.start + kPage - 1 - *address};
  }
  return std::nullopt;
}

std::string Pythons::watchFreed(uint32_t tgid, const PythonFiles::Found& found) {
  if (watched_.contains(found.mapping.file)) return {};
  if (!found.program->code_freed) return "the function that frees its code objects was not found";
  int link = programs_.attachMany("python_code_freed", pathFromHere(tgid, found.mapping),
                                  {*found.program->code_freed}, {0}, false);
  if (link < 0)
    return fmt::format("the function that frees its code objects: {}", std::strerror(-link));
  links_.push_back(link);
  watched_.insert(found.mapping.file);
  return {};
}

std::optional<RunningPython> Pythons::look(uint32_t tgid) {
  std::optional<PythonFiles::Found> found = files_.look(tgid);
  if (!found) return std::nullopt;
  int map = programs_.mapDescriptor("pythons");
  RunningPython running;
  running.loops = found->loops();
  python_layout layout = found->program->layout, before{};
  layout.runtime += found->moved;
  layout.code_type += found->moved;
  bool is_walked =
      bpf_map_lookup_elem(map, &tgid, &before) == 0 && before.runtime == layout.runtime;
  if (is_walked && agreed_.contains(tgid)) return running;
  agreed_.erase(tgid);
  running.problem = found->program->problem;
  if (running.problem.empty()) running.problem = watchFreed(tgid, *found);
  if (running.problem.empty()) {
    std::optional<std::string> checked = layoutProblem(tgid, layout);
    running.problem = checked.value_or("");
    if (agreed_.size() >= kMaxAgreed) agreed_.clear();
    if (checked && checked->empty()) agreed_.insert(tgid);
  }
  if (!running.problem.empty()) {
    (void)bpf_map_delete_elem(map, &tgid);
    running.problem = found->problem(running.problem);
  } else if (!is_walked) {
    (void)bpf_map_update_elem(map, &tgid, &layout, BPF_ANY);
  }
  return running;
}

}  // namespace tidegauge::record
