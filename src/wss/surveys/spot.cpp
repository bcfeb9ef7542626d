#include "wss/surveys/spot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/format.h"
#include "base/memory/memory.h"
#include "wss/pages/pagemap.h"
#include "wss/process/threads.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kRegisters = 4;  // DR0 to DR3
constexpr uint64_t kWord = 8;
constexpr uint64_t kRoundsPerRow = 10;  // one of this number of rounds is shown

class Watch {
 public:
  // Watches in a thread; `error_number` says why it failed.
  Watch(uint64_t address, pid_t thread, int& error_number) {
    perf_event_attr wanted{};
    wanted.size = sizeof(wanted);
    wanted.type = PERF_TYPE_BREAKPOINT;
    wanted.bp_type = HW_BREAKPOINT_RW;
    wanted.bp_addr = address;
    wanted.bp_len = HW_BREAKPOINT_LEN_8;
    wanted.sample_period = 1;
    wanted.disabled = 1;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    file_ = static_cast<int>(
        syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
    error_number = file_ < 0 ? errno : 0;
    // One overflow, which is one hit, then it is disabled.
    if (file_ >= 0) (void)ioctl(file_, PERF_EVENT_IOC_REFRESH, 1);
  }
  Watch(Watch&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Watch& operator=(Watch&&) = delete;
  ~Watch() {
    if (file_ >= 0) close(file_);
  }
  bool isHit() const {
    uint64_t hits = 0;
    return file_ >= 0 && read(file_, &hits, sizeof(hits)) == sizeof(hits) && hits > 0;
  }

 private:
  int file_ = -1;
};

base::Error watchError(int error_number, const std::string& whose) {
  base::Error error{base::ErrorKind::kMissingFeature,
                    fmt::format("the processor cannot watch an address{}: {}", whose,
                                std::strerror(error_number)),
                    std::nullopt, ""};
  if (error_number == EACCES || error_number == EPERM)
    error.hint =
        "Run as the user of the process, or as root; kernel.perf_event_paranoid must be at most 2";
  else if (error_number == ENOSPC)
    error.hint = "A debugger or another program uses the processor's four debug registers";
  else if (error_number == EMFILE)
    error.hint = "Raise the limit of open files (ulimit -n)";
  else
    error.hint = "The kernel needs CONFIG_HAVE_HW_BREAKPOINT, the processor debug registers";
  return error;
}

}  // namespace

std::pair<double, double> wilson(uint64_t hits, uint64_t count) {
  if (count == 0) return {0, 1};
  constexpr double kZ = 1.959963984540054;
  auto n = static_cast<double>(count);
  double p = static_cast<double>(hits) / n, z2 = kZ * kZ;
  double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  double half = kZ * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {hits == 0 ? 0 : std::max(0.0, middle - half),
          hits == count ? 1 : std::min(1.0, middle + half)};
}

void SpotChooser::add(AddressRange range) {
  uint64_t words = (range.end - range.begin) / kWord;
  if (words == 0) return;
  bytes_ += words * kWord;
  std::uniform_int_distribution<uint64_t> ofAll(0, bytes_ / kWord - 1);
  for (uint64_t& address : addresses_)
    if (uint64_t word = ofAll(random_); word < words) address = range.begin + word * kWord;
}

std::vector<uint64_t> SpotChooser::addresses() const {
  if (bytes_ == 0) return {};
  std::vector<uint64_t> each = addresses_;
  std::ranges::sort(each);
  each.erase(std::unique(each.begin(), each.end()), each.end());
  return each;
}

base::Status Spot::check() {
  uint64_t word = 0;
  int error_number = 0;
  Watch watch(reinterpret_cast<uint64_t>(&word), 0, error_number);
  if (error_number != 0) return watchError(error_number, "");
  return base::okStatus();
}

SurveyHead Spot::head(int64_t window_ns) const {
  SurveyHead head{
      .name = "spot",
      .how = fmt::format("{} at random, watched by the processor, four at a time",
                         base::counted(wanted_, "word")),
      .limits =
          {"only writable private memory; not accesses by the kernel, and not threads that start "
           "during the measurement"},
      .table_head = "Round  Words  Touched  Share%   95%: from     to\n",
      .ends_with_result = true};
  size_t rounds = (wanted_ + kRegisters - 1) / kRegisters;
  if (rounds > 1)
    head.lasts = fmt::format("{} rounds of {:g} s, {:g} s in total; -d ends it earlier", rounds,
                             seconds(window_ns), static_cast<double>(rounds) * seconds(window_ns));
  return head;
}

// One address per register, each in a resident page of a private, writable mapping.
base::Result<std::vector<uint64_t>> Spot::choose() {
  TG_ASSIGN_OR_RETURN(std::string text, process_.readFile("smaps"));
  TG_ASSIGN_OR_RETURN(int opened, process_.openFile("pagemap", O_RDONLY));
  WordFile pagemap(opened);
  SpotChooser chooser(kRegisters, seed_ + rounds_);
  for (const MappingUse& use : parseSmaps(text)) {
    if (!use.mapping.writable || use.mapping.shared || use.sums.rss == 0) continue;
    int failed = eachRangeThere(pagemap, use.mapping, false,
                                [&](AddressRange range) { chooser.add(range); });
    if (failed != 0) return process_.whyNothing("pagemap", -failed);
  }
  bytes_ = chooser.bytes();
  if (bytes_ != 0) return chooser.addresses();
  TG_RETURN_IF_ERROR(process_.check());
  return base::Error{base::ErrorKind::kUnreadable,
                     fmt::format("process {} has no writable private memory", process_.pid()),
                     std::nullopt, "--backend pte and smaps cover all of its memory"};
}

base::Result<std::optional<SurveyRow>> Spot::next(Clock& clock, int64_t window_ns) {
  window_ns_ = window_ns;
  if (watched_ >= wanted_ || clock.isEnding()) return std::optional<SurveyRow>();
  base::allowManyFiles();
  TG_ASSIGN_OR_RETURN(std::vector<uint64_t> addresses, choose());
  addresses.resize(std::min<size_t>(addresses.size(), wanted_ - watched_));
  TG_ASSIGN_OR_RETURN(std::vector<pid_t> threads, threadsOf(process_, "--backend spot"));
  std::vector<std::vector<Watch>> watches(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i)
    for (pid_t thread : threads) {
      int error_number = 0;
      Watch watch(addresses[i], thread, error_number);
      if (error_number != 0 && error_number != ESRCH)
        return watchError(error_number, fmt::format(" of process {}", process_.pid()));
      watches[i].push_back(std::move(watch));
    }
  clock.sleep(window_ns);
  if (clock.isEnding()) return std::optional<SurveyRow>();
  uint64_t hits = 0;
  for (const std::vector<Watch>& word : watches)
    hits += std::ranges::any_of(word, [](const Watch& it) { return it.isHit(); });
  TG_RETURN_IF_ERROR(process_.check());
  watched_ += addresses.size();
  hits_ += hits;
  rounds_ += 1;
  auto [low, high] = wilson(hits_, watched_);
  SurveyRow row;
  if (rounds_ % kRoundsPerRow == 1 || watched_ >= wanted_)
    row.text = fmt::format("{:>5} {:>6} {:>8} {:7.1f} {:11.1f} {:6.1f}\n", rounds_, watched_, hits_,
                           percent(hits_, watched_), 100 * low, 100 * high);
  row.fields = {{"words", addresses.size()}, {"touched", hits}};
  return std::optional(std::move(row));
}

SurveyVerdict Spot::verdict() const {
  auto [low, high] = wilson(hits_, watched_);
  SurveyVerdict verdict{.fields = {{"words", watched_},
                                   {"touched", hits_},
                                   {"share_ci95", {low, high}},
                                   {"private_bytes", bytes_},
                                   {"window_s", seconds(window_ns_)}}};
  if (watched_ == 0) return verdict;
  auto part = [&](double share) {
    return base::humanBytes(static_cast<uint64_t>(share * static_cast<double>(bytes_)));
  };
  verdict.text = fmt::format(
      "{} of {} were touched within {:g} s. That is {:.1f} to {:.1f} % (95 % confidence) of the "
      "words of {} of private memory, or {} to {}. If --backend pte reports much more, the "
      "program uses only a part of its pages.\n",
      hits_, base::counted(watched_, "word"), seconds(window_ns_), 100 * low, 100 * high,
      base::humanBytes(bytes_), part(low), part(high));
  return verdict;
}

}  // namespace tidegauge::wss
