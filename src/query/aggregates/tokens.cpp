#include "query/aggregates/tokens.h"

#include <algorithm>

namespace tidegauge::query {
namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool startsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool continuesName(char c) { return startsName(c) || isDigit(c) || c == '$'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr std::string_view kSymbols[] = {
    "->>", "->", "||", "<=", ">=", "<>", "<<", ">>", "==", "!=", "(", ")", ",",
    ".",   ";",  "+",  "-",  "*",  "/",  "%",  "&",  "|",  "~",  "<", ">", "="};

class Cutter {
 public:
  explicit Cutter(std::string_view sql) : sql_(sql) {}

  bool run(std::vector<Token>& tokens) {
    for (;;) {
      size_t before = at_;
      if (!skipGap()) return false;
      if (at_ == sql_.size()) return true;
      Token token;
      token.after_gap = at_ > before;
      size_t begin = at_;
      if (!take(token.kind)) return false;
      token.text = sql_.substr(begin, at_ - begin);
      tokens.push_back(token);
    }
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0'; }

  // Spaces and comments. False: a comment that does not end.
  bool skipGap() {
    while (at_ < sql_.size()) {
      if (isSpace(peek())) {
        ++at_;
      } else if (peek() == '-' && peek(1) == '-') {
        at_ = std::min(sql_.find('\n', at_), sql_.size());
      } else if (peek() == '/' && peek(1) == '*') {
        size_t end = sql_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return false;
        at_ = end + 2;
      } else {
        break;
      }
    }
    return true;
  }

  bool take(TokenKind& kind) {
    char c = peek();
    if (startsName(c)) {
      kind = TokenKind::kName;
      while (continuesName(peek())) ++at_;
      return peek() != '\'';  // x'00' is a blob
    }
    if (isDigit(c) || (c == '.' && isDigit(peek(1)))) {
      kind = TokenKind::kNumber;
      return takeNumber();
    }
    kind = c == '\'' ? TokenKind::kText : TokenKind::kQuotedName;
    if (c == '\'' || c == '"' || c == '`') return takeQuoted(c);
    if (c == '[') return takeUntil("]");
    kind = TokenKind::kSymbol;
    for (std::string_view symbol : kSymbols) {
      if (sql_.substr(at_).starts_with(symbol)) return at_ += symbol.size();
    }
    return false;
  }

  bool takeUntil(std::string_view end) {
    size_t found = sql_.find(end, at_ + 1);
    if (found == std::string_view::npos) return false;
    at_ = found + end.size();
    return true;
  }

  // A doubled quote is a quote inside; of names, those are not read.
  bool takeQuoted(char quote) {
    do {
      if (!takeUntil(std::string_view(&quote, 1))) return false;
      if (peek() == quote && quote != '\'') return false;
    } while (peek() == quote);
    return true;
  }

  bool takeNumber() {
    if (peek() == '0' && lower(peek(1)) == 'x') {
      at_ += 2;
      while (isDigit(peek()) || (lower(peek()) >= 'a' && lower(peek()) <= 'f')) ++at_;
    } else {
      takeDigits();
      if (peek() == '.') ++at_;
      takeDigits();
      if (lower(peek()) == 'e') {
        ++at_;
        if (peek() == '+' || peek() == '-') ++at_;
        takeDigits();
      }
    }
    return !continuesName(peek()) && peek() != '.';
  }
  void takeDigits() {
    while (isDigit(peek())) ++at_;
  }

  std::string_view sql_;
  size_t at_ = 0;
};

}  // namespace

bool equalInAnyCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool Token::isWord(std::string_view word) const {
  return kind == TokenKind::kName && equalInAnyCase(text, word);
}

std::string_view Token::name() const {
  if (kind == TokenKind::kName) return text;
  if (kind == TokenKind::kQuotedName) return text.substr(1, text.size() - 2);
  return {};
}

std::optional<std::vector<Token>> tokensOf(std::string_view sql) {
  std::vector<Token> tokens;
  return Cutter(sql).run(tokens) ? std::optional(std::move(tokens)) : std::nullopt;
}

std::string textOf(const Token* begin, const Token* end) {
  std::string text;
  for (const Token* token = begin; token < end; ++token) {
    if (token->after_gap) text += ' ';
    text += token->text;
  }
  return text;
}

}  // namespace tidegauge::query
