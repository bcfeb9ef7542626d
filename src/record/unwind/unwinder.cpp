#include "record/unwind/unwinder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <set>

#include "record/process/helper.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxTables = 4096;      // open files
constexpr size_t kMaxRules = 1'000'000;  // of one code; the kernel's table has 2^20 rows for all
constexpr size_t kMaxWaitingStacks = 100'000;  // stacks waiting for their call
// An unknown address triggers another read of the mappings. A walk with invalid addresses must not
// cause one each time.
constexpr uint32_t kMaxLooks = 1000;
constexpr size_t kStackHeadBytes = offsetof(stack_record, frame);

// The registers that a walk needs.
struct Registers {
  uint64_t place = 0, sp = 0, bp = 0;
};

class Copy {
 public:
  Copy(uint64_t at, std::span<const uint8_t> bytes, uint32_t pages)
      : at_(at), bytes_(bytes), pages_(pages) {}
  std::optional<uint64_t> word(uint64_t address) const {
    if (address < at_ || bytes_.size() < 8 || address - at_ > bytes_.size() - 8 ||
        !hasPage(address) || !hasPage(address + 7))
      return std::nullopt;
    uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + (address - at_), 8);
    return word;
  }

 private:
  bool hasPage(uint64_t address) const {
    uint64_t page = (address >> 12) - (at_ >> 12);
    return page < 32 && ((pages_ >> page) & 1) != 0;
  }
  uint64_t at_;
  std::span<const uint8_t> bytes_;
  uint32_t pages_;
};

// One frame up, like stepUp() of bpf/unwind.bpf.h.
std::optional<Registers> stepUp(const Registers& now, const unwind_rule& rule, const Copy& copy) {
  Registers next = now;
  if (rule.cfa <= UNWIND_CUT) return std::nullopt;
  if (rule.cfa == UNWIND_SIGNAL) {
    auto ip = copy.word(now.sp + 168), sp = copy.word(now.sp + 160), bp = copy.word(now.sp + 120);
    if (!ip || !sp || !bp) return std::nullopt;
    return Registers{*ip + 1, *sp, *bp};
  }
  bool by_sp = rule.cfa == UNWIND_SP || rule.cfa == UNWIND_AT_SP;
  uint64_t cfa = (by_sp ? now.sp : now.bp) + static_cast<uint64_t>(int64_t{rule.cfa_offset});
  if (rule.cfa >= UNWIND_AT_SP) {
    auto stored = copy.word(cfa);
    if (!stored) return std::nullopt;
    cfa = *stored + static_cast<uint64_t>(int64_t{rule.cfa_more});
  }
  if (cfa <= now.sp) return std::nullopt;
  auto place = copy.word(cfa - 8);
  if (!place || *place == 0) return std::nullopt;
  if (rule.bp != UNWIND_BP_SAME) {
    uint64_t base = rule.bp == UNWIND_BP_AT_BP ? now.bp : cfa;
    auto bp = copy.word(base + static_cast<uint64_t>(int64_t{rule.bp_offset}));
    if (!bp) return std::nullopt;
    next.bp = *bp;
  }
  next.place = *place;
  next.sp = cfa;
  return next;
}

