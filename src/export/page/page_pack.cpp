#include "export/page/page_pack.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/base64.h"

namespace tidegauge::exporting {
namespace {

using base::base64;
using base::base64Bytes;

constexpr std::string_view kOpen = R"(<script type="application/octet-stream" class="tgblock">)";
constexpr std::string_view kClose = "</script>\n";
constexpr int kLevel = 7;

}  // namespace

void PagePack::add(std::string key, std::string_view body) {
  // An upper bound after gzip for numbers and a key that is much like the one before.
  index_bytes_ += base64Bytes(key.size() / 2 + 16);
  entries_.push_back(
      {std::move(key), static_cast<uint32_t>(blocks_.size()), open_.size(), body.size()});
  open_ += body;
  if (open_.size() >= kBlockBytes) close();
}

void PagePack::close() {
  // A block with an empty body exists as well, since its entries refer to it.
  bool used = !entries_.empty() && entries_.back().block == blocks_.size();
  if (!used) return;
  base::Result<std::string> packed = gzip(open_);
  if (!packed.ok() && packed_.ok()) packed_ = packed.error();
  blocks_.push_back(packed.ok() ? base64(packed.value()) : std::string());
  block_bytes_ += kOpen.size() + blocks_.back().size() + kClose.size();
  open_.clear();
}

void PagePack::append(PagePack&& other) {
  assert(open_.empty() && other.open_.empty());
  auto first = static_cast<uint32_t>(blocks_.size());
  for (Entry& entry : other.entries_) {
    entry.block += first;
    entries_.push_back(std::move(entry));
  }
  for (std::string& block : other.blocks_) blocks_.push_back(std::move(block));
  block_bytes_ += other.block_bytes_;
  index_bytes_ += other.index_bytes_;
  if (packed_.ok()) packed_ = std::move(other.packed_);
  other = PagePack();
}

base::Result<std::string> PagePack::html() const {
  using nlohmann::json;
  TG_RETURN_IF_ERROR(base::Status(packed_));
  json keys = json::array(), block = json::array(), begin = json::array(), bytes = json::array();
  for (const Entry& entry : entries_) {
    keys.push_back(entry.key);
    block.push_back(entry.block);
    begin.push_back(entry.begin);
    bytes.push_back(entry.bytes);
  }
  json index = {{"keys", std::move(keys)},
                {"block", std::move(block)},
                {"begin", std::move(begin)},
                {"bytes", std::move(bytes)}};
  std::string html;
  html.reserve(htmlBytes());
  auto write = [&](std::string_view text) {
    fmt::format_to(std::back_inserter(html), "{}{}{}", kOpen, text, kClose);
  };
  for (const std::string& text : blocks_) write(text);
  TG_ASSIGN_OR_RETURN(std::string packed_index, gzip(index.dump()));
  write(base64(packed_index));
  return html;
}

std::string bytePlanes(std::string_view table, size_t head_bytes, size_t row_bytes) {
  if (table.size() < head_bytes || (table.size() - head_bytes) % row_bytes != 0) {
    return std::string(table);
  }
  std::string planes(table.substr(0, head_bytes));
  planes.reserve(table.size());
  for (size_t column = 0; column < row_bytes; ++column) {
    for (size_t at = head_bytes + column; at < table.size(); at += row_bytes) planes += table[at];
  }
  return planes;
}

base::Result<std::string> gzip(std::string_view bytes) {
  auto failure = [](const char* why) {
    return base::Error{
        base::ErrorKind::kLimit, fmt::format("the page could not be packed: {}", why), {}, {}};
  };
  if (bytes.size() > std::numeric_limits<uInt>::max()) return failure("a part is over 4 GiB");
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return failure("there is not enough memory");  // the only way it fails with these arguments
  }
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  // zlib only reads the input; its interface is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out =
      static_cast<uInt>(std::min<size_t>(packed.size(), std::numeric_limits<uInt>::max()));
  int outcome = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (outcome != Z_STREAM_END) return failure("it did not fit");  // deflateBound() says it does
  return packed;
}

}  // namespace tidegauge::exporting
