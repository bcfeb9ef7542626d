// The self-description of `query`: tables, columns, functions and worked questions, with a sentence
// for each. Written once, beside the code that produces the values; used for docs/use/sql.md, the
// list of `tidegauge query FILE`, and the page's api/schema.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::query {

enum class ColumnKind : uint8_t { kInteger, kReal, kText, kBytes, kStep, kTime };

std::string_view name(ColumnKind kind);  // "integer", "real", "text", "bytes", "step", "time"

struct ColumnDoc {
  std::string name;
  ColumnKind kind = ColumnKind::kInteger;
  std::string doc;
  bool hidden = false;  // not part of SELECT *
};

struct TableDoc {
  std::string name;
  std::string doc;
  uint64_t rows = 0;
  std::vector<ColumnDoc> columns;
  bool only_recordings = false;  // empty for snapshots
};

struct FunctionDoc {
  std::string signature;  // "stack_text(stack_id)"
  std::string doc;
  std::vector<ColumnDoc> columns{};  // of a function that returns its own table
};

// A common question, with the SQL that answers it.
struct Question {
  std::string title;
  std::string sql;
};

struct Schema {
  std::vector<TableDoc> tables;
  std::vector<FunctionDoc> functions;
  std::vector<Question> questions;
};

const std::vector<Question>& workedQuestions();

}  // namespace tidegauge::query
