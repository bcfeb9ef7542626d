// A section of the report: a title, sentences and a grid, each number beside the SQL that gives it
// and the view that shows it.
//
//   Growth: 1 stack holds more and more                     title
//   - app.py:30 step grew by 1.0 MiB per step …             a sentence
//     › Growth · SELECT per_step_bytes FROM growth(0) …;    its evidence
//       per step   retained   stack                         a grid; its last column is a name
//        1.0 MiB   80.0 MiB   app.py:30 step
//     › SQL · SELECT * FROM growth(0);
//
// What a section must keep:
//   text   every number of a sentence is in the result of its `sql`, as it is or as human_bytes
//          writes it; every number of a grid in the result of the grid's.
//   JSON   an object with "sql": its numbers, texts and nulls that have a name among the result's
//          columns equal the first row. "X_sql" beside a list X of objects: the same, row by row.
// tests/real/report_sql_test.py runs every statement that reports print, and compares.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/what_if/replay_proof.h"
#include "report/words/sentence.h"

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

}  // namespace tidegauge::exporting
