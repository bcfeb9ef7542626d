// The built page, embedded in the binary: a table of files, made at build time by
// tools/embed_assets.py from web/dist. Empty in builds without the page (TIDEGAUGE_WEB=OFF).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tidegauge::assets {

struct Asset {
  std::string_view path;          // "index.html", "assets/main-x7f3.js"
  std::string_view content_type;  // "text/html; charset=utf-8"
  std::string_view bytes;         // unchanged
  std::string_view gzip;          // the same, gzipped; empty if that is not smaller
};

std::span<const Asset> all();

// nullptr if there is no such file.
const Asset* find(std::string_view path);

// The same page as a single file, with kDataMark where the data of an exported page goes
// (tools/inline_page.py). Empty in builds without the page.
std::string_view oneFilePage();
inline constexpr std::string_view kDataMark = "<!--tidegauge:data-->";

}  // namespace tidegauge::assets
