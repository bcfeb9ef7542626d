#include "wss/choose.h"

#include <sys/sysinfo.h>

#include <random>

#include "wss/smaps_backend.h"
#ifdef TIDEGAUGE_BPF
#include "wss/pte_backend.h"
#include "wss/sampled_backend.h"
#endif

namespace tidegauge::wss {
namespace {

#ifdef TIDEGAUGE_BPF

constexpr uint64_t kAlwaysExact = uint64_t{512} << 20;
constexpr double kClearOfAPage_ns = 45;  // measured: docs/performance.md

// Of so many tables one; 0: all pages.
uint32_t everyOf(const Wish& wish, uint64_t rss_bytes) {
  if (wish.sample == "1/32") return 1;
  if (wish.sample == "1/128") return 4;
  if (wish.sample == "1/512") return 16;
  if (wish.sample == "exact" || rss_bytes <= kAlwaysExact) return 0;
  return static_cast<double>(rss_bytes / 4096) * kClearOfAPage_ns > wish.most_stall_ms * 1e6 ? 1
                                                                                             : 0;
}

// MADV_COLD tells the kernel what to swap out first.
bool hasSwap() {
  struct sysinfo machine {};
  return sysinfo(&machine) != 0 || machine.totalswap != 0;
}

base::Result<Choice> choosePte(const Wish& wish, uint64_t rss_bytes) {
  TG_ASSIGN_OR_RETURN(PageTables tables, PageTables::open());
  Choice choice;
  uint32_t every = everyOf(wish, rss_bytes);
  if (every != 0 && wish.sample == "auto" && hasSwap()) {
    choice.why =
        "to clear all pages stops its mmap and munmap for longer than --max-stall-ms; "
        "--sample 1/32 would not, but tells the kernel which pages to swap out first";
    every = 0;
  }
  if (every == 0) {
    choice.backend = std::make_unique<PteBackend>(std::move(tables), flushOfThisKernel());
    return choice;
  }
  choice.is_sampled = true;
  if (wish.sample == "auto")
    choice.why = "to clear all pages would stop its mmap and munmap for longer than --max-stall-ms";
  choice.backend =
      std::make_unique<SampledBackend>(std::move(tables), every, std::random_device{}());
  return choice;
}

#else

base::Result<Choice> choosePte(const Wish&, uint64_t) {
  return base::Error{base::ErrorKind::kMissingFeature,
                     "this build has no BPF programs, which read page tables", std::nullopt,
                     "They need clang, libbpf and x86-64"};
}

#endif

}  // namespace

base::Result<Choice> chooseBackend(const Wish& wish, uint64_t rss_bytes) {
  bool must_sample = wish.sample != "auto" && wish.sample != "exact";
  Choice choice;
  if (wish.backend == "pte" || (wish.backend == "auto" && !wish.needs_sharing)) {
    auto pte = choosePte(wish, rss_bytes);
    if (pte.ok() || wish.backend == "pte" || must_sample) return pte;
    choice.why = pte.error().what;
  }
  choice.backend = std::make_unique<SmapsBackend>(flushOfThisKernel());
  return choice;
}

}  // namespace tidegauge::wss
