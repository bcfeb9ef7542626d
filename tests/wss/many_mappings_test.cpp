// A process with many mappings, by the kernel that is here: how all of its TLB is flushed, and when
// its mappings are listed again.
#include "wss/pte/many_mappings.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wss/backends/clear_refs.h"
#include "wss/pages/pagemap.h"
#include "wss/pages/read_maps.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kTables = 2, kMappings = 64;
constexpr uint32_t kMany = 50;

// Commands for the measured process, one word each.
struct Word {
  enum What : uint8_t {
    kTouch,
    kWrite,
    kMap,
    kUnmap,
    kFork,
    kLock,
    kHuge,
    kReserve,
    kHoles
  } what = kTouch;
  uint64_t address = 0, pages = 0;
};

[[noreturn]] void obey(int words, int answers) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto at = [](uint64_t address) {
    return reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr)
  };
  Word word;
  while (read(words, &word, sizeof(word)) == sizeof(word)) {
    uint64_t answer = word.address, bytes = word.pages * kPage;
    bool is_ok = true;
    if (word.what == Word::kTouch || word.what == Word::kWrite)
      for (uint64_t i = 0; i < word.pages; ++i) {
        volatile char* byte = at(word.address + i * kPage);
        if (word.what == Word::kWrite)
          *byte = 1;
        else
          (void)*byte;
      }
    if (word.what == Word::kMap) {
      void* memory =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      madvise(memory, bytes, MADV_NOHUGEPAGE);
      answer = reinterpret_cast<uint64_t>(memory);
    }
    if (word.what == Word::kReserve)
      is_ok = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    if (word.what == Word::kHoles)
      for (uint64_t i = 1; i < word.pages; i += 2) munmap(at(word.address + i * kPage), kPage);
    if (word.what == Word::kUnmap) is_ok = munmap(at(word.address), bytes) == 0;
    if (word.what == Word::kLock) is_ok = mlock(at(word.address), bytes) == 0;
    if (word.what == Word::kHuge) is_ok = madvise(at(word.address), bytes, MADV_HUGEPAGE) == 0;
    if (pid_t self = getpid(); word.what == Word::kFork && fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != self) _exit(0);  // it had ended before
      for (;;) pause();
    }
    if (!is_ok) answer = 0;
    if (write(answers, &answer, sizeof(answer)) != sizeof(answer)) break;
  }
  _exit(0);
}

// Runs an action while a process is cleared: when clear_refs was written and, if wanted, each time
// the clock is read after that.
class ActingClock final : public Clock {
 public:
  enum class Acts : uint8_t { kOnce, kAlways };
  explicit ActingClock(std::function<void()> act = {}, Acts acts = Acts::kOnce,
                       int first = kCleared)
      : act_(std::move(act)), acts_(acts), first_(first) {}
  static constexpr int kCleared = 4;  // number of clock readings until then
  int64_t now_ns() override { return tick(); }
  int64_t cpu_ns() override { return tick(); }
  void sleep(int64_t) override {
    if (asleep_) asleep_();
  }
  void whileItSleeps(std::function<void()> act) { asleep_ = std::move(act); }
  bool isEnding() const override { return false; }

 private:
  int64_t tick() {
    ++now_ns_;
    if (act_ && (now_ns_ == first_ || (acts_ == Acts::kAlways && now_ns_ > first_))) act_();
    return now_ns_;
  }
  std::function<void()> act_, asleep_;
  Acts acts_;
  int first_;
  int64_t now_ns_ = 0;
};
using Acts = ActingClock::Acts;

