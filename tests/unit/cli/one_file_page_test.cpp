// The exported page as a whole: the engine's answers, put into a shell.
#include "export/page/one_file_page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "assets/assets.h"
#include "export/page/page_pyramid.h"
#include "server/application.h"
#include "support/bytes.h"
#include "support/simulated_heap.h"
#include "support/trace_builder.h"
#include "support/unpacked_page.h"
#include "view/timeline/stack_tile.h"

namespace tidegauge::exporting {
namespace {

using nlohmann::json;
using testing::UnpackedPage;

const std::string kShell = "<html><body>" + std::string(assets::kDataMark) + "</body></html>";

class OneFilePageTest : public ::testing::Test {
 protected:
  void open(model::Trace trace) {
    std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace)));
    analysed_ = traces.front().get();
    app_ = std::make_unique<server::Application>(server::openSession(std::move(traces)),
                                                 server::Gate("test", 1));
  }

  base::Result<std::string> ask(const std::string& question) {
    server::Request request;
    request.target = "/test/api/" + question;
    request.hosts = {"127.0.0.1:1"};
    server::Response answer = app_->answer(request, {});
    EXPECT_EQ(answer.status, 200) << question << ": " << answer.body;
    return answer.body;
  }

  base::Result<OneFilePage> page(report::Selection selection = {}, size_t most_bytes = 5'000'000) {
    return oneFilePage({.analysed = *analysed_,
                        .devices = report::choose(*analysed_, selection).value().devices,
                        .ask = [this](const std::string& question) { return ask(question); },
                        .shell = kShell,
                        .written = "2026-11-21",
                        .most_bytes = most_bytes});
  }

  const analysis::AnalysedTrace* analysed_ = nullptr;
  std::unique_ptr<server::Application> app_;
};

TEST_F(OneFilePageTest, HoldsWhatTheEngineAnswers) {
  open(testing::simulate({.seed = 3, .events = 3000}).trace);
  OneFilePage made = page().value();
  UnpackedPage unpacked(made.html);
  EXPECT_EQ(unpacked.json("overview?device=0"), json::parse(ask("overview?device=0").value()));
  EXPECT_EQ(unpacked.json("annotations?device=0"),
            json::parse(ask("annotations?device=0").value()));
  EXPECT_EQ(unpacked.json("flame?device=0&frames=all&of=peak"),
            json::parse(ask("flame?device=0&frames=all&of=peak").value()));
  ASSERT_EQ(made.devices.size(), 1u);
  const PageDevice& device = made.devices[0];
  EXPECT_EQ(device.finest_level, 0u) << "a short recording can be zoomed to the step";
  EXPECT_EQ(device.allocations, device.allocations_drawn);
  EXPECT_GT(device.allocations, 0u);
  EXPECT_EQ(unpacked.head["devices"][0]["finest_level"], 0);
  EXPECT_EQ(unpacked.head["written"], "2026-11-21");
}

TEST_F(OneFilePageTest, TilesAreThoseOfTheServer) {
  open(testing::simulate({.seed = 5, .events = 2000}).trace);
  UnpackedPage unpacked(page().value().html);
  uint32_t row_level = unpacked.head["devices"][0]["row_level"];
  double px = std::ldexp(1.0, static_cast<int>(row_level));
  std::string tile = ask(fmt::format("tile?device=0&axis=step&x0=512&x1=1024&columns=512&y0=0"
                                     "&y1={:.0f}&px={:.0f}",
                                     px * 4096, px))
                         .value();
  const std::string& kept = unpacked.answers.at("tile?device=0&index=1&level=0");
  ASSERT_EQ(kept.size(), tile.size());
  EXPECT_EQ(kept.substr(0, 56), tile.substr(0, 56));
  EXPECT_EQ(kept.substr(56, 8), std::string(8, '\0')) << "no engine time";
  size_t quads = (tile.size() - 64) / 32;
  ASSERT_GT(quads, 0u);
  for (size_t i = 0; i < quads; ++i) {
    for (size_t byte = 0; byte < 32; ++byte) {
      ASSERT_EQ(kept[64 + byte * quads + i], tile[64 + i * 32 + byte]);
    }
  }
  // the whole stack is in the one row of tiles
  EXPECT_GE(px * 4096, static_cast<double>(analysed_->devices[0]->totals.peakActive().bytes));
}

