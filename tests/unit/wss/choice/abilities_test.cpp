#include "wss/choice/abilities.h"

#include <gtest/gtest.h>

#include "base/text_layout.h"
#include "wss/choice/choose.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {
namespace {

std::vector<Ability> abilities(bool pte_works) {
  std::vector<Ability> all;
  all.push_back({"pte", "the page tables",
                 pte_works ? base::okStatus()
                           : base::Status(base::Error{base::ErrorKind::kMissingFeature,
                                                      "this user may not", std::nullopt,
                                                      "Run as root, or with a capability that "
                                                      "has a rather long name"})});
  all.push_back({"smaps", "sums per mapping", base::okStatus()});
  return all;
}

TEST(Abilities, AutoTakesTheBestThatWorks) {
  EXPECT_EQ(firstOf(abilities(true)), "pte");
  EXPECT_EQ(firstOf(abilities(false)), "smaps");
}

TEST(Abilities, SayWhyNotWithinThePage) {
  std::string text = abilitiesText(abilities(false), 60);
  EXPECT_NE(text.find("no       pte      the page tables. Not available: this user"),
            std::string::npos);
  EXPECT_NE(text.find("ok       smaps    sums per mapping\n"), std::string::npos) << text;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    EXPECT_LE(base::displayWidth(text.substr(at, end - at)), 60U);
    at = end + 1;
  }
  nlohmann::json json = abilitiesJson(abilities(false));
  EXPECT_EQ(json[0]["works"], false);
  EXPECT_EQ(json[0]["why_not"], "this user may not");
  EXPECT_EQ(json[1]["works"], true);
}

// On any machine: every back-end is tested, and described.
TEST(Abilities, OfThisMachine) {
  auto here = lookAtBackends();
  ASSERT_EQ(here.size(), kBackends.size() + kSurveys.size());
  for (const Ability& it : here) {
    EXPECT_FALSE(it.tells.empty()) << it.name;
    EXPECT_TRUE(it.status.ok() || !it.status.error().what.empty()) << it.name;
  }
}

}  // namespace
}  // namespace tidegauge::wss
