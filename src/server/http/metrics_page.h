// GET /metrics: the figures of a monitor, for scrapers on this machine.
//
//   MetricsPage page(server->port(), "text/plain; version=0.0.4");
//   page.show(text);                      // from the thread that records, once a second
//   server->run({page.handler(), …});     // answers with the latest
//
// No token: the figures concern processes of this machine, for people who run programs on it, and
// Prometheus has no token. The Host and Origin checks of gate.h apply: no page in a browser can
// read it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "server/http/gate.h"
#include "server/http/http_server.h"

namespace tidegauge::server {

class MetricsPage {
 public:
  MetricsPage(uint16_t port, std::string_view content_type)
      : gate_({}, port), content_type_(content_type) {}

  void show(std::string text);  // from any thread
  Response answer(const Request& request) const;
  Handler handler() const;

 private:
  Gate gate_;
  std::string_view content_type_;
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace tidegauge::server