class Many : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = PageTables::open();
    if (!opened.ok())
      GTEST_SKIP() << opened.error().what << ": root with BPF would run it (" << opened.error().hint
                   << ")";
    tables_.emplace(std::move(opened).value());
    if (!tables_->mappingsOf(getpid())->changes)
      GTEST_SKIP() << "this kernel does not say when mappings change: Linux 6.4 would";
    std::array<int, 2> words{}, answers{};
    ASSERT_EQ(pipe2(words.data(), O_CLOEXEC) | pipe2(answers.data(), O_CLOEXEC), 0);
    child_ = fork();
    if (child_ == 0) {
      close(words[1]);  // its end is the end of the child
      close(answers[0]);
      obey(words[0], answers[1]);
    }
    ASSERT_GT(child_, 0);
    close(words[0]);
    close(answers[1]);
    words_ = words[1];
    answers_ = answers[0];
    auto process = Process::open(child_);
    ASSERT_TRUE(process.ok());
    process_.emplace(std::move(process).value());
    uint64_t all = tell(Word::kMap, 0, (kTables + 1) * PAGE_TABLE_ENTRIES);
    begin_ = (all + kTable - 1) / kTable * kTable;
    tell(Word::kWrite, begin_, kTables * PAGE_TABLE_ENTRIES);
    // Holes make mappings.
    uint64_t holes = tell(Word::kMap, 0, 2 * kMappings);
    tell(Word::kHoles, holes, 2 * kMappings);
  }
  void TearDown() override {
    if (words_ >= 0) close(words_);
    if (answers_ >= 0) close(answers_);
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  uint64_t tell(Word::What what, uint64_t address, uint64_t pages) const {
    Word word{what, address, pages};
    uint64_t answer = 0;
    EXPECT_EQ(write(words_, &word, sizeof(word)), static_cast<ssize_t>(sizeof(word)));
    EXPECT_EQ(read(answers_, &answer, sizeof(answer)), static_cast<ssize_t>(sizeof(answer)));
    EXPECT_NE(answer, 0U);
    return answer;
  }
  uint64_t page(size_t i) const { return begin_ + i * kPage; }
  void touch(std::initializer_list<size_t> pages, Word::What what = Word::kWrite) const {
    for (size_t i : pages) tell(what, page(i), 1);
  }
  // Discards what a processor has cached of it, or no bit would be set again before the flush.
  void flush() {
    ActingClock clock;
    EXPECT_TRUE(flushTlb(*process_, Flush::kFree, clock).ok());
  }
  std::optional<ManyMappings> clearOrNot(Clock& clock, uint32_t many = kMany) {
    Clearing told;
    auto done = ManyMappings::clear(*tables_, *process_, Flush::kFree, clock, told, many);
    EXPECT_TRUE(done.ok()) << done.error().what;
    return done.ok() ? std::move(done).value() : std::nullopt;
  }
  ManyMappings clear(Clock& clock) {
    auto many = clearOrNot(clock);
    EXPECT_TRUE(many);
    return many ? std::move(*many) : ManyMappings();
  }
  std::vector<MappingUse> now(ManyMappings& many) {
    auto uses = many.now(*tables_, *process_);
    EXPECT_TRUE(uses.ok());
    return uses.ok() ? std::move(uses).value() : std::vector<MappingUse>{};
  }
  // Which of its pages are touched; `many`: according to it.
  std::vector<size_t> touchedOnes(ManyMappings* many = nullptr) {
    std::vector<size_t> pages;
    auto visit = [&](uint64_t table, page_table_kind kind, Entries as_read) {
      Entries entries = many != nullptr ? many->withTaken(table, kind, as_read) : as_read;
      for (size_t i = 0; i < entries.size(); ++i)
        if (kind == PAGE_TABLE_OF_PAGES && isTouched(entries[i]))
          pages.push_back((table - begin_) / kPage + i);
    };
    for (size_t i = 0; i < kTables; ++i) {
      uint64_t table = begin_ + i * kTable;
      auto done = tables_->read(child_, {&table, 1}, PAGE_TABLE_ALL, visit);
      EXPECT_TRUE(done.ok() && done.value());
    }
    return pages;
  }
  std::optional<PageTables> tables_;
  std::optional<Process> process_;
  pid_t child_ = 0;
  int words_ = -1, answers_ = -1;
  uint64_t begin_ = 0;
};

// Why all is always flushed by a walk here; null: it is not.
const char* whyWalks() {
#ifdef TIDEGAUGE_SANITIZED
  return "beside a sanitizer's own 50,000 page tables "
         "these are not met: a build without it runs this";
#else
  return kIsArm64 ? "x86-64 flushes all rather than many pages, and runs it; arm64 does not"
                  : nullptr;
#endif
}

std::vector<uint64_t> borders(const std::vector<MappingUse>& uses) {
  std::vector<uint64_t> borders;
  for (const MappingUse& use : uses)
    borders.insert(borders.end(), {use.mapping.start, use.mapping.end});
  return borders;
}

