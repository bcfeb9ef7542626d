// Compresses answers for clients that support it.
#pragma once

#include <string_view>

#include "server/http/message.h"

namespace tidegauge::server {

// True if an Accept-Encoding header contains `coding` and does not forbid it with q=0.
bool accepts(std::string_view accept_encoding, std::string_view coding);

// Compresses the body with zstd if it is large enough and the client accepts it.
void compress(const Request& request, Response& response);

}  // namespace tidegauge::server
