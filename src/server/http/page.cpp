#include "server/http/page.h"

#include "assets/assets.h"
#include "server/http/compression.h"

namespace tidegauge::server {
namespace {

constexpr std::string_view kNoPage =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Tidegauge</title>"
    "<p>This build of Tidegauge does not contain the page, because it was configured with "
    "TIDEGAUGE_WEB=OFF. "
    "Configure it with <code>cmake --preset release -DTIDEGAUGE_WEB=ON</code> and build again. "
    "The questions below <code>api/</code> are answered all the same.</p></html>\n";

}  // namespace

Response pageFile(const Request& request, std::string_view path) {
  if (path.empty()) path = "index.html";
  Response response;
  const assets::Asset* asset = assets::find(path);
  if (asset == nullptr) {
    if (path != "index.html") return errorResponse(404, "The page has no such file");
    response.content_type = "text/html; charset=utf-8";
    response.fixed_body = kNoPage;
    return response;
  }
  response.content_type = asset->content_type;
  response.fixed_body = asset->bytes;
  // The names of files in assets/ contain a hash of their content.
  if (path.starts_with("assets/")) response.cache_control = "max-age=31536000, immutable";
  if (!asset->gzip.empty()) {
    response.varies = true;
    if (accepts(request.accept_encoding, "gzip")) {
      response.fixed_body = asset->gzip;
      response.content_encoding = "gzip";
    }
  }
  return response;
}

}  // namespace tidegauge::server
