#include "record/session/session_stacks.h"

#include <fmt/format.h>

#include <string_view>

#include "model/memory_call.h"
#include "record/code/elf_file.h"

namespace tidegauge::record {
namespace {

// A bit of the numbers in questions: the question is for a function, not for a frame.
constexpr uint32_t kFunction = uint32_t{1} << 31;

}  // namespace

void SessionStacks::look(uint32_t pid) {
  spaces_.look(pid);
  perf_maps_.look(pid);
}

void SessionStacks::inherit(uint32_t pid, uint32_t parent) {
  spaces_.inherit(pid, parent);
  perf_maps_.inherit(pid, parent);
  perf_maps_.look(pid);
}

void SessionStacks::forgetCode(uint32_t pid) {
  spaces_.forget(pid);
  perf_maps_.forget(pid);
}

void SessionStacks::forgetProcess(uint32_t process) {
  std::erase_if(stack_of_, [&](const auto& entry) { return entry.first.first == process; });
}

uint32_t SessionStacks::frameAt(const CodePlace& place) {
  auto [found, is_new] = frame_ids_.try_emplace(place, static_cast<uint32_t>(frames_.size()));
  if (!is_new) return found->second;
  const Rows<Module>& modules = spaces_.modules();
  for (; modules_written_ < modules.size(); ++modules_written_)
    if (!file_.hasParts()) writeModule(static_cast<uint32_t>(modules_written_));
  frames_.push_back({place, {}});
  std::optional<uint32_t> module;
  if (place.module != kNoModule) module = place.module;
  if (!file_.hasParts())
    file_.write([&](auto& file) { return file.addFrame(module, place.offset); });
  if (module && modules[*module].descriptor >= 0)
    symbols_.ask({found->second, modules[*module].descriptor, *module, place.offset});
  return found->second;
}

uint32_t SessionStacks::namedFrame(const CodeName& name, uint64_t address) {
  auto [found, is_new] = named_frames_.try_emplace(name, static_cast<uint32_t>(frames_.size()));
  if (!is_new) return found->second;
  uint32_t frame = found->second;
  frames_.push_back({{kNoModule, address}, {frame, name.function, name.file, name.line}});
  if (file_.hasParts()) return frame;  // a part has it once a row names it
  file_.write([&](auto& file) { return file.addFrame(std::nullopt, address); });
  file_.write(
      [&](auto& file) { return file.nameFrame(frame, name.function, name.file, name.line); });
  return frame;
}

std::vector<uint32_t> SessionStacks::framesOf(uint32_t pid, const SeenStack& seen) {
  std::vector<uint32_t> frames;
  frames.reserve(seen.places.size() + seen.python.size());
  auto python = seen.python.begin();
  auto takesPython = [&](size_t at, uint64_t address) {
    auto first = python;
    for (; python != seen.python.end() && python->at == at; ++python)
      frames.push_back(namedFrame({python->function, python->file, python->line}, address));
    return python != first;
  };
  for (size_t i = 0; i < seen.places.size(); ++i) {
    uint64_t address = seen.places[i];
    if (takesPython(i, address)) continue;
    auto place = spaces_.place(pid, address);
    // A program at its end unmaps what it made at run time; the names that it wrote stay.
    const CodeName* name =
        !place || place->module == kNoModule ? perf_maps_.find(pid, address - 1) : nullptr;
    if (!place && name == nullptr) break;
    // A stub of Python's: the frame itself is there already, with its line.
    if (name != nullptr && !name->file.empty() && !seen.python.empty()) continue;
    frames.push_back(name != nullptr ? namedFrame(*name, address) : frameAt(*place));
  }
  while (python != seen.python.end()) (void)takesPython(python->at, 0);
  return frames;
}

void SessionStacks::add(uint32_t process, uint32_t pid, uint32_t kernel_stack,
                        const SeenStack& seen) {
  std::vector<uint32_t> frames = framesOf(pid, seen);
  if (frames.empty()) return;
  auto [found, is_new] = stack_ids_.try_emplace(frames, static_cast<uint32_t>(stacks_.size()));
  if (is_new) {
    stacks_.push_back(frames);
    if (!file_.hasParts()) file_.write([&](auto& file) { return file.addStack(frames); });
  }
  stack_of_[{process, kernel_stack}] = found->second;
}

std::optional<uint32_t> SessionStacks::find(uint32_t process, uint32_t kernel_stack) const {
  auto found = stack_of_.find({process, kernel_stack});
  return found == stack_of_.end() ? std::nullopt : std::optional(found->second);
}

void SessionStacks::take(std::vector<SymbolAnswer> answers) {
  for (SymbolAnswer& answer : answers) {
    if ((answer.frame & kFunction) != 0) {
      answer.frame &= ~kFunction;
      functions_.push_back(std::move(answer));
      continue;
    }
    auto row = file_.numbers().frames.find(answer.frame);
    if (row && (!answer.function.empty() || !answer.file.empty()))
      file_.write([&](auto& file) {
        return file.nameFrame(*row, answer.function, answer.file, answer.line);
      });
    frames_[answer.frame].name = std::move(answer);
  }
}

uint32_t SessionStacks::moduleInFile(uint32_t module) {
  if (auto known = file_.numbers().modules.find(module)) return *known;
  writeModule(module);
  return file_.numbers().modules.add(module);
}

void SessionStacks::writeModule(uint32_t module) {
  const Module& it = spaces_.modules()[module];
  auto elf = ElfFile::open(fmt::format("/proc/self/fd/{}", it.descriptor));
  std::string build_id = elf.ok() ? elf.value().buildId() : std::string();
  file_.write([&](auto& file) { return file.addModule(it.path, build_id); });
}

uint32_t SessionStacks::frameInFile(uint32_t frame) {
  if (auto known = file_.numbers().frames.find(frame)) return *known;
  const Frame& it = frames_[frame];
  std::optional<uint32_t> module;
  if (it.place.module != kNoModule) module = moduleInFile(it.place.module);
  file_.write([&](auto& file) { return file.addFrame(module, it.place.offset); });
  uint32_t id = file_.numbers().frames.add(frame);
  if (!it.name.function.empty() || !it.name.file.empty())
    file_.write([&](auto& file) {
      return file.nameFrame(id, it.name.function, it.name.file, it.name.line);
    });
  return id;
}

uint32_t SessionStacks::inFile(uint32_t stack) {
  if (stack == model::kNoStackOfCall) return stack;
  if (auto known = file_.numbers().stacks.find(stack)) return *known;
  if (!stacks_.contains(stack)) return model::kNoStackOfCall;
  std::vector<uint32_t> frames;
  for (uint32_t frame : stacks_[stack]) frames.push_back(frameInFile(frame));
  file_.write([&](auto& file) { return file.addStack(frames); });
  return file_.numbers().stacks.add(stack);
}

std::pair<uint32_t, int> SessionStacks::moduleAt(uint32_t pid, uint64_t address) {
  auto place = spaces_.place(pid, address);
  if (!place || place->module == kNoModule) return {kNoModule, -1};
  return {place->module, spaces_.modules()[place->module].descriptor};
}

bool SessionStacks::askFunction(uint32_t number, uint32_t pid, uint64_t address) {
  auto place = spaces_.place(pid, address);
  if (!place || place->module == kNoModule) return false;
  int descriptor = spaces_.modules()[place->module].descriptor;
  symbols_.ask({number | kFunction, descriptor, place->module, place->offset, true});
  return true;
}

model::StackWords SessionStacks::describe(uint32_t stack) const {
  model::StackWords words;
  if (stack >= stacks_.size()) return words;
  for (uint32_t id : stacks_[stack]) {
    const Frame& frame = frames_[id];
    std::string_view module;
    if (frame.place.module != kNoModule) module = spaces_.modules()[frame.place.module].path;
    words.add({frame.name.function, frame.name.file, frame.name.line, module, frame.place.offset});
  }
  return words;
}

void SessionStacks::forgetUnless(std::set<uint32_t> held) {
  // A frame that waits for its name needs its module's file.
  if (!symbols_.isIdle()) return;
  for (const auto& [key, stack] : stack_of_) held.insert(stack);
  std::set<uint32_t> frames, modules;
  std::erase_if(stack_ids_, [&](const auto& entry) { return !held.contains(entry.second); });
  stacks_.forgetIf([&](uint32_t stack, const std::vector<uint32_t>& list) {
    if (!held.contains(stack)) return true;
    frames.insert(list.begin(), list.end());
    return false;
  });
  std::erase_if(frame_ids_, [&](const auto& entry) {
    if (!frames.contains(entry.second)) return true;
    if (entry.first.module != kNoModule) modules.insert(entry.first.module);
    return false;
  });
  std::erase_if(named_frames_, [&](const auto& entry) { return !frames.contains(entry.second); });
  frames_.forgetIf([&](uint32_t frame, const Frame&) { return !frames.contains(frame); });
  symbols_.forget(spaces_.forgetModules(modules, static_cast<uint32_t>(modules_written_)));
}

}  // namespace tidegauge::record
