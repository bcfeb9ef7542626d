// The report in sections, each number beside the SQL that gives it and the view that shows it.
//
//   Growth: 1 stack holds more and more                     title
//   - app.py:30 step grew by 1.0 MiB per step …             a sentence
//     › Growth · SELECT per_step_bytes FROM growth(0) …;    its evidence
//       per step   retained   stack                         a grid; its last column is a name
//        1.0 MiB   80.0 MiB   app.py:30 step
//     › SQL · SELECT * FROM growth(0);
//
// One file per section (report_growth.cpp, …), listed in sectionsOf(). What a section must keep:
//   text   every number of a sentence is in the result of its `sql`, as it is or as human_bytes
//          writes it; every number of a grid in the result of the grid's.
//   JSON   an object with "sql": its numbers, texts and nulls that have a name among the result's
//          columns equal the first row. "X_sql" beside a list X of objects: the same, row by row.
// tests/real/report_sql_test.py runs every statement that reports print, and compares.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/replay_proof.h"
#include "export/story.h"
#include "export/story_json.h"

namespace tidegauge::exporting {

struct Grid {
  std::vector<std::string> heads{};
  std::vector<std::vector<std::string>> rows{};  // as many texts as heads
  uint64_t more = 0;                             // rows of the result that are not shown
  std::string sql{};
  std::optional<Link> link{};
  bool whole_names =
      false;  // one that has no room beside its row has lines of its own, and is not cut
};

struct Section {
  std::string key;  // of devices[] in --json: "growth"
  std::string title;
  std::vector<Sentence> sentences{};
  std::optional<Grid> grid{};
  nlohmann::json json{};  // an object, "sql" and "X_sql" included; its sentences are added
};

struct SectionContext {
  const analysis::AnalysedTrace& analysed;
  const analysis::DeviceSummary& summary;
  size_t rows = 12;                              // of a grid
  std::optional<uint64_t> capacity_bytes{};      // as given; else what the file knows
  const analysis::ReplayProof* proof = nullptr;  // none: nothing was replayed
};

// In the order of the report. Sections that have nothing to say have no sentences and no grid: they
// are in the JSON only; null there: not asked for.
std::vector<Section> sectionsOf(const SectionContext& context);

Section fragmentationSection(const SectionContext& context);
std::vector<Section> growthSections(const SectionContext& context);  // growth, never_freed
Section churnSection(const SectionContext& context);
Section wallSection(const SectionContext& context);
Section replaySection(const SectionContext& context);

// Of an advice that names a setting: what that would have done. None: it names none, or nothing was replayed.
std::optional<Sentence> proofSentence(const SectionContext& context, size_t advice);
std::string replaysTable(int device, std::optional<uint64_t> capacity_bytes);

// ---- small parts for their files ----------------------------------------------------------------

Part plain(std::string text);
Part strong(std::string text);
Part code(std::string text);
// The SQL view with the statement.
Link sqlLink(std::string sql);
// The Growth view: "growing", "never_freed" or "churn".
Link growthLink(const std::string& list);
// [{"text": …, "sql": …, "view": "timeline"}]
nlohmann::json evidenceJson(const std::vector<Sentence>& sentences);
// "› Timeline · SELECT …;" on one line, without line breaks; empty without SQL.
std::string evidenceText(const std::string& sql, const std::optional<Link>& link);

}  // namespace tidegauge::exporting
