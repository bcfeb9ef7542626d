// The words of an SQL statement, cut as SQLite cuts them.
//
//   sum( "size_bytes" )   →   name sum, symbol (, quoted name "size_bytes", symbol )
//
// It reads what `statement.h` has to look at, and copies. Parameters, blobs and anything unusual:
// none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::query {

enum class TokenKind : uint8_t { kName, kQuotedName, kNumber, kText, kSymbol };

struct Token {
  TokenKind kind = TokenKind::kSymbol;
  std::string_view text;   // as in the statement, with its quotes
  bool after_gap = false;  // a space or a comment is before it

  bool is(std::string_view symbol) const { return kind == TokenKind::kSymbol && text == symbol; }
  bool isWord(std::string_view word) const;  // a name without quotes, in any case
  // The name, without its quotes; empty if the token is not a name.
  std::string_view name() const;
};

bool equalInAnyCase(std::string_view a, std::string_view b);

// Absent if the statement contains something that is not read here.
std::optional<std::vector<Token>> tokensOf(std::string_view sql);

// The words as a statement again. Words that touched still touch, so SQLite cuts them as before.
std::string textOf(const Token* begin, const Token* end);

}  // namespace tidegauge::query
