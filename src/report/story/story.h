// The story of one device in sentences, each with its numbers and the view that shows them. The
// report prints them, the page's overview links them.
//
//   "The program requested 4,008 MiB. The driver had 3,842 MiB free, and 807 MiB were free inside
//    segments."
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings.h"
#include "analysis/judgement.h"
#include "analysis/summary.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

// What a sentence is about; the brief report has a section for each. kLacks: what the recording
// does not contain.
enum class Topic : uint8_t { kWhat, kLacks, kWhy, kWho, kRest };

struct StorySentence : Sentence {
  Topic topic = Topic::kRest;
};

struct Story {
  enum class Kind : uint8_t { kOom, kPeak, kState };
  Kind kind = Kind::kPeak;
  std::string eyebrow;  // "Out of memory", "Out of memory, the worst of 3 failed requests"
  bool is_one_of_several = false;
  std::optional<analysis::Step> step;
  bool at_start = false;  // before the first event; step is 0
  std::string headline;
  std::string headline_sql;
  std::vector<StorySentence> sentences;
  std::vector<analysis::Finding> findings;  // most severe first

  void add(Topic topic, Sentence sentence) { sentences.push_back({std::move(sentence), topic}); }
  // After the eyebrow: " at step 36,503"; empty: none.
  std::string placeText() const;
  std::vector<Sentence> of(Topic topic) const;
  std::vector<Sentence> all() const { return {sentences.begin(), sentences.end()}; }
};

Story makeStory(const analysis::AnalysedTrace& analysed, const analysis::DeviceSummary& summary,
                const analysis::Judgement& judgement);

// The first step that an issue concerns. A device without events has no steps: its issues concern
// the final state.
std::optional<uint64_t> firstStep(const analysis::AnalysedTrace& analysed,
                                  const model::Issue& issue);

// PyTorch's code was seen, but none of its blocks: its segments count as requested and live.
bool seesOnlySegments(const model::Trace& trace);

}  // namespace tidegauge::report