std::vector<uint8_t> codeAt(uint32_t tgid, uint64_t address) {
  std::vector<uint8_t> bytes(24);
  int file = open(fmt::format("/proc/{}/mem", tgid).c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? 0 : pread(file, bytes.data(), bytes.size(), static_cast<off_t>(address));
  if (file >= 0) close(file);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

constexpr unwind_rule kCut{0, 0, 0, UNWIND_CUT, UNWIND_BP_SAME};
constexpr unwind_rule kFramePointer{16, -16, 0, UNWIND_BP, UNWIND_BP_AT_CFA};

}  // namespace

std::optional<unwind_rule> ruleOfEpilogue(std::span<const uint8_t> code) {
  size_t at = 0;
  auto byte = [&](size_t i) -> int { return at + i < code.size() ? code[at + i] : -1; };
  int32_t popped = 0;
  unwind_rule rule{};
  rule.cfa = UNWIND_SP;
  if (byte(0) == 0x48 && byte(1) == 0x83 && byte(2) == 0xc4) {  // add imm8, %rsp
    if (byte(3) < 0 || byte(3) > 0x7f) return std::nullopt;
    popped = byte(3);
    at += 4;
  } else if (byte(0) == 0x48 && byte(1) == 0x81 && byte(2) == 0xc4) {  // add imm32, %rsp
    if (byte(6) < 0 || byte(6) > 0x0f) return std::nullopt;
    for (size_t i = 0; i < 4; ++i) popped |= byte(3 + i) << (8 * i);
    at += 7;
  }
  std::optional<int32_t> bp_at;
  while (byte(0) >= 0) {
    bool is_pop = byte(0) >= 0x58 && byte(0) <= 0x5f && byte(0) != 0x5c;  // except rsp
    bool is_long = byte(0) == 0x41 && byte(1) >= 0x58 && byte(1) <= 0x5f;
    if (!is_pop && !is_long) break;
    if (is_pop && byte(0) == 0x5d) bp_at = popped;
    popped += 8;
    at += is_long ? 2 : 1;
  }
  if (byte(0) == 0xc9 && at == 0 && byte(1) == 0xc3) return kFramePointer;  // leave; ret
  if (byte(0) == 0xf3) at += 1;                                             // rep ret
  if (byte(0) != 0xc3) return std::nullopt;
  rule.cfa_offset = popped + 8;
  if (bp_at) {
    rule.bp = UNWIND_BP_AT_CFA;
    rule.bp_offset = *bp_at - rule.cfa_offset;
  }
  return rule;
}

Unwinder::Unwinder(const Programs& programs)
    : rules_map_(programs.mapDescriptor("rules")), quick_(programs.mapDescriptor("quick_rules")) {
  ring_ = ring_buffer__new(programs.mapDescriptor("stack_ring"), onRecord, this, nullptr);
  end_ = eventfd(0, EFD_CLOEXEC);
  if (ring_ != nullptr &&
      ring_buffer__add(ring_, programs.mapDescriptor("python_ring"), onPython, this) != 0) {
    ring_buffer__free(ring_);
    ring_ = nullptr;
  }
  if (ring_ != nullptr && end_ >= 0) thread_ = std::thread([this] { learnAsItComes(); });
}

Unwinder::~Unwinder() {
  if (thread_.joinable()) {
    (void)eventfd_write(end_, 1);
    thread_.join();
  }
  if (end_ >= 0) close(end_);
  ring_buffer__free(ring_);
}

void Unwinder::learnAsItComes() {
  sigset_t all;  // signals are for the thread that waits for them
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  // It rarely runs, but a thousand busy threads of a program must not delay it.
  setNice(kFirstNice);
  std::array<pollfd, 2> news{{{ring_buffer__epoll_fd(ring_), POLLIN, 0}, {end_, POLLIN, 0}}};
  while (news[1].revents == 0) {
    if (poll(news.data(), news.size(), -1) > 0 && news[0].revents != 0) drain();
  }
}

int Unwinder::onRecord(void* self, void* data, size_t bytes) {
  if (bytes < kStackHeadBytes) return 0;
  const auto& record = *static_cast<const stack_record*>(data);
  size_t before_copy = kStackHeadBytes + size_t{record.room} * sizeof(uint64_t);
  if (record.room > STACK_FRAMES || before_copy > bytes) return 0;
  size_t copied = std::min<size_t>(record.copied_bytes, bytes - before_copy);
  const auto* copy = static_cast<const uint8_t*>(data) + before_copy;
  static_cast<Unwinder*>(self)->add(record, {copy, copied});
  return 0;
}

int Unwinder::onPython(void* self, void* data, size_t bytes) {
  static_cast<Unwinder*>(self)->python_.add({static_cast<const uint8_t*>(data), bytes});
  return 0;
}

void Unwinder::drain() {
  std::lock_guard lock(mutex_);
  ring_buffer__consume(ring_);
}

UnwindCounts Unwinder::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void Unwinder::setPythonLoops(uint32_t tgid, std::vector<AddressRange> loops) {
  std::lock_guard lock(mutex_);
  python_.setLoops(tgid, std::move(loops));
}

std::optional<SeenStack> Unwinder::take(uint32_t id) {
  std::lock_guard lock(mutex_);
  auto found = waiting_.find(id);
  if (found == waiting_.end()) return std::nullopt;
  // Its Python frames were sent before it, but to another ring, which may have been read before.
  if (found->second.has_python && !python_.has(id)) return std::nullopt;
  SeenStack frames = python_.take(id, std::move(found->second.frames));
  waiting_.erase(found);
  return frames;
}

void Unwinder::add(const stack_record& record, std::span<const uint8_t> copy) {
  WalkedStack walked;
  walked.tgid = record.tgid;
  walked.has_python = record.python == PYTHON_SENT;
  size_t frames = std::min<size_t>(record.frames, record.room);
  walked.frames.assign(record.frame, record.frame + frames);
  uint16_t end = record.end;
  if (end == STACK_UNKNOWN && frames > 0) end = continueWalk(record, copy, walked);
  if (record.id == 0) return;
  counts_.stacks += 1;
  counts_.cut += end == STACK_CUT || record.python == PYTHON_LOST;
  counts_.deep += end == STACK_DEEP;
  // Calls that did not fit into their ring will never refer to these: the oldest matter least.
  if (waiting_.size() >= kMaxWaitingStacks) waiting_.clear();
  waiting_[record.id] = std::move(walked);
}

uint16_t Unwinder::continueWalk(const stack_record& record, std::span<const uint8_t> copy,
                                WalkedStack& walked) {
  counts_.completed += record.id != 0;
  Space& space = spaces_[record.tgid];
  if (space.codes.try_emplace(record.code, true).second) users_[record.code] += 1;
  Rules& known = rules_[record.code];
  Copy stack(record.sp, copy, record.copied_pages);
  Registers now{walked.frames.back(), record.sp, record.bp};
  uint64_t guessed_at = 0;  // the place below, if the rule for it was a guess
  while (true) {
    auto rule = known.find(now.place);
    if (rule == known.end()) {
      const Range* range = rangeOf(record.tgid, now.place - 1);
      if (range == nullptr && guessed_at != 0) {
        set(record.code, guessed_at, {kCut, false});  // rbp was not a frame pointer there
        walked.frames.pop_back();
        return STACK_CUT;
      }
      Rule found = range == nullptr ? Rule{kCut, false} : ruleFor(record.tgid, *range, now.place);
      set(record.code, now.place, found);
      rule = known.find(now.place);
      if (rule == known.end()) return STACK_CUT;
    }
    if (rule->second.rule.cfa == UNWIND_END) return STACK_WHOLE;
    auto next = stepUp(now, rule->second.rule, stack);
    if (!next) return STACK_CUT;
    if (walked.frames.size() == STACK_FRAMES) return STACK_DEEP;
    guessed_at = rule->second.guessed ? now.place : 0;
    walked.frames.push_back(next->place);
    now = *next;
  }
}

void Unwinder::set(uint32_t code, uint64_t place, const Rule& rule) {
  Rules& known = rules_[code];
  if (known.size() >= kMaxRules) return;
  unwind_key key{place, code, 0};
  if (bpf_map_update_elem(rules_map_, &key, &rule.rule, BPF_ANY) != 0) {
    // Full: start again. Needed rules are added again when they are used.
    while (!rules_.empty() && rules_.begin()->first != code) dropCode(rules_.begin()->first);
    while (!rules_.empty() && rules_.rbegin()->first != code) dropCode(rules_.rbegin()->first);
    (void)bpf_map_update_elem(rules_map_, &key, &rule.rule, BPF_ANY);
  }
  quick_.set(key, rule.rule);
  counts_.rules += known.insert_or_assign(place, rule).second;
}

Unwinder::Rule Unwinder::ruleFor(uint32_t tgid, const Range& range, uint64_t place) {
  if (range.module != nullptr && range.module->table) {
    const UnwindTable& table = *range.module->table;
    uint64_t offset = place - 1 - range.start + range.offset;
    auto [found, is_new] = range.module->rules.try_emplace(offset);
    if (is_new)
      if (auto address = table.addressOfOffset(offset)) found->second = table.ruleAt(*address);
    if (found->second) return {*found->second, false};
  }
  if (auto rule = ruleOfEpilogue(codeAt(tgid, place))) return {*rule, false};
  Rule guess{kFramePointer, true};
  guess.rule.bp = UNWIND_BP_GUESSED;
  return guess;
}

const Unwinder::Range* Unwinder::rangeOf(uint32_t tgid, uint64_t address) {
  Space& space = spaces_[tgid];
  for (bool again : {false, true}) {
    if (again) {
      if (++space.looks > kMaxLooks) break;
      readMappings(tgid);
    }
    auto after = std::upper_bound(space.ranges.begin(), space.ranges.end(), address,
                                  [](uint64_t at, const Range& range) { return at < range.start; });
    if (after != space.ranges.begin() && address < std::prev(after)->end) return &*std::prev(after);
  }
  return nullptr;
}

void Unwinder::look(uint32_t tgid) {
  std::lock_guard lock(mutex_);
  readMappings(tgid);
}

void Unwinder::readMappings(uint32_t tgid) {
  bool is_whole = false;
  std::vector<Range> found;
  for (const Mapping& mapping : executableMappings(tgid, &is_whole)) {
    Module* module = mapping.file.inode == 0 ? nullptr : moduleOf(tgid, mapping);
    found.push_back({mapping.start, mapping.end, mapping.offset, module});
  }
  renew(spaces_[tgid].ranges, std::move(found), is_whole);
}

Unwinder::Module* Unwinder::moduleOf(uint32_t tgid, const Mapping& mapping) {
  std::unique_ptr<Module>& module = modules_[mapping.file];
  if (module != nullptr) return module.get();
  module = std::make_unique<Module>();
  if (open_tables_ == kMaxTables) return module.get();
  if (auto table = UnwindTable::open(pathFromHere(tgid, mapping)); table.ok()) {
    module->table.emplace(std::move(table.value()));
    open_tables_ += 1;
  }
  return module.get();
}

// The child may have run already: its stacks do not wait for the record of its fork.
void Unwinder::inherit(uint32_t tgid, uint32_t parent) {
  std::lock_guard lock(mutex_);
  auto from = spaces_.find(parent);
  if (from == spaces_.end()) return;
  Space& child = spaces_[tgid];
  for (const auto& [code, unused] : from->second.codes)
    if (child.codes.try_emplace(code, true).second) users_[code] += 1;
  if (child.ranges.empty()) child.ranges = from->second.ranges;
  python_.inherit(tgid, parent);
}

void Unwinder::forget(uint32_t tgid) {
  std::lock_guard lock(mutex_);
  python_.forget(tgid);
  auto space = spaces_.find(tgid);
  if (space == spaces_.end()) return;
  for (const auto& [code, unused] : space->second.codes) {
    auto users = users_.find(code);
    if (users == users_.end() || --users->second > 0) continue;
    users_.erase(users);
    dropCode(code);
  }
  spaces_.erase(space);
  if (open_tables_ > kMaxTables / 2) closeUnused();
  std::erase_if(waiting_, [&](const auto& entry) { return entry.second.tgid == tgid; });
}

// Files that no process maps any more: a recorder of the whole machine may run for weeks.
void Unwinder::closeUnused() {
  std::set<const Module*> used;
  for (const auto& [tgid, space] : spaces_)
    for (const Range& range : space.ranges) used.insert(range.module);
  std::erase_if(modules_, [&](const auto& entry) {
    bool is_used = used.contains(entry.second.get());
    if (!is_used && entry.second->table) open_tables_ -= 1;
    return !is_used;
  });
}

void Unwinder::dropCode(uint32_t code) {
  auto rules = rules_.find(code);
  if (rules == rules_.end()) return;
  for (const auto& [place, unused] : rules->second) {
    unwind_key key{place, code, 0};
    (void)bpf_map_delete_elem(rules_map_, &key);
    quick_.drop(key);
  }
  rules_.erase(rules);
}

}  // namespace tidegauge::record
