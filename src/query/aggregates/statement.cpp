#include "query/aggregates/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "query/aggregates/conditions.h"
#include "query/aggregates/tokens.h"

namespace tidegauge::query {
namespace {

constexpr std::string_view kPrefix = "tg#";
constexpr size_t kMaxCalls = 64;

constexpr std::pair<std::string_view, Aggregate> kAggregates[] = {
    {"count", Aggregate::kCount}, {"sum", Aggregate::kSum}, {"total", Aggregate::kTotal},
    {"avg", Aggregate::kAverage}, {"min", Aggregate::kMin}, {"max", Aggregate::kMax},
};

// Statements with any of these are not of one table, or need more of its rows than sums.
constexpr std::string_view kDeclined[] = {"SELECT", "WITH", "VALUES", "UNION",  "INTERSECT",
                                          "EXCEPT", "OVER", "FILTER", "WINDOW", "JOIN"};

// Words [begin, end) of a clause.
struct Words {
  const Token* begin = nullptr;
  const Token* end = nullptr;
  bool present() const { return begin != nullptr; }
  size_t size() const { return static_cast<size_t>(end - begin); }
};

// "a, f(b, c)" → "a" and "f(b, c)".
std::vector<Words> split(Words list) {
  std::vector<Words> parts;
  int depth = 0;
  const Token* begin = list.begin;
  for (const Token* at = list.begin; at < list.end; ++at) {
    if (at->is("(")) ++depth;
    if (at->is(")")) --depth;
    if (depth == 0 && at->is(",")) {
      parts.push_back({begin, at});
      begin = at + 1;
    }
  }
  parts.push_back({begin, list.end});
  return parts;
}

class Recogniser {
 public:
  explicit Recogniser(const std::vector<Token>& tokens)
      : at_(tokens.data()), end_(at_ + tokens.size()) {}

  bool run(const std::vector<Table>& tables, AggregateStatement& found) {
    return cut() && findTable(tables) && readWhere() && readGroups() && write() &&
           (found = std::move(found_), true);
  }

 private:
  // Cuts the statement into its clauses.
  bool cut() {
    while (end_ > at_ && (end_ - 1)->is(";")) --end_;
    if (at_ == end_ || !at_->isWord("SELECT")) return false;
    start_ = {at_, at_ + 1};
    ++at_;
    if (at_ != end_ && (at_->isWord("DISTINCT") || at_->isWord("ALL"))) start_.end = ++at_;
    bool plain = std::none_of(at_, end_, [](const Token& token) {
      return token.is(";") || std::any_of(std::begin(kDeclined), std::end(kDeclined),
                                          [&](auto word) { return token.isWord(word); });
    });
    if (!plain) return false;
    items_ = take();
    from_ = takeAfter("FROM");
    where_ = takeAfter("WHERE");
    group_ = takeAfter("GROUP", "BY");
    having_ = takeAfter("HAVING");
    order_ = takeAfter("ORDER", "BY");
    limit_ = takeAfter("LIMIT");
    return at_ == end_ && from_.present();
  }

  // Up to the next clause.
  Words take() {
    Words words{at_, at_};
    for (int depth = 0; at_ < end_; ++at_) {
      if (at_->is("(")) ++depth;
      if (at_->is(")")) --depth;
      bool clause = std::any_of(std::begin(kClauses), std::end(kClauses),
                                [&](auto word) { return at_->isWord(word); });
      if (depth == 0 && clause) break;
    }
    words.end = at_;
    return words;
  }
  Words takeAfter(std::string_view first, std::string_view second = {}) {
    if (at_ == end_ || !at_->isWord(first)) return {};
    ++at_;
    if (!second.empty()) {
      if (at_ == end_ || !at_->isWord(second)) return {};
      ++at_;
    }
    return take();
  }

  // FROM events, FROM events e, FROM events AS e.
  bool findTable(const std::vector<Table>& tables) {
    bool has_as = from_.size() == 3 && (from_.begin + 1)->isWord("AS");
    if (from_.size() != 1 && from_.size() != 2 && !has_as) return false;
    std::string_view name = from_.begin->name();
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const Table& t) { return equalInAnyCase(t.name, name); });
    alias_ = (from_.end - 1)->name();
    if (name.empty() || alias_.empty() || table == tables.end()) return false;
    found_.table = &*table;
    return true;
  }

