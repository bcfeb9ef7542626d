// Opening: answers requests from the moment the server listens until the files are open.
//
//   api/opening       at once: how far reading is, and a rough curve of what was read
//   the page's files  at once
//   anything else     waits until the files are open, then the application answers
//
// Thread-safe: one thread reads files, others answer.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "server/application.h"
#include "server/opening/rough_curve.h"

namespace tidegauge::server {

class Opening {
 public:
  // Of `files` files.
  Opening(Gate gate, size_t files) : gate_(std::move(gate)), files_(files) {}

  // ---- while files are read
  void readFile(const std::string& name);  // the next one
  void readBytes(uint64_t done, uint64_t total);
  // The next events of that file. Rows with another `list` are of another device: the curve shows
  // the first one.
  void readEvents(uint32_t list, std::span<const model::Action> action,
                  std::span<const uint64_t> size_bytes);
  void forgetEvents();  // the file is read anew
  // From now on it answers. It must outlive this object.
  void finish(Application& application);

  // ---- requests
  Response answer(const Request& request, std::stop_token stop);
  Lane lane(const Request& request) const;

 private:
  Response progress() const;

  Gate gate_;
  size_t files_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any finished_;
  Application* application_ = nullptr;
  std::string name_;
  size_t file_ = 0;  // number of the file that is read, from 1
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  RoughCurve curve_;
};

}  // namespace tidegauge::server
