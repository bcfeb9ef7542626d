#include "wss/choice/choose.h"

#include <fmt/format.h>

#include <random>

#include "base/format.h"
#include "wss/backends/costs.h"
#include "wss/backends/damon_backend.h"
#include "wss/backends/exact_window.h"
#include "wss/backends/idle_backend.h"
#include "wss/backends/mglru_backend.h"
#include "wss/backends/smaps_backend.h"
#include "wss/backends/switch_ring.h"
#include "wss/backends/write_backend.h"
#include "wss/pages/huge_pages.h"
#ifdef TIDEGAUGE_BPF
#include "wss/pte/pte_backend.h"
#include "wss/sample/sampled_backend.h"
#endif

namespace tidegauge::wss {
namespace {

// A kdamond takes 20 samples per window, and cannot be ended while it writes its results.
constexpr int64_t kMinDamon_ns = 50'000'000, kMaxDamon_ns = 10'000'000'000;

#ifdef TIDEGAUGE_BPF

// Huge pages that are larger than a part of the sample would be split.
base::Status checkFolios(const SampleRate& rate) {
  uint64_t folio_bytes = largestFolioBytes();
  if (folio_bytes <= rate.pages * kPage) return base::okStatus();
  return base::Error{
      base::ErrorKind::kMissingFeature,
      fmt::format(
          "a sample reads {} at a time, which would split the huge pages of {} (mTHP) of this "
          "kernel",
          base::humanBytes(rate.pages * kPage), base::humanBytes(folio_bytes)),
      std::nullopt,
      "Use --sample exact, or change /sys/kernel/mm/transparent_hugepage/hugepages-*kB/enabled"};
}

base::Status checkPte() {
  TG_RETURN_IF_ERROR(PageTables::open());
  return base::okStatus();
}

base::Result<Choice> choosePte(const Wish& wish, const Process& process) {
  TG_ASSIGN_OR_RETURN(PageTables tables, PageTables::open());
  tables.aimAt(process.thread());
  Choice choice;
  std::optional<SampleRate> rate = rateOf(wish.sample);
  if (rate) {
    TG_RETURN_IF_ERROR(checkFolios(*rate));
    choice.is_sampled = true;
    choice.backend = std::make_unique<SampledBackend>(std::move(tables), *rate, flushOfThisKernel(),
                                                      std::random_device{}());
    return choice;
  }
  choice.backend = std::make_unique<PteBackend>(std::move(tables), flushOfThisKernel());
  if (wish.sample != "auto" || wish.is_exact_window) return choice;
  double stall_ms = static_cast<double>(predictedFor(*choice.backend, process)->stall_ns) * 1e-6;
  if (stall_ms <= wish.most_stall_ms) return choice;
  choice.why =
      fmt::format("clearing all pages stalls its mmap and munmap for about {:.0f} ms", stall_ms);
  // A sample also clears all files and shared memory.
  double private_ms = stall_ms - pagesOf(process.resident().shared_bytes) * kClearOfAPage_ns * 1e-6;
  if (private_ms > stall_ms / 2)
    choice.why += "; --sample 1/32 stalls less, but works only for processes that do not fork";
  return choice;
}

#else

base::Status checkPte() {
  return base::Error{base::ErrorKind::kMissingFeature,
                     "this build has no BPF programs, which are needed to read page tables",
                     std::nullopt, "Building them needs clang, libbpf, and x86-64 or arm64"};
}

base::Result<Choice> choosePte(const Wish&, const Process&) { return checkPte().error(); }

#endif

base::Status checkDamonWindow(int64_t window_ns) {
  if (window_ns >= kMinDamon_ns && window_ns <= kMaxDamon_ns) return base::okStatus();
  return base::Error{base::ErrorKind::kUsage,
                     "--backend damon supports windows of 0.05 to 10 seconds", std::nullopt,
                     "Use -s for several windows, or --backend pte or smaps"};
}

// What auto takes for a process whose guest of KVM the others do not see; absent: nothing.
std::optional<Choice> backendForGuest(const Wish& wish, const Process& process) {
  bool is_free = wish.backend == "auto" && wish.sample == "auto" && wish.may_ask_kvm &&
                 !wish.is_exact_window && !wish.needs_sharing && !wish.needs_pages;
  if (!is_free || !mustAskKvm(unseenTouchesOf(process), flushOfThisKernel())) return std::nullopt;
  Choice choice;
  if (IdleBackend::check().ok())
    choice.backend = std::make_unique<IdleBackend>(flushOfThisKernel());
  else if (checkDamonWindow(wish.window_ns).ok() && Kdamond::tryIt().ok())
    choice.backend = std::make_unique<DamonBackend>(wish.window_ns);
  else
    return std::nullopt;
  choice.why = fmt::format(
      "its guest of KVM touches memory through page tables of its own, which {} sees, and pte and "
      "smaps do not",
      choice.backend->name());
  return choice;
}

}  // namespace

bool mustAskKvm(const UnseenTouches& unseen, Flush flush) {
  return flush != Flush::kFree && unseen.has(Toucher::kKvm);
}

std::optional<Cost> predictedFor(const Backend& backend, const Process& process) {
  return backend.predicted(process.resident(), process.mappings());
}

base::Status checkBackend(std::string_view name) {
  if (name == "pte") return checkPte();
  if (name == "mglru") return MglruBackend::check();
  if (name == "idle") return IdleBackend::check();
  if (name == "damon") return Kdamond::tryIt();
  if (name == "write") return WriteBackend::check();
  return SmapsBackend::check();
}

namespace {

base::Result<Choice> chooseInner(const Wish& wish, const Process& process) {
  bool must_sample = wish.sample != "auto" && wish.sample != "exact";
  Choice choice;
  if (wish.backend == "mglru") {
    Flush switches = SwitchRing::isSuited() ? Flush::kSwitches : Flush::kNone;
    TG_ASSIGN_OR_RETURN(MglruBackend mglru, MglruBackend::open(process, switches));
    choice.backend = std::make_unique<MglruBackend>(std::move(mglru));
    return choice;
  }
  if (wish.backend == "idle") {
    base::Status status = checkBackend(wish.backend);
    // What it advises instead leaves out what was asked for.
    if (!status.ok() && !wish.cgroup.empty() && status.error().hint.ends_with("pte or smaps"))
      status.error().hint +=
          ", which measure what the processes of a cgroup map, and not its other page cache";
    TG_RETURN_IF_ERROR(status);
    auto idle = std::make_unique<IdleBackend>(flushOfThisKernel());
    if (!wish.cgroup.empty()) {
      TG_ASSIGN_OR_RETURN(CgroupCache cache, CgroupCache::open(wish.cgroup));
      idle->alsoMeasure(std::move(cache));
    }
    choice.backend = std::move(idle);
    return choice;
  }
  if (wish.backend == "write") {
    TG_RETURN_IF_ERROR(checkBackend(wish.backend));
    choice.backend = std::make_unique<WriteBackend>();
    return choice;
  }
  if (wish.backend == "damon") {
    TG_RETURN_IF_ERROR(checkDamonWindow(wish.window_ns));
    TG_RETURN_IF_ERROR(checkBackend(wish.backend));
    choice.backend = std::make_unique<DamonBackend>(wish.window_ns);
    return choice;
  }
  if (auto asking = backendForGuest(wish, process)) return std::move(*asking);
  if (wish.backend == "pte" || (wish.backend == "auto" && !wish.needs_sharing)) {
    auto pte = choosePte(wish, process);
    if (pte.ok() && wish.needs_pages) pte.value().backend->detail().keeps_pages = true;
    if (pte.ok() || wish.backend == "pte" || must_sample || wish.needs_pages) return pte;
    choice.why = pte.error().what;
  }
  choice.backend = std::make_unique<SmapsBackend>(flushOfThisKernel());
  return choice;
}

}  // namespace

base::Result<Choice> chooseBackend(const Wish& wish, const Process& process) {
  TG_ASSIGN_OR_RETURN(Choice choice, chooseInner(wish, process));
  if (wish.is_exact_window)
    choice.backend = std::make_unique<ExactWindow>(std::move(choice.backend));
  return choice;
}

}  // namespace tidegauge::wss