TEST_F(OneFilePageTest, StacksAreWrittenOnceAndNamed) {
  open(testing::simulate({.seed = 3, .events = 1500}).trace);
  UnpackedPage unpacked(page().value().html);
  size_t named = 0;
  for (const auto& [key, body] : unpacked.answers) {
    if (!key.starts_with("allocation?")) continue;
    json stack = json::parse(body)["stack"];
    if (stack.is_null()) continue;
    ++named;
    std::string id = std::to_string(stack["shared"].get<uint32_t>());
    EXPECT_EQ(unpacked.json("stack?id=" + id)["id"].dump(), id);
  }
  EXPECT_GT(named, 0u);
}

TEST_F(OneFilePageTest, TheSameFileGivesTheSamePage) {
  open(testing::simulate({.seed = 9, .events = 1500}).trace);
  EXPECT_EQ(page().value().html, page().value().html);
}

TEST_F(OneFilePageTest, LessRoomMeansLessZoomAndNeverMoreBytes) {
  open(testing::simulate({.seed = 3, .events = 20'000}).trace);
  OneFilePage large = page({}, 20'000'000).value();
  EXPECT_EQ(large.devices[0].finest_level, 0u);
  uint32_t finest = 0;
  for (size_t room : {1'000'000, 400'000, 200'000}) {
    OneFilePage small = page({}, room).value();
    EXPECT_LE(small.html.size(), room);
    EXPECT_GE(small.devices[0].finest_level, finest);
    EXPECT_GT(small.devices[0].places, 0u);
    finest = small.devices[0].finest_level;
  }
  EXPECT_GT(finest, 0u);
  EXPECT_LT(page({}, 200'000).value().devices[0].allocations, large.devices[0].allocations);
}

TEST_F(OneFilePageTest, TooLittleRoomIsAnError) {
  open(testing::simulate({.seed = 3, .events = 2000}).trace);
  auto made = page({}, 5'000);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, base::ErrorKind::kUsage);
  EXPECT_NE(made.error().hint.find("--max-size"), std::string::npos);
}

TEST_F(OneFilePageTest, ARangeIsZoomedAndTheRestIsThereCoarsely) {
  open(testing::simulate({.seed = 3, .events = 20'000}).trace);
  report::Selection selection;
  selection.from = "4000";
  selection.to = "4100";
  OneFilePage made = page(selection).value();
  UnpackedPage unpacked(made.html);
  EXPECT_FALSE(made.devices[0].whole);
  EXPECT_TRUE(unpacked.answers.contains("tile?device=0&index=7&level=0")) << "steps 3,584 to 4,095";
  EXPECT_TRUE(unpacked.answers.contains("tile?device=0&index=8&level=0"));
  EXPECT_FALSE(unpacked.answers.contains("tile?device=0&index=6&level=0"));
  std::string all = fmt::format("tile?device=0&index=0&level={}", made.devices[0].coarsest_level);
  EXPECT_TRUE(unpacked.answers.contains(all));
  EXPECT_TRUE(unpacked.answers.contains("flame?device=0&frames=all&from=4000&of=churn&to=4100"));
  EXPECT_TRUE(unpacked.answers.contains("at?axis=step&device=0&x=4050"));
  EXPECT_FALSE(unpacked.answers.contains("at?axis=step&device=0&x=9050"));
}

// Phases and out-of-memory events elsewhere neither take room nor count.
TEST_F(OneFilePageTest, StepsAreDescribedAndCountedInTheRange) {
  testing::TraceBuilder b;
  b.time(1).segmentAlloc(kA, 64 * kMiB);
  for (int i = 0; i < 1500; ++i) {
    b.stack({fmt::format("f{}@a.py:{}", i % 40, i)}).alloc(kA, kMiB).free(kA, kMiB);
    if (i % 10 == 0) b.oom(kMiB, 64 * kMiB);
  }
  for (int i = 0; i < 190; ++i) b.annotation(fmt::format("step {}", i), 1 + 2 * i, 2 + 2 * i);
  b.annotation("late", 4050, 4060);
  open(b.build());
  report::Selection selection;
  selection.from = "4000";
  selection.to = "4199";
  bool some_not_all = false;
  for (size_t room : {100'000, 110'000, 120'000, 140'000, 1'000'000}) {
    OneFilePage made = page(selection, room).value();
    size_t inside = 0, outside = 0;
    UnpackedPage unpacked(made.html);
    const std::string kAt = "at?axis=step&device=0&x=";
    for (const auto& [key, body] : unpacked.answers) {
      if (!key.starts_with(kAt)) continue;
      int step = std::stoi(key.substr(kAt.size()));
      ++(4000 <= step && step <= 4199 ? inside : outside);
    }
    EXPECT_EQ(made.devices[0].places, inside) << room;
    EXPECT_LE(outside, 8u) << room << ": the peaks, and where the cursor stands at first";
    EXPECT_EQ(made.devices[0].places == 200, room == 1'000'000) << room;
    some_not_all |= inside > 20 && inside < 200;
    if (inside > 20) {
      EXPECT_TRUE(unpacked.answers.contains(kAt + "4049")) << room << ": “late”";
    }
  }
  EXPECT_TRUE(some_not_all);
}

// The overview leads to the first block of each holder, drawn as itself or not.
TEST_F(OneFilePageTest, BlocksAreCountedAmongThoseDrawn) {
  testing::TraceBuilder b;
  b.segmentAlloc(kA, 8192 * kMiB).stack({"large@a.py:1"}).alloc(kA, 4096 * kMiB);
  for (uint64_t i = 0; i < 600; ++i) {
    b.stack({fmt::format("small{}@a.py:1", i % 8)}).alloc(kA + 4100 * kMiB + i * 512, 512);
  }
  open(b.build());
  OneFilePage made = page().value();
  UnpackedPage unpacked(made.html);
  std::set<uint32_t> drawn;
  for (const auto& [key, body] : unpacked.answers) {
    if (!key.starts_with("tile?")) continue;
    size_t quads = (body.size() - 64) / sizeof(view::Quad);
    for (size_t i = 0; i < quads; ++i) {
      std::string row;
      for (size_t byte = 0; byte < sizeof(view::Quad); ++byte) row += body[64 + byte * quads + i];
      view::Quad quad;
      std::memcpy(&quad, row.data(), sizeof quad);
      if (quad.allocation != view::kNoId) drawn.insert(quad.allocation);
    }
  }
  size_t described = 0, both = 0;
  const std::string kId = "allocation?id=";
  for (const auto& [key, body] : unpacked.answers) {
    if (!key.starts_with(kId)) continue;
    ++described;
    both += drawn.count(static_cast<uint32_t>(std::stoul(key.substr(kId.size()))));
  }
  EXPECT_GT(described, both) << "some are linked, but too small to be drawn";
  EXPECT_EQ(made.devices[0].allocations, both);
  EXPECT_EQ(made.devices[0].allocations_drawn, drawn.size());
  EXPECT_EQ(unpacked.head["devices"][0]["allocations_drawn"], drawn.size());
}

TEST_F(OneFilePageTest, HostileTextsStayInside) {
  testing::TraceBuilder b;
  b.segmentAlloc(0x7f0000000000, 64 * kMiB);
  b.stack({"</script><script>alert(1)</script>@<!--.py:9", "\xff\xed\xa0\x80@\xe2\x80\xa8.py:63"});
  b.alloc(0x7f0000000000, 4 * kMiB);
  b.annotation("</script><img src=http://evil.example/>", 0, 3);
  model::Trace trace = b.build();
  trace.source.name = "/home/me/</script><!--.pickle";
  open(std::move(trace));
  OneFilePage made = page().value();
  EXPECT_EQ(made.html.find("alert"), std::string::npos);
  EXPECT_EQ(made.html.find("evil"), std::string::npos);
  EXPECT_EQ(made.html.find("<!--"), std::string::npos);
  std::string rest = made.html;
  for (size_t at;
       (at = rest.find("<script type=\"application/octet-stream\"")) != std::string::npos;) {
    size_t end = rest.find("</script>", at);
    rest.erase(at, end + 9 - at);
  }
  EXPECT_EQ(rest.find("script"), std::string::npos) << rest;
  UnpackedPage unpacked(made.html);
  EXPECT_NE(unpacked.answers.at("overview?device=0").find("alert(1)"), std::string::npos);
  EXPECT_EQ(unpacked.answers.at("session").find("/home/me"), std::string::npos)
      << "the folders of whoever exports are nobody's business";
}

TEST_F(OneFilePageTest, OnlyTheDevicesThatWereChosen) {
  testing::TraceBuilder b;
  b.segmentAlloc(0x7f0000000000, 64 * kMiB).alloc(0x7f0000000000, 4 * kMiB);
  b.device(1).segmentAlloc(0x7f1000000000, 64 * kMiB).alloc(0x7f1000000000, kMiB);
  open(b.build());
  EXPECT_EQ(page().value().devices.size(), 2u);
  report::Selection selection;
  selection.device = 1;
  OneFilePage made = page(selection).value();
  UnpackedPage unpacked(made.html);
  json session = unpacked.json("session");
  ASSERT_EQ(session["files"][0]["devices"].size(), 1u);
  EXPECT_EQ(session["files"][0]["devices"][0]["ordinal"], 1);
  EXPECT_FALSE(unpacked.answers.contains("overview?device=0"));
}

TEST_F(OneFilePageTest, WithoutEventsThereIsNoTimeline) {
  testing::TraceBuilder b;
  b.finalSegment(0x7f0000000000, 2 * kMiB)
      .block(2 * kMiB, model::BlockState::kActiveAllocated, kMiB);
  open(b.build());
  OneFilePage made = page().value();
  UnpackedPage unpacked(made.html);
  EXPECT_EQ(made.devices[0].events, 0u);
  EXPECT_TRUE(unpacked.answers.contains("overview?device=0"));
  EXPECT_TRUE(unpacked.answers.contains("flame?device=0&frames=all&of=live&step=0"));
  for (const auto& [key, body] : unpacked.answers) EXPECT_FALSE(key.starts_with("tile?")) << key;
}

TEST_F(OneFilePageTest, AFileWithoutDevicesIsAPageThatSaysSo) {
  open(model::Trace{});
  UnpackedPage unpacked(page().value().html);
  EXPECT_TRUE(unpacked.json("session")["files"][0]["devices"].empty());
}

TEST_F(OneFilePageTest, ABuildWithoutThePageSaysSo) {
  open(model::Trace{});
  auto made =
      oneFilePage({.analysed = *analysed_, .devices = {}, .ask = {}, .shell = "", .written = ""});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, base::ErrorKind::kMissingFeature);
}

TEST(Pyramid, LevelsAreThoseOfThePage) {  // web/src/gl/tile_address.ts
  EXPECT_EQ(coarsestLevelFor(0), 0u);
  EXPECT_EQ(coarsestLevelFor(512), 0u);
  EXPECT_EQ(coarsestLevelFor(513), 1u);
  EXPECT_EQ(coarsestLevelFor(10'000'000), 15u);
  EXPECT_EQ(rowLevelFor(0), 0u);
  EXPECT_EQ(rowLevelFor(2048), 0u);
  EXPECT_EQ(rowLevelFor(4096), 1u);
  EXPECT_LE(rowLevelFor(UINT64_MAX), 64u);
}

}  // namespace
}  // namespace tidegauge::exporting
