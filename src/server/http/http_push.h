// Sends bodies to a collector, one at a time, on a separate thread.
//
//   offer(body) ─► POST http://host:4318/v1/metrics ─► 2xx: done
//                   └ no answer, 429, 502, 503, 504: again after 1, 2, 4 … 60 s (or Retry-After)
//                   └ anything else: this body is dropped, and counted
//
// A waiting body is replaced by a newer one: its counters are cumulative, so nothing is lost. Plain
// http only: a collector on this machine encrypts what leaves it.
// Source: OTLP specification 1.x, "OTLP/HTTP response" and "Retryable response codes".
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidegauge::server {

struct HttpAddress {
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string path;
};
// "http://host[:port][/path]"; defaults: port 4318 and path /v1/metrics.
base::Result<HttpAddress> parseCollector(std::string_view url);

struct PushDelays {
  std::chrono::milliseconds first{1000};
  std::chrono::milliseconds longest{60'000};
  std::chrono::milliseconds answer{10'000};  // time limit of one attempt
};
// The delay before the next attempt, after this number of failures in a row (1 or more): doubled
// each time, up to a maximum; of that 50 … 100 %, by `random` of 0 … 1, so that machines do not
// retry at the same time. At least what the collector requested (`retry_after`).
std::chrono::milliseconds delayAfter(unsigned failures, double random, const PushDelays& delays,
                                     std::optional<std::chrono::seconds> retry_after);
bool isWorthRetrying(int status);

struct PushCounts {
  uint64_t sent = 0;
  uint64_t attempts_failed = 0;
  uint64_t dropped = 0;    // refused permanently
  std::string last_error;  // empty: the last attempt succeeded
};

class HttpPush {
 public:
  HttpPush(HttpAddress address, std::string content_type, PushDelays delays = {});
  ~HttpPush();  // ends at once; waiting bodies are not sent
  HttpPush(const HttpPush&) = delete;
  HttpPush& operator=(const HttpPush&) = delete;

  void offer(std::string body);
  PushCounts counts() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tidegauge::server
