// A replay joins the open files, and is analysed like any of them; and its result for the advice.
#include <gtest/gtest.h>

#include <thread>

#include "server/application.h"
#include "server/http/json.h"
#include "support/simulated_heap.h"

namespace tidegauge::server {
namespace {

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() : app_(session(), Gate("secret", 8800)) {}

  static Session session() {
    std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
    model::Trace trace = testing::simulate({.seed = 7, .events = 2000}).trace;
    // not simulated, and part of the recording's settings
    trace.settings.conf = "throw_on_cudamalloc_oom:True";
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace)));
    return openSession(std::move(traces));
  }

  Response ask(Method method, const std::string& question) {
    Request request;
    request.method = method;
    request.target = "/secret/" + question;
    request.hosts = {"127.0.0.1:8800"};
    request.content_type = "application/json";
    request.body = method == Method::kPost ? "null" : "";
    return app_.answer(request, {});
  }
  json getJson(const std::string& question) {
    Response response = ask(Method::kGet, question);
    EXPECT_EQ(response.status, 200) << question << ": " << response.body;
    return json::parse(response.body, nullptr, false);
  }
  // The number of the file; −1: it was refused.
  int replay(const std::string& parameters) {
    Response response = ask(Method::kPost, "api/replay?" + parameters);
    if (response.status != 200) return -1;
    return json::parse(response.body, nullptr, false)["file"].get<int>();
  }

  Application app_;
};

TEST_F(ReplayTest, IsAFileThatEveryViewShows) {
  json told = getJson("api/what_if");
  std::string conf = "max_split_size_mb:64,throw_on_cudamalloc_oom:True";
  auto& all = told["candidates"];
  auto wanted =
      std::find_if(all.begin(), all.end(), [&](const json& it) { return it["settings"] == conf; });
  ASSERT_NE(wanted, all.end());
  ASSERT_EQ(replay("file=0&set=" + conf), 1);
  json files = getJson("api/session")["files"];
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files[1]["name"].get<std::string>().ends_with(" under " + conf));
  ASSERT_EQ(files[1]["devices"].size(), 1U);
  EXPECT_EQ(files[1]["devices"][0]["peak"]["reserved"]["bytes"], (*wanted)["peak_reserved_bytes"]);
  EXPECT_EQ(files[1]["devices"][0]["ooms"].size(), (*wanted)["ooms"].get<size_t>());
  json overview = getJson("api/overview?file=1");
  ASSERT_EQ(overview["issues"].size(), 1U) << overview["issues"].dump(1);
  EXPECT_EQ(overview["issues"][0]["kind"], "replayed");
  for (const json& identity : overview["identities"])
    EXPECT_EQ(identity["difference_bytes"], 0) << identity.dump();
  for (const char* view :
       {"state?step=500", "tile?x0=0&x1=100&columns=32&y0=0&y1=1e8&px=1e5", "flame", "table?rows=9",
        "map?x0=0&x1=6&columns=6&y0=0&y1=67108864&rows=16", "frag", "growth"})
    EXPECT_EQ(ask(Method::kGet, std::string("api/") + view +
                                    (std::string(view).find('?') == std::string::npos ? "?" : "&") +
                                    "file=1")
                  .status,
              200)
        << view;
  // The written trace equals what the allocator does under these settings.
  json again = getJson("api/what_if?file=1");
  EXPECT_EQ(again["verify"]["events_exact"], again["verify"]["events_checked"]);
  EXPECT_EQ(again["verify"]["final_segments_differing"], 0);
}

TEST_F(ReplayTest, WhatItOffersItTakes) {
  json told = getJson("api/what_if");
  std::string offered = told["candidates"][0]["settings"];
  EXPECT_NE(offered.find("throw_on_cudamalloc_oom"), std::string::npos) << offered;
  EXPECT_EQ(ask(Method::kGet, "api/what_if?set=" + offered).status, 200);
  EXPECT_EQ(replay("set=" + offered), 1);
}

TEST_F(ReplayTest, AskedForAgainItIsTheSame) {
  EXPECT_EQ(replay("set=max_split_size_mb:64"), 1);
  EXPECT_EQ(replay("set="), 2);
  EXPECT_EQ(replay("set=max_split_size_mb:64"), 1);
  EXPECT_EQ(replay("set=max_split_size_mb:64&capacity=1073741824"), 3);
}

TEST_F(ReplayTest, SeveralAtOnceDoNotLoseEachOther) {
  std::vector<int> numbers(6, -1);
  std::vector<std::jthread> all;
  for (size_t i = 0; i < numbers.size(); ++i)
    all.emplace_back(
        [&, i] { numbers[i] = replay("set=max_split_size_mb:" + std::to_string(64 + i / 2)); });
  all.clear();
  EXPECT_EQ(getJson("api/session")["files"].size(), 4U);
  for (size_t i = 0; i < numbers.size(); i += 2) {
    EXPECT_GT(numbers[i], 0);
    EXPECT_EQ(numbers[i], numbers[i + 1]);
  }
}

TEST_F(ReplayTest, WhatCannotBeReplayedIsSaid) {
  for (const std::string& bad :
       {std::string("device=9"), std::string("file=7"), std::string("set=nonsense"),
        std::string("set=max_split_size_mb:5"), std::string("capacity=-1"),
        "set=" + std::string(3000, 'a')})
    EXPECT_EQ(replay(bad), -1) << bad.substr(0, 40);
  ASSERT_EQ(replay("set="), 1);
  EXPECT_EQ(replay("file=1&set=max_split_size_mb:64"), -1);  // a replay already
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(replay("set=max_split_size_mb:" + std::to_string(64 + i)), 2 + i);
  Response ninth = ask(Method::kPost, "api/replay?set=max_split_size_mb:99");
  EXPECT_EQ(ninth.status, 400);
  EXPECT_NE(ninth.body.find("8 replays are open"), std::string::npos) << ninth.body;
}

TEST_F(ReplayTest, TheAdviceIsHeldAgainstIt) {
  json overview = getJson("api/overview"), proof = getJson("api/proof");
  ASSERT_TRUE(proof.is_object());
  EXPECT_EQ(proof["of_advice"].size(), overview["advice"].size());
  EXPECT_EQ(proof["sentences"].size(), 2U);
  EXPECT_EQ(ask(Method::kGet, "api/proof?step=3").status, 400);
  EXPECT_EQ(ask(Method::kGet, "api/proof?device=9").status, 400);
}

}  // namespace
}  // namespace tidegauge::server