  int columnOf(std::string_view name) const {
    const std::vector<Column>& columns = found_.table->columns;
    auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& column) {
      return equalInAnyCase(column.name, name);
    });
    return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
  }

  // step, "step", e.step
  int readColumn(const Token*& at, const Token* end) const {
    const Token* name = at;
    if (end - at >= 3 && (at + 1)->is(".")) {
      if (!equalInAnyCase(at->name(), alias_)) return -1;
      name += 2;
    }
    if (name >= end || name->name().empty()) return -1;
    int column = columnOf(name->name());
    if (column >= 0) at = name + 1;
    return column;
  }

  bool readWhere() {
    if (!where_.present()) return true;
    auto conditions =
        readConditions(where_.begin, where_.end,
                       [this](const Token*& at, const Token* end) { return readColumn(at, end); });
    if (!conditions) return false;
    found_.conditions = *std::move(conditions);
    return true;
  }

  bool readGroups() {
    found_.grouped = group_.present();
    if (!found_.grouped) return true;
    for (Words term : split(group_)) {
      int column = columnOfGroup(term);
      if (column < 0 || std::count(found_.groups.begin(), found_.groups.end(), column) > 0) {
        return false;
      }
      found_.groups.push_back(column);
    }
    return true;
  }

  // A column of the table; else the name or the number of a result column that is one.
  int columnOfGroup(Words term) const {
    const Token* at = term.begin;
    int column = readColumn(at, term.end);
    if (column >= 0) return at == term.end ? column : -1;
    if (term.size() != 1) return -1;
    std::vector<Words> items = split(items_);
    if (term.begin->kind == TokenKind::kNumber) {
      // "*" stands for several columns, so the number is not that of an item.
      bool has_star = std::any_of(items.begin(), items.end(),
                                  [](Words item) { return (item.end - 1)->is("*"); });
      if (has_star) return -1;
      std::string_view text = term.begin->text;
      size_t number = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      bool whole = error == std::errc() && end == text.data() + text.size();
      if (!whole || number < 1 || number > items.size()) return -1;
      return columnOfItem(items[number - 1], {});
    }
    std::string_view name = term.begin->name();
    for (Words item : items) {
      if (item.size() > 1 && !name.empty() && equalInAnyCase((item.end - 1)->name(), name)) {
        return columnOfItem(item, name);
      }
    }
    return -1;
  }

  // action, action AS a, action a. With `alias`: it must have that.
  int columnOfItem(Words item, std::string_view alias) const {
    const Token* at = item.begin;
    int column = readColumn(at, item.end);
    if (column < 0) return -1;
    bool has_alias = at != item.end;
    if (has_alias && at->isWord("AS")) ++at;
    if (has_alias && (item.end - at != 1 || at->name().empty())) return -1;
    return has_alias || alias.empty() ? column : -1;
  }

  // ---- the rest -------------------------------------------------------------------------------

  bool write() {
    std::string& rest = found_.rest;
    rest = textOf(start_.begin, start_.end);
    writeReplaced(items_);
    rest += " FROM" + textOf(from_.begin, from_.end);
    if (having_.present()) {
      rest += " WHERE";
      writeReplaced(having_);
    }
    if (order_.present()) {
      rest += " ORDER BY";
      writeReplaced(order_);
      readDirections();
    }
    if (limit_.present()) rest += " LIMIT" + textOf(limit_.begin, limit_.end);
    bool aggregates = found_.grouped || !found_.calls.empty();
    return aggregates && found_.calls.size() <= kMaxCalls;
  }

  void writeReplaced(Words words) {
    for (const Token* at = words.begin; at < words.end;) {
      if (at->after_gap) found_.rest += ' ';
      AggregateCall call;
      const Token* next = at;
      if (readCall(next, words.end, call)) {
        found_.rest += fmt::format("(+\"{}\")", nameOfCall(indexOf(call)));
        at = next;
      } else {
        found_.rest += (at++)->text;
      }
    }
  }

  // sum(size_bytes), count(*)
  bool readCall(const Token*& at, const Token* end, AggregateCall& call) const {
    auto known = std::find_if(std::begin(kAggregates), std::end(kAggregates),
                              [&](const auto& a) { return equalInAnyCase(a.first, at->name()); });
    if (known == std::end(kAggregates) || end - at < 3 || !(at + 1)->is("(")) return false;
    call.what = known->second;
    const Token* inside = at + 2;
    bool counts = call.what == Aggregate::kCount;
    if (counts && inside->is("*")) {
      ++inside;
    } else if (!(counts && inside->is(")"))) {
      call.column = readColumn(inside, end);
      if (call.column < 0) return false;
    }
    if (inside >= end || !inside->is(")")) return false;
    at = inside + 1;
    return true;
  }

  size_t indexOf(const AggregateCall& call) {
    auto found = std::find(found_.calls.begin(), found_.calls.end(), call);
    size_t index = static_cast<size_t>(found - found_.calls.begin());
    if (found == found_.calls.end()) found_.calls.push_back(call);
    return index;
  }

  // a DESC, b DESC NULLS LAST
  void readDirections() {
    std::vector<Words> terms = split(order_);
    if (terms.size() != found_.groups.size()) return;
    for (Words term : terms) {
      if (term.size() > 2 && (term.end - 2)->isWord("NULLS")) term.end -= 2;
      found_.descending.push_back(term.size() > 1 && (term.end - 1)->isWord("DESC"));
    }
  }

  static constexpr std::string_view kClauses[] = {"FROM",   "WHERE", "GROUP",
                                                  "HAVING", "ORDER", "LIMIT"};
  const Token* at_;
  const Token* end_;
  Words start_, items_, from_, where_, group_, having_, order_, limit_;
  std::string_view alias_;
  AggregateStatement found_;
};

}  // namespace

std::string nameOfCall(size_t index) { return fmt::format("{}{}", kPrefix, index); }
bool isNameOfCall(std::string_view name) { return name.starts_with(kPrefix); }

std::optional<AggregateStatement> recognise(std::string_view sql,
                                            const std::vector<Table>& tables) {
  if (sql.find(kPrefix) != std::string_view::npos) return std::nullopt;
  std::optional<std::vector<Token>> tokens = tokensOf(sql);
  AggregateStatement found;
  if (!tokens || !Recogniser(*tokens).run(tables, found)) return std::nullopt;
  return found;
}

}  // namespace tidegauge::query
