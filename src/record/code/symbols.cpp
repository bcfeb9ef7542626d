#include "record/code/symbols.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "record/code/demangle.h"
#include "record/code/elf_file.h"

namespace tidegauge::record {
namespace {

constexpr std::chrono::milliseconds kAskEvery{20};

// Line numbers of one module, through elfutils: it finds separate debug information by build id.
class Lines {
 public:
  explicit Lines(int descriptor) {
    callbacks_.find_elf = dwfl_build_id_find_elf;
    callbacks_.find_debuginfo = dwfl_standard_find_debuginfo;
    callbacks_.section_address = dwfl_offline_section_address;
    callbacks_.debuginfo_path = nullptr;
    dwfl_ = dwfl_begin(&callbacks_);
    if (dwfl_ == nullptr) return;
    std::string path = fmt::format("/proc/self/fd/{}", descriptor);
    module_ = dwfl_report_offline(dwfl_, "module", path.c_str(), -1);
    dwfl_report_end(dwfl_, nullptr, nullptr);
    Dwarf_Addr bias = 0;
    if (module_ != nullptr && dwfl_module_getdwarf(module_, &bias) == nullptr) module_ = nullptr;
    bias_ = bias;
  }
  ~Lines() {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  void fill(uint64_t address, SymbolAnswer& answer) const {
    if (module_ == nullptr) return;
    Dwfl_Line* line = dwfl_module_getsrc(module_, address + bias_);
    int number = 0;
    const char* file = line != nullptr
                           ? dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr)
                           : nullptr;
    if (file == nullptr) return;
    answer.file = file;
    answer.line = number > 0 ? static_cast<uint32_t>(number) : 0;
  }

 private:
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Dwarf_Addr bias_ = 0;
};

struct Table {
  std::vector<FunctionSymbol> functions;  // by address
  std::unique_ptr<ElfFile> file;
  std::unique_ptr<Lines> lines;

  void fillStart(uint64_t offset, SymbolAnswer& answer) const {
    auto address = file != nullptr ? file->addressOfOffset(offset) : std::nullopt;
    if (!address) return;
    auto function =
        std::lower_bound(functions.begin(), functions.end(), *address,
                         [](const FunctionSymbol& it, uint64_t at) { return it.address < at; });
    if (function != functions.end() && function->address == *address)
      answer.function = function->name;
  }
  void fill(uint64_t offset, SymbolAnswer& answer) const {
    auto address = file != nullptr ? file->addressOfOffset(offset) : std::nullopt;
    if (!address) return;
    // The address is a return address: the call is before it.
    uint64_t call = *address > 0 ? *address - 1 : 0;
    auto after = std::upper_bound(
        functions.begin(), functions.end(), call,
        [](uint64_t at, const FunctionSymbol& function) { return at < function.address; });
    if (after != functions.begin()) {
      const FunctionSymbol& function = *std::prev(after);
      // A symbol without a size extends to the next one.
      if (function.size_bytes == 0 || call - function.address < function.size_bytes)
        answer.function = demangled(function.name);
    }
    lines->fill(call, answer);
  }
};

}  // namespace

struct Symbols::Tables {
  std::map<uint32_t, Table> by_module;

  const Table& of(const SymbolQuestion& question) {
    auto [found, is_new] = by_module.try_emplace(question.module);
    Table& table = found->second;
    if (!is_new) return table;
    table.lines = std::make_unique<Lines>(question.descriptor);
    auto file = ElfFile::open(fmt::format("/proc/self/fd/{}", question.descriptor));
    if (!file.ok()) return table;
    table.file = std::make_unique<ElfFile>(std::move(file.value()));
    table.functions = table.file->allFunctions();
    return table;
  }
};

Symbols::Symbols() : tables_(std::make_unique<Tables>()), thread_([this] { work(); }) {}

Symbols::~Symbols() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  news_.notify_all();
  thread_.join();
}

void Symbols::ask(SymbolQuestion question) {
  {
    std::lock_guard lock(mutex_);
    questions_.push_back(question);
  }
  news_.notify_one();
}

bool Symbols::isIdle() {
  std::lock_guard lock(mutex_);
  return questions_.empty() && !busy_;
}

void Symbols::forget(const std::vector<uint32_t>& modules) {
  if (modules.empty()) return;
  {
    std::lock_guard lock(mutex_);
    forgotten_.insert(forgotten_.end(), modules.begin(), modules.end());
  }
  news_.notify_one();
}

std::vector<SymbolAnswer> Symbols::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

std::vector<SymbolAnswer> Symbols::finish(const std::function<bool()>& must_end) {
  std::unique_lock lock(mutex_);
  auto done = [this] { return questions_.empty() && !busy_; };
  while (!idle_.wait_for(lock, kAskEvery, done))
    if (must_end && must_end()) break;
  return std::exchange(answers_, {});
}

size_t Symbols::unanswered() {
  std::lock_guard lock(mutex_);
  return questions_.size() + (busy_ ? 1 : 0);
}

void Symbols::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    news_.wait(lock, [this] { return stop_ || !questions_.empty() || !forgotten_.empty(); });
    if (stop_) return;
    for (uint32_t module : std::exchange(forgotten_, {})) tables_->by_module.erase(module);
    if (questions_.empty()) continue;
    SymbolQuestion question = questions_.front();
    questions_.pop_front();
    busy_ = true;
    lock.unlock();
    SymbolAnswer answer{question.frame, {}, {}, 0};
    if (question.descriptor >= 0) {
      const Table& table = tables_->of(question);
      question.is_start ? table.fillStart(question.offset, answer)
                        : table.fill(question.offset, answer);
    }
    lock.lock();
    answers_.push_back(std::move(answer));
    busy_ = false;
    if (questions_.empty()) idle_.notify_all();
  }
}

}  // namespace tidegauge::record
