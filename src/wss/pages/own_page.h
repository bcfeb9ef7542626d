// A page of our own, written just now, and what /proc/self/pagemap says of it: how the kernel
// treats pages, found out without touching anybody else's.
//
//   bit 55         has soft-dirty bits (mappings are born with them)
//   bits 0 to 54   where it lies in memory; 0 for who lacks CAP_SYS_ADMIN
//
// Source: Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include <cstdint>
#include <optional>

namespace tidegauge::wss {

class OwnPage {
 public:
  OwnPage();
  ~OwnPage();
  OwnPage(const OwnPage&) = delete;
  OwnPage& operator=(const OwnPage&) = delete;

  uint64_t address() const { return address_; }
  std::optional<uint64_t> pagemapEntry() const { return entry_; }  // not set: it cannot be read

 private:
  uint64_t address_ = 0, bytes_ = 0;
  std::optional<uint64_t> entry_;
};

}  // namespace tidegauge::wss
