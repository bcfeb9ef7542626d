// The content of an exported page, unpacked without the code that packed it.
//
//   UnpackedPage page(html);
//   page.head["devices"][0]["finest_level"]
//   page.answers.at("overview?device=0")
#pragma once

#include <zlib.h>

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::testing {

inline std::string fromBase64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;  // "="
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xff);
  }
  return bytes;
}

inline std::string gunzip(std::string packed) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  std::array<char, 65536> part;
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return state == Z_STREAM_END ? out : "not gzip";
}

// The texts of all scripts that `opening` begins.
inline std::vector<std::string> scripts(std::string_view html, std::string_view opening) {
  std::vector<std::string> texts;
  for (size_t at = html.find(opening); at != std::string_view::npos; at = html.find(opening, at)) {
    at += opening.size();
    texts.emplace_back(html.substr(at, html.find('<', at) - at));
  }
  return texts;
}

struct UnpackedPage {
  nlohmann::json head;
  std::map<std::string, std::string> answers;

  explicit UnpackedPage(std::string_view html) {
    std::string type = "<script type=\"application/octet-stream\" ";
    head = nlohmann::json::parse(fromBase64(scripts(html, type + "id=\"tgpage\">").at(0)));
    std::vector<std::string> blocks;
    for (const std::string& text : scripts(html, type + "class=\"tgblock\">")) {
      blocks.push_back(gunzip(fromBase64(text)));
    }
    nlohmann::json index = nlohmann::json::parse(blocks.at(blocks.size() - 1));
    for (size_t i = 0; i < index["keys"].size(); ++i) {
      answers[index["keys"][i]] =
          blocks.at(index["block"][i]).substr(index["begin"][i], index["bytes"][i]);
    }
  }

  nlohmann::json json(const std::string& key) const {
    return nlohmann::json::parse(answers.at(key));
  }
};

}  // namespace tidegauge::testing