TEST_F(Many, ItsMappingsAreCounted) {
  auto state = tables_->mappingsOf(child_);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->count, readMaps(*process_).value().size());
  ActingClock clock;
  ASSERT_TRUE(clearReferences(*process_, Flush::kNone, clock).ok());
  EXPECT_EQ(*tables_->mappingsOf(child_)->changes, *state->changes + 1);
  ASSERT_TRUE(clearReferences(*process_, Flush::kFree, clock).ok());
  EXPECT_EQ(*tables_->mappingsOf(child_)->changes, *state->changes + 3);
  tell(Word::kTouch, begin_, 5);
  EXPECT_EQ(*tables_->mappingsOf(child_)->changes, *state->changes + 3);
  EXPECT_FALSE(clearOrNot(clock, state->count + 1));  // too few
  EXPECT_EQ(touchedOnes(), (std::vector<size_t>{}));
}

TEST_F(Many, AreListedAgainIfTheyChange) {
  ActingClock clock;
  ManyMappings many = clear(clock);
  EXPECT_EQ(borders(now(many)), borders(readMaps(*process_).value()));
  EXPECT_EQ(many.lists(), 1);
  uint64_t mapped = tell(Word::kMap, 0, 3);
  EXPECT_EQ(borders(now(many)), borders(readMaps(*process_).value()));
  EXPECT_EQ(many.lists(), 2);
  EXPECT_EQ(now(many).size(), readMaps(*process_).value().size());
  EXPECT_EQ(many.lists(), 2);
  tell(Word::kUnmap, mapped, 3);
  EXPECT_EQ(borders(now(many)), borders(readMaps(*process_).value()));
  EXPECT_EQ(many.lists(), 3);
}

TEST_F(Many, FlushesByWayOfWhatIsTouchedAndRemembersIt) {
  if (whyWalks() != nullptr) GTEST_SKIP() << whyWalks();
  flush();
  ActingClock clock([&] { touch({100, 120, 300, 500}); });
  ManyMappings many = clear(clock);
  EXPECT_FALSE(many.wasWalked());
  EXPECT_EQ(touchedOnes(),
            (std::vector<size_t>{500}));  // those in the part that was made cold are not
  EXPECT_EQ(touchedOnes(&many), (std::vector<size_t>{100, 120, 300, 500}));
  touch({200});
  EXPECT_EQ(touchedOnes(&many), (std::vector<size_t>{100, 120, 200, 300, 500}));
  now(many);
  EXPECT_EQ(many.lists(), 1);
  tell(Word::kUnmap, page(110), 20);
  EXPECT_EQ(touchedOnes(&many), (std::vector<size_t>{100, 200, 300, 500}));
}

TEST_F(Many, FlushesFromOneTableIntoTheNext) {
  if (whyWalks() != nullptr) GTEST_SKIP() << whyWalks();
  flush();
  ActingClock clock([&] { touch({490, 540}); });
  ManyMappings many = clear(clock);
  EXPECT_FALSE(many.wasWalked());
  EXPECT_EQ(touchedOnes(), (std::vector<size_t>{}));
  EXPECT_EQ(touchedOnes(&many), (std::vector<size_t>{490, 540}));
}

// For constantly touched memory, a later check cannot show that it was made cold.
TEST_F(Many, FlushesByWayOfWhatIsTouchedAllTheTime) {
  if (whyWalks() != nullptr) GTEST_SKIP() << whyWalks();
  flush();
  touch({700});
  ActingClock clock([&] { touch({100, 300}); }, Acts::kAlways);
  ManyMappings many = clear(clock);
  EXPECT_FALSE(many.wasWalked());
  // A processor had that one cached: flushed it was.
  touch({700});
  EXPECT_EQ(touchedOnes(&many), (std::vector<size_t>{100, 300, 700}));
}

// Tables of sanitizers, CUDA and others: they are empty, and there are more than are examined.
TEST_F(Many, FlushesBesideReservedAddresses) {
  if (whyWalks() != nullptr) GTEST_SKIP() << whyWalks();
  tell(Word::kReserve, begin_, uint64_t{1} << 28);  // 1 TiB
  flush();
  ActingClock clock([&] { touch({100, 300}); });
  EXPECT_FALSE(clear(clock).wasWalked());
}

