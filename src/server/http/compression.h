// Answers get smaller on their way if the client can undo it.
#pragma once

#include <string_view>

#include "server/http/message.h"

namespace tidegauge::server {

// True if an Accept-Encoding header names `coding` and does not forbid it with q=0.
bool accepts(std::string_view accept_encoding, std::string_view coding);

// Compresses the body with zstd if it is large enough to be worth it and the client accepts it.
void compress(const Request& request, Response& response);

}  // namespace tidegauge::server
