#include "server/opening/opening.h"

#include <gtest/gtest.h>

#include <future>
#include <numeric>

#include "server/http/json.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::server {
namespace {

using model::Action;

Request get(const std::string& question) {
  Request request;
  request.target = "/secret/" + question;
  request.hosts = {"127.0.0.1:8800"};
  return request;
}

TEST(RoughCurve, FollowsAllocationsAndMovesUpWhatIsOlder) {
  RoughCurve curve;
  std::vector<Action> action = {Action::kAlloc, Action::kFreeRequested, Action::kFreeCompleted,
                                Action::kFreeCompleted, Action::kSegmentAlloc};
  std::vector<uint64_t> bytes = {4, 4, 4, 10, 100};
  curve.add(action, bytes);
  // The last freed block is older: before the first event there were at least 10 bytes.
  EXPECT_EQ(curve.points(), (std::vector<uint64_t>{14, 14, 14, 10, 0}));
  EXPECT_EQ(curve.stepsPerPoint(), 1U);
}

TEST(RoughCurve, KeepsTheHighestStepsWhenPointsAreJoined) {
  RoughCurve curve;
  uint64_t most = 0;
  for (int chunk = 0; chunk < 100; ++chunk) {
    std::vector<Action> action(1000, Action::kAlloc);
    std::vector<uint64_t> bytes(1000, 1);
    if (chunk == 50) {
      bytes[500] = kMiB;
      action[501] = Action::kFree;
      bytes[501] = kMiB;
      most = 50'500 + kMiB;
    }
    curve.add(action, bytes);
  }
  std::vector<uint64_t> points = curve.points();
  EXPECT_EQ(curve.steps(), 100'000U);
  EXPECT_LT(points.size(), RoughCurve::kMaxPoints);
  EXPECT_EQ((curve.steps() + curve.stepsPerPoint() - 1) / curve.stepsPerPoint(), points.size());
  EXPECT_EQ(*std::max_element(points.begin(), points.end()), most);
}

TEST(RoughCurve, HugeSizesDoNotOverflow) {
  RoughCurve curve;
  std::vector<Action> action(100'000, Action::kAlloc);
  std::vector<uint64_t> bytes(100'000, UINT64_MAX);
  curve.add(action, bytes);
  for (Action& it : action) it = Action::kFree;
  curve.add(action, bytes);
  EXPECT_EQ(curve.points().back(), 0U);
}

TEST(Opening, SaysHowFarReadingIs) {
  Opening opening(Gate("secret", 8800), 2);
  opening.readFile("a.pickle");
  opening.readFile("b.pickle");
  opening.readBytes(50, 200);
  std::vector<Action> action = {Action::kAlloc, Action::kAlloc};
  std::vector<uint64_t> bytes = {3, 4};
  opening.readEvents(0, action, bytes);
  opening.readEvents(1, action, bytes);  // another device
  Request request = get("api/opening");
  EXPECT_EQ(opening.lane(request), Lane::kPicture);
  json answer = json::parse(opening.answer(request, {}).body);
  EXPECT_EQ(answer["open"], false);
  EXPECT_EQ(answer["name"], "b.pickle");
  EXPECT_EQ(answer["file"], 2);
  EXPECT_EQ(answer["done_bytes"], 50);
  EXPECT_EQ(answer["events"], 2);
  EXPECT_EQ(answer["at_least_bytes"], (json{3, 7}));
  opening.forgetEvents();
  EXPECT_EQ(json::parse(opening.answer(request, {}).body)["events"], 0);
}

TEST(Opening, AnswersStrangersAsTheApplicationDoes) {
  Opening opening(Gate("secret", 8800), 1);
  Request request = get("api/opening");
  request.target = "/wrong/api/opening";
  EXPECT_EQ(opening.answer(request, {}).status, 404);
  request = get("api/opening");
  request.hosts = {"evil.example"};
  EXPECT_EQ(opening.answer(request, {}).status, 421);
}

TEST(Opening, OtherQuestionsWaitUntilTheFilesAreOpen) {
  Opening opening(Gate("secret", 8800), 1);
  EXPECT_EQ(opening.lane(get("api/tile")), Lane::kText);  // pictures are not kept waiting
  auto asked =
      std::async(std::launch::async, [&] { return opening.answer(get("api/session"), {}); });
  EXPECT_EQ(asked.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  testing::TraceBuilder b;
  b.segmentAlloc(0x7f0000000000, 64 * kMiB).alloc(0x7f0000000000, kMiB);
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(std::make_unique<analysis::AnalysedTrace>(b.build()));
  Application application(openSession(std::move(traces)), Gate("secret", 8800));
  opening.finish(application);
  EXPECT_EQ(json::parse(asked.get().body)["files"].size(), 1U);
  EXPECT_EQ(json::parse(opening.answer(get("api/opening"), {}).body), (json{{"open", true}}));
  EXPECT_EQ(opening.lane(get("api/tile")), Lane::kPicture);
}

TEST(Opening, AClientThatClosedIsNotWaitedFor) {
  Opening opening(Gate("secret", 8800), 1);
  std::stop_source closed;
  auto asked = std::async(std::launch::async,
                          [&] { return opening.answer(get("api/session"), closed.get_token()); });
  closed.request_stop();
  EXPECT_EQ(asked.get().status, 503);
}

}  // namespace
}  // namespace tidegauge::server