// That would split it. A huge page of which a part was unmapped is mapped page by page.
TEST_F(Many, WalksRatherThanSplitALargerPage) {
  constexpr size_t kPages = PAGE_TABLE_ENTRIES;
  uint64_t all = tell(Word::kMap, 0, 2 * kPages);
  uint64_t huge = (all + kTable - 1) / kTable * kTable;
  tell(Word::kHuge, huge, kPages);
  tell(Word::kWrite, huge, kPages);
  auto isLarge = [&] {
    WordFile pagemap(open(("/proc/" + std::to_string(child_) + "/pagemap").c_str(), O_RDONLY));
    WordFile flags(open("/proc/kpageflags", O_RDONLY));
    uint64_t entry = 0, of_frame = 0;
    EXPECT_EQ(pagemap.read({&entry, 1}, huge / kPage + 300), 1);
    EXPECT_EQ(flags.read({&of_frame, 1}, entry & kPagemapFrame), 1);
    return (of_frame & (3 << 15)) != 0;  // COMPOUND_HEAD, COMPOUND_TAIL
  };
  if (!isLarge()) GTEST_SKIP() << "no huge page was free, or transparent_hugepage/enabled is never";
  tell(Word::kUnmap, huge, 1);
  flush();
  auto act = [&] {
    for (size_t i : {100, 300}) tell(Word::kWrite, huge + i * kPage, 1);
  };
  ActingClock clock(act, Acts::kAlways);
  EXPECT_TRUE(clear(clock).wasWalked());
  EXPECT_TRUE(isLarge());
}

// At first too few are touched for it. (Of 60 mappings a walk is too short for a pause.)
TEST_F(Many, TriesAgainBeforeItWalks) {
  if (whyWalks() != nullptr) GTEST_SKIP() << whyWalks();
  uint64_t holes = tell(Word::kMap, 0, 10'000);
  tell(Word::kHoles, holes, 10'000);
  flush();
  ActingClock clock([&] { touch({100, 130}); });
  clock.whileItSleeps([&] { touch({300}); });
  ManyMappings many = clear(clock);
  EXPECT_FALSE(many.wasWalked());
  EXPECT_EQ(touchedOnes(), (std::vector<size_t>{}));
  EXPECT_EQ(touchedOnes(&many), (std::vector<size_t>{100, 130, 300}));
}

TEST_F(Many, WalksIfNothingIsTouched) {
  flush();
  ActingClock clock([&] { touch({100, 130}); });  // too near to each other
  ManyMappings many = clear(clock);
  EXPECT_TRUE(many.wasWalked());
  EXPECT_EQ(touchedOnes(&many), (std::vector<size_t>{100, 130}));
  now(many);
  EXPECT_EQ(many.lists(), 1);  // the walk does not count as a change
}

TEST_F(Many, WalksIfAnotherProcessMapsThePages) {
  tell(Word::kFork, begin_, 1);
  flush();
  ActingClock clock([&] { touch({100, 300}, Word::kTouch); });
  ManyMappings many = clear(clock);
  EXPECT_TRUE(many.wasWalked());
  EXPECT_EQ(touchedOnes(&many), (std::vector<size_t>{100, 300}));
}

TEST_F(Many, WalksIfMemoryIsLocked) {
  tell(Word::kLock, begin_, kTables * PAGE_TABLE_ENTRIES);
  flush();
  ActingClock clock([&] { touch({100, 300}); }, Acts::kAlways);
  EXPECT_TRUE(clear(clock).wasWalked());
}

// A mapping that was split in between is two, of which each is flushed for itself.
TEST_F(Many, WalksIfMappingsChangeMeanwhile) {
  if (whyWalks() != nullptr) GTEST_SKIP() << whyWalks();
  flush();
  int calls = 0;
  auto act = [&] {
    touch({100, 300});
    if (++calls == 2) tell(Word::kUnmap, page(200), 1);
  };
  ActingClock clock(act, Acts::kAlways);
  ManyMappings many = clear(clock);
  EXPECT_TRUE(many.wasWalked());
  EXPECT_EQ(borders(now(many)), borders(readMaps(*process_).value()));
  EXPECT_EQ(many.lists(), 2);
}

TEST_F(Many, AreNotListedIfTheyChangeWhileTheyAreCleared) {
  flush();
  ActingClock clock([&] { tell(Word::kUnmap, page(200), 1); });
  EXPECT_FALSE(clearOrNot(clock));
}

TEST_F(Many, AProcessThatIsGoneIsAnError) {
  ActingClock clock;
  ManyMappings many = clear(clock);
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  child_ = 0;
  Clearing told;
  EXPECT_FALSE(ManyMappings::clear(*tables_, *process_, Flush::kFree, clock, told, kMany).ok());
  EXPECT_FALSE(many.now(*tables_, *process_).ok());
}

}  // namespace
}  // namespace tidegauge::wss
