// FragWriter: the fragmentation report for a terminal, sentences first, then tables.
//
//   frag_text.cpp        what it is about, how much is free, out of memory
//   frag_sentences.cpp   why it could not be used, who keeps it, the score and its forecast
//   frag_tables.cpp      what fits, over time, by pool
#pragma once

#include <string>

#include "analysis/oom/oom.h"
#include "base/format.h"
#include "report/frag/frag_report.h"
#include "report/words/pool_names.h"
#include "report/words/text_page.h"

namespace tidegauge::report {

class FragWriter {
 public:
  FragWriter(const analysis::AnalysedTrace& analysed, const FragReport& report,
             const FragTextOptions& options)
      : analysed_(analysed),
        report_(report),
        options_(options),
        page_(options.columns, options.colour) {}

  std::string write();

 private:
  const analysis::FragmentationSums& sums() const { return report_.now.sample.sums; }
  bool ofDriver() const { return report_.allocator() == analysis::AllocatorKind::kDriver; }
  bool timeless() const { return report_.device->totals.steps() == 0; }
  std::string poolOf(model::PoolId pool) const { return poolName(analysed_.trace, pool); }

  std::string listName(const analysis::FreeListKey& key) const;
  void heading();
  void headline();
  void outsideSentence();
  void contradictions();
  void oomSentence();
  void oomHereSentence(const analysis::OomReport& oom,
                       const std::vector<analysis::OomReport>& ooms);

  static std::string exactSize(uint64_t bytes);
  void wallSentence();
  void fitSentence();
  void strandedSentence();
  void wasteSentence();
  void pins();
  void scores();
  void warnings();

  void fits();
  void askedOfDriver(uint64_t request);
  void overTime();
  void pools();

  const analysis::AnalysedTrace& analysed_;
  const FragReport& report_;
  const FragTextOptions& options_;
  std::string driver_free_;  // at an out-of-memory event, as reported
  TextPage page_;
};

}  // namespace tidegauge::report
