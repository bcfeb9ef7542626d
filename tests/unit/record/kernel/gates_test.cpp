#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "bpf/processes/hold_records.h"

namespace tidegauge::record {
namespace {

// A thread that left a gate without its opening takes another ticket at the next one.
TEST(Gates, TicketsDifferAndAreNeverZero) {
  std::set<uint32_t> tickets;
  for (uint32_t taken : {0U, 2U, 4U, 6U, UINT32_MAX - 3, UINT32_MAX - 1}) {
    uint32_t ticket = ticketOf(taken);
    EXPECT_NE(ticket, 0U);
    tickets.insert(ticket);
  }
  EXPECT_EQ(tickets.size(), 6U);
}

}  // namespace
}  // namespace tidegauge::record
