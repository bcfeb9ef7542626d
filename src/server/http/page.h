// The files of the page, as built into the program.
#pragma once

#include <string_view>

#include "server/http/message.h"

namespace tidegauge::server {

// `path` below the token: "" is the page itself.
Response pageFile(const Request& request, std::string_view path);

}  // namespace tidegauge::server
