#include <algorithm>
#include <string_view>

#include "base/base64.h"
#include "readers/torch/columns/columns.h"
#include "readers/torch/pickle/json.h"
#include "readers/torch/pickle/machine.h"
#include "readers/torch/unpack/unpack.h"

namespace tidegauge::readers::torch {
namespace {

using base::Error;
using base::ErrorKind;

bool isSpace(char letter) {
  return letter == ' ' || letter == '\n' || letter == '\r' || letter == '\t';
}

std::string_view skipSpace(std::string_view text) {
  while (!text.empty() && isSpace(text.front())) text.remove_prefix(1);
  return text;
}

base::Result<base::ByteBuffer> bytesOf(std::string_view base64, UnpackBudget& budget) {
  if (!budget.take(base::maxDecodedBytes(base64.size()))) return budget.error();
  base::Result<base::ByteBuffer> bytes = base::decodedBase64(base64);
  if (!bytes.ok()) {
    bytes.error().what = "the page's base64 text is damaged";
    bytes.error().hint = "Copy the file again.";
  }
  return bytes;
}

// The array after "local_files =", where PyTorch's own pages store their snapshots.
std::string_view findFiles(std::string_view page) {
  constexpr std::string_view kVariable = "local_files";
  for (size_t at = page.find(kVariable); at != std::string_view::npos;
       at = page.find(kVariable, at + 1)) {
    std::string_view rest = skipSpace(page.substr(at + kVariable.size()));
    if (!rest.starts_with('=')) continue;
    rest = skipSpace(rest.substr(1));
    if (rest.starts_with('[')) return rest;
  }
  return {};
}

}  // namespace

bool isHtml(std::span<const uint8_t> input) {
  constexpr size_t kMaxSpace = 1024;
  std::string_view start(reinterpret_cast<const char*>(input.data()),
                         std::min(input.size(), kMaxSpace));
  return skipSpace(start).starts_with('<');
}

base::Status unpackHtml(std::span<const uint8_t> input, UnpackBudget& budget,
                        const VisitMember& visit) {
  std::string_view page(reinterpret_cast<const char*>(input.data()), input.size());
  std::string_view files = findFiles(page);
  if (files.empty()) {
    return Error{ErrorKind::kUnreadable, "this web page contains no snapshot", 0,
                 "Open the pickle from which the page was created."};
  }
  std::span<const uint8_t> json(reinterpret_cast<const uint8_t*>(files.data()), files.size());
  model::Trace scratch;
  Values values(json, scratch.strings);
  Oddities oddities(values);
  Columns columns(scratch, values, oddities);
  Machine machine(columns, Mode::kCareful);
  JsonEnd end;
  if (!readJson(json, machine, values, {}, end)) {
    Error error = std::move(machine.error());
    if (error.byte_offset) *error.byte_offset += static_cast<uint64_t>(files.data() - page.data());
    return error;
  }
  if (!end.top.isSequence()) return base::okStatus();
  std::vector<Value> items;
  values.tree().forEachItem(end.top.index(), [&](Value item) { items.push_back(item); });
  if (items.size() > kMaxMembers) {
    return tooManyMembers(items.size(), static_cast<uint64_t>(files.data() - page.data()));
  }
  for (Value item : items) {
    std::string_view name = "an unnamed entry", text;
    if (item.tag() == Tag::kDict) {
      values.tree().forEachPair(item.index(), [&](Value key, Value value) {
        if (values.textOf(key) == "name") name = values.textOf(value);
        if (values.textOf(key) == "base64") text = values.textOf(value);
      });
    }
    base::Result<base::ByteBuffer> buffer = bytesOf(text, budget);
    if (!buffer.ok()) {
      // The offset is in the text, which is part of the page unless it had escapes.
      bool in_page = text.data() >= page.data() && text.data() < page.data() + page.size();
      const char* begin = in_page ? text.data() : files.data();
      uint64_t in_text = in_page ? buffer.error().byte_offset.value_or(0) : 0;
      buffer.error().byte_offset = static_cast<uint64_t>(begin - page.data()) + in_text;
      return std::move(buffer.error());
    }
    TG_RETURN_IF_ERROR(visit(std::string(name), buffer.value().bytes()));
  }
  return base::okStatus();
}

}  // namespace tidegauge::readers::torch
