#include "wss/backends/damon_backend.h"

#include <algorithm>

#include "wss/backends/smaps_backend.h"

namespace tidegauge::wss {
namespace {

// The time until it has found regions: 30 intervals of this length.
constexpr int64_t kFirstInterval_ns = 100'000'000, kFirst_ns = 30 * kFirstInterval_ns;

}  // namespace

void countRegions(std::vector<MappingUse>& uses, const std::vector<DamonRegion>& regions) {
  size_t from = 0;
  for (MappingUse& use : uses) {
    const Mapping& mapping = use.mapping;
    while (from < regions.size() && regions[from].end <= mapping.start) ++from;
    uint64_t touched = 0;
    for (size_t i = from; i < regions.size() && regions[i].start < mapping.end; ++i) {
      uint64_t start = std::max(regions[i].start, mapping.start),
               end = std::min(regions[i].end, mapping.end);
      if (end > start) touched += end - start;
    }
    use.sums.referenced = std::min(touched, use.sums.rss);
  }
}

std::string DamonBackend::how() const {
  return "DAMON, after 3 s in which it finds regions; in memory by smaps";
}

std::vector<std::string> DamonBackend::limits() const {
  return {
      "regions are judged by one of their pages: where touched pages lie scattered, "
      "the figure can be many times too high, and a set of a few MiB can be missed"};
}

base::Result<Clearing> DamonBackend::clear(const Process& process, Clock& clock) {
  int64_t cpu_ns = clock.cpu_ns();
  if (kdamond_ == nullptr) {
    int64_t first_ns = std::min(window_ns_, kFirstInterval_ns);
    TG_ASSIGN_OR_RETURN(kdamond_, Kdamond::start(process.pid(), first_ns, root_));
    clock.sleep(kFirst_ns);
    TG_RETURN_IF_ERROR(process.check());
    if (!clock.isEnding() && window_ns_ != first_ns)
      TG_RETURN_IF_ERROR(kdamond_->setInterval(window_ns_));
  }
  Clearing done{.sees_guests = true};
  done.pass.begin_ns = done.pass.end_ns = clock.now_ns();
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

base::Result<Reading> DamonBackend::read(const Process& process, Clock& clock) {
  int64_t cpu_ns = clock.cpu_ns();
  auto regions = kdamond_->regions();
  TG_RETURN_IF_ERROR(process.check());  // it ends with the process
  if (!regions.ok()) return std::move(regions.error());
  int64_t kdamond_ns = kdamond_->cpu_ns();
  Reading done;
  done.pass.begin_ns = done.pass.end_ns = clock.now_ns();
  done.watched_ns = window_ns_;
  TG_ASSIGN_OR_RETURN(std::string text, process.readFile("smaps"));
  TG_RETURN_IF_ERROR(process.check());  // to the end, since the text may be incomplete
  done.uses = parseSmaps(text);
  countRegions(done.uses, regions.value());
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns + std::max<int64_t>(0, kdamond_ns - reported_cpu_ns_);
  reported_cpu_ns_ = kdamond_ns;
  return done;
}

}  // namespace tidegauge::wss
