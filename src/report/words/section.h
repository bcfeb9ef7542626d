// A section of the report: a title, sentences and a grid. Each number has the SQL that gives it and
// the view that shows it.
//
//   Growth: 1 stack holds more and more                     title
//   - app.py:30 step grew by 1.0 MiB per step …             a sentence
//     › Growth · SELECT per_step_bytes FROM growth(0) …;    its evidence
//       per step   retained   stack                         a grid; its last column is a name
//        1.0 MiB   80.0 MiB   app.py:30 step
//     › SQL · SELECT * FROM growth(0);
//
// Rules for a section:
//   text   every number of a sentence is in the result of its `sql`, unchanged or as human_bytes
//          writes it; every number of a grid is in the result of the grid's.
//   JSON   an object with "sql": its members named like columns of the result equal the first
//          row. "X_sql" beside a list X of objects: the same, row by row.
// tests/real/report_sql_test.py runs every statement that reports print, and compares.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/summary.h"
#include "analysis/what_if/replay_proof.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

struct Grid {
  std::vector<std::string> heads{};
  std::vector<std::vector<std::string>> rows{};  // one text per head
  uint64_t more = 0;                             // rows of the result that are not shown
  std::string sql{};
  std::optional<Link> link{};
  bool whole_names =
      false;  // if it does not fit beside its row, it gets its own lines and is not cut
};

struct Section {
  std::string key;  // of devices[] in --json: "growth"
  std::string title;
  std::vector<Sentence> sentences{};
  std::optional<Grid> grid{};
  nlohmann::json json{};  // an object with "sql" and "X_sql"; its sentences are added
};

struct SectionContext {
  const analysis::AnalysedTrace& analysed;
  const analysis::DeviceSummary& summary;
  size_t rows = 12;                              // of a grid
  std::optional<uint64_t> capacity_bytes{};      // as given; else as in the file
  const analysis::ReplayProof* proof = nullptr;  // null: nothing was replayed
};

}  // namespace tidegauge::report
