#include "export/page/page_pack.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "support/unpacked_page.h"

namespace tidegauge::exporting {
namespace {

using testing::UnpackedPage;

std::string pageOf(const PagePack& pack) {
  return "<script type=\"application/octet-stream\" id=\"tgpage\">" + base::base64("{}") +
         "</script>" + pack.html().value();
}

TEST(PagePack, ReturnsWhatWasPutIn) {
  PagePack pack;
  pack.add("a", "");
  pack.add("b", std::string("\0\xff<!--</script>", 15));
  pack.close();
  PagePack more;
  std::string large(3 << 20, 'x');
  more.add("c", large);
  more.add("d", "end");
  more.close();
  pack.append(std::move(more));
  EXPECT_EQ(pack.entries(), 4u);

  UnpackedPage page(pageOf(pack));
  EXPECT_EQ(page.answers.at("a"), "");
  EXPECT_EQ(page.answers.at("b"), std::string("\0\xff<!--</script>", 15));
  EXPECT_EQ(page.answers.at("c"), large);
  EXPECT_EQ(page.answers.at("d"), "end");
}

TEST(PagePack, NothingInsideCanEndTheScript) {
  PagePack pack;
  pack.add("</script><script>alert(1)</script>", "</script><!--<script>");
  pack.close();
  std::string html = pack.html().value();
  EXPECT_EQ(testing::scripts(html, "<script").size(), 2u) << "the block and the index";
  EXPECT_EQ(html.find("alert"), std::string::npos);
  EXPECT_EQ(html.find("<!--"), std::string::npos);
}

TEST(PagePack, NeverSaysThatItIsSmallerThanItIs) {
  PagePack pack;
  EXPECT_GE(pack.htmlBytes(), pack.html().value().size());
  uint32_t noise = 1;
  for (int i = 0; i < 5000; ++i) {
    std::string body;
    for (int k = 0; k < 40; ++k) body += static_cast<char>(noise = noise * 1664525u + 1013904223u);
    pack.add("allocation?id=" + std::to_string(noise), body);
  }
  pack.close();
  EXPECT_GE(pack.htmlBytes(), pack.html().value().size());
}

TEST(PagePack, WhatCannotBePackedIsAnError) {
  // zlib counts in 32 bits. The text is not read, so it need not exist.
  auto packed = gzip(std::string_view("x", (size_t{1} << 32) + 1));
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().kind, base::ErrorKind::kLimit);
  EXPECT_EQ(packed.error().what, "the page could not be packed: a part is over 4 GiB");
}

TEST(PagePack, TablesGoColumnByColumn) {
  EXPECT_EQ(bytePlanes("HEabcdef", 2, 3), "HEadbecf");
  EXPECT_EQ(bytePlanes("HEabcde", 2, 3), "HEabcde") << "no whole number of rows: as it is";
  EXPECT_EQ(bytePlanes("H", 2, 3), "H");
}

}  // namespace
}  // namespace tidegauge::exporting
