// The answers: from a request that may come in to JSON, a picture or a file of the page.
//
//   GET /TOKEN/                the page
//   GET /TOKEN/api/tile?…      docs/formats/page-api.md lists them all
//
// Thread-safe: the traces are read-only, what is computed once locks itself.
#pragma once

#include <memory>
#include <string>

#include "server/gate.h"
#include "server/params.h"
#include "server/session.h"

namespace tidegauge::server {

class Application {
 public:
  Application(Session session, Gate gate);

  Response answer(const Request& request, std::stop_token stop);
  // What takes long does not get a thread that draws.
  Lane lane(const Request& request) const;

 private:
  Response answerBelow(const Request& request, std::stop_token stop);

  Session session_;
  Gate gate_;
};

}  // namespace tidegauge::server
