#include "query/aggregates/conditions.h"

#include <utility>

namespace tidegauge::query {
namespace {

struct Comparison {
  std::string_view symbol;
  Test test;
  Test turned;  // 5 < x is x > 5
};
constexpr Comparison kComparisons[] = {
    {"=", Test::kEqual, Test::kEqual},        {"==", Test::kEqual, Test::kEqual},
    {"<>", Test::kNotEqual, Test::kNotEqual}, {"!=", Test::kNotEqual, Test::kNotEqual},
    {"<", Test::kLess, Test::kGreater},       {"<=", Test::kLessEqual, Test::kGreaterEqual},
    {">", Test::kGreater, Test::kLess},       {">=", Test::kGreaterEqual, Test::kLessEqual},
};

class Reader {
 public:
  Reader(const Token* begin, const Token* end, const ReadColumn& read_column)
      : at_(begin), end_(end), read_column_(read_column) {}

  bool readAll() { return readConjunction(0) && at_ == end_; }
  std::vector<Condition> take() { return std::move(conditions_); }

 private:
  static constexpr int kMaxDepth = 20;

  bool skip(std::string_view symbol) {
    if (at_ == end_ || !at_->is(symbol)) return false;
    ++at_;
    return true;
  }
  bool skipWord(std::string_view word) {
    if (at_ == end_ || !at_->isWord(word)) return false;
    ++at_;
    return true;
  }

  bool readConjunction(int depth) {
    do {
      if (!readTerm(depth)) return false;
    } while (skipWord("AND"));
    return true;
  }

  bool readTerm(int depth) {
    if (skip("(")) return depth < kMaxDepth && readConjunction(depth + 1) && skip(")");
    std::string constant;
    bool turned = readConstant(constant);
    const Comparison* comparison = turned ? readComparison() : nullptr;
    if (turned && comparison == nullptr) return false;
    int column = read_column_(at_, end_);
    if (column < 0) return false;
    if (turned) {
      conditions_.push_back({column, comparison->turned, {std::move(constant)}});
      return true;
    }
    comparison = readComparison();
    return comparison != nullptr ? readValue(column, comparison->test) : readWords(column);
  }

  const Comparison* readComparison() {
    for (const Comparison& comparison : kComparisons) {
      if (skip(comparison.symbol)) return &comparison;
    }
    return nullptr;
  }

  bool readWords(int column) {
    if (skipWord("ISNULL")) return addTest(column, Test::kIsNull);
    if (skipWord("NOTNULL")) return addTest(column, Test::kIsNotNull);
    if (skipWord("NOT")) return skipWord("NULL") && addTest(column, Test::kIsNotNull);
    if (skipWord("IS")) {
      if (skipWord("NULL")) return addTest(column, Test::kIsNull);
      if (skipWord("NOT")) return skipWord("NULL") && addTest(column, Test::kIsNotNull);
      return readValue(column, Test::kIs);
    }
    if (skipWord("BETWEEN")) {
      return readValue(column, Test::kGreaterEqual) && skipWord("AND") &&
             readValue(column, Test::kLessEqual);
    }
    if (skipWord("LIKE")) return readValue(column, Test::kLike);
    return skipWord("IN") && skip("(") && readList(column);
  }

  bool readList(int column) {
    Condition condition{column, Test::kOneOf};
    do {
      if (!readConstant(condition.values.emplace_back())) return false;
    } while (skip(","));
    conditions_.push_back(std::move(condition));
    return skip(")");
  }

  bool addTest(int column, Test test) {
    conditions_.push_back({column, test});
    return true;
  }
  bool readValue(int column, Test test) {
    Condition condition{column, test};
    if (!readConstant(condition.values.emplace_back())) return false;
    conditions_.push_back(std::move(condition));
    return true;
  }

  // 5, -5, 'alloc', NULL.
  bool readConstant(std::string& constant) {
    const Token* begin = at_;
    bool sign = skip("-") || skip("+");
    bool number = at_ != end_ && at_->kind == TokenKind::kNumber;
    bool other = at_ != end_ && (at_->kind == TokenKind::kText || at_->isWord("NULL"));
    if (!number && (sign || !other)) {
      at_ = begin;
      return false;
    }
    ++at_;
    constant = textOf(begin, at_);
    return true;
  }

  const Token* at_;
  const Token* end_;
  const ReadColumn& read_column_;
  std::vector<Condition> conditions_;
};

}  // namespace

std::optional<std::vector<Condition>> readConditions(const Token* begin, const Token* end,
                                                     const ReadColumn& read_column) {
  Reader reader(begin, end, read_column);
  return reader.readAll() ? std::optional(reader.take()) : std::nullopt;
}

}  // namespace tidegauge::query
