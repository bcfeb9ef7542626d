#!/usr/bin/env python3
"""Measures the tree: sizes, folders, classes, columns, commits, documentation. Prints Markdown.

    tools/measure_house.py                       this checkout
    tools/measure_house.py --since COMMIT        subjects of the commits after COMMIT only
    tools/measure_house.py --before CHECKOUT     a second column: another checkout, measured the same way
    tools/measure_house.py --write …             puts the tables into docs/architecture.md, "Measured"
    tools/measure_house.py --self-test           proves the count of data members and the like

Each row or function says how its figure is
counted; these are counts of a script, not judgements.
"""

import argparse
import collections
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/architecture.md"
BEGIN, END = "<!-- measured -->", "<!-- end -->"
ENGINE = ("src/", "bpf/", "preload/", "injection/")
C_FILES = (".h", ".c", ".cpp")
WEB_FILES = (".ts", ".tsx")
COLUMNS = 100
SUBJECT = 72


class Tree:
    """The files of a checkout that git knows, read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        listing = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        self.names = sorted(name for name in listing.split("\0") if name and (self.root / name).is_file())
        self.texts = {}

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True,
                              check=True).stdout

    def below(self, folders, endings):
        return [name for name in self.names if name.startswith(folders) and name.endswith(endings)]

    def text(self, name):
        if name not in self.texts:
            self.texts[name] = (self.root / name).read_text(encoding="utf-8", errors="replace")
        return self.texts[name]

    def engine(self):
        return self.below(ENGINE, C_FILES)

    def page(self):
        return [name for name in self.below("web/src/", WEB_FILES) if ".test." not in name]


def without_comments(text):
    """C++ with comments, texts and preprocessor lines blanked."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"'
                       r"|(?<![0-9A-Za-z])'(?:[^'\\\n]|\\.)'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
    return token.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def without_nested(text, opening, closing):
    """The text without what stands between the two, however deep."""
    kept, depth = [], 0
    for letter in text:
        if letter == opening:
            depth += 1
        elif letter == closing and depth > 0:
            depth -= 1
        elif depth == 0:
            kept.append(letter)
    return "".join(kept)


def body_of(text, start):
    """What stands between the brace at `start` and its partner."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return text[start + 1:at]
    return text[start + 1:]


def declarations(body):
    """The statements of a class, without the bodies of its functions and nested types."""
    statement, depth = "", 0
    for letter in body:
        if letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            is_function = re.search(r"\)[\w\s&:,<>-]*$", without_nested(statement, "<", ">"))
            if depth == 0 and is_function and not re.search(r"=\s*$", statement):
                statement = ""  # a function's body ends without a semicolon
        elif depth == 0 and letter == ";":
            yield statement.strip()
            statement = ""
        elif depth == 0:
            statement += letter


SKIPPED = re.compile(r"^(?:using|typedef|friend|static|enum|class|struct|union|template|constexpr|operator"
                     r"|virtual|explicit|inline static)\b")


def data_members(body):
    count = 0
    for statement in declarations(body):
        statement = re.sub(r"^(?:\s*(?:public|private|protected)\s*:)+", "", statement).strip()
        statement = re.sub(r"alignas\([^)]*\)|\[\[[^]]*\]\]|__attribute__\(\([^)]*\)\)", "", statement).strip()
        plain = without_nested(statement, "<", ">")
        if not plain or SKIPPED.match(plain) or "operator" in plain:
            continue
        before_value = plain.split("=", 1)[0]
        if "(" in before_value or not re.search(r"\w\s+[*&]?\s*\w|\w[*&]\s*\w|>\s*\w| ", before_value):
            continue
        plain = without_nested(without_nested(plain, "(", ")"), "[", "]")
        count += 1 + plain.count(",")
    return count


TYPE = re.compile(r"(?<!enum )\b(class|struct)\s+(?:alignas\([^)]*\)\s*)?(\w+)(?:\s+final)?\s*(?::[^;{]*)?\{")


def types_of(text):
    """(class or struct, name, data members) of each type with a body."""
    plain = without_comments(text)
    for match in TYPE.finditer(plain):
        yield match.group(1), match.group(2), data_members(body_of(plain, match.end() - 1))


def lines_of(tree, names):
    return [tree.text(name).count("\n") for name in names]


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0


def comment_share(tree, names):
    """Lines that hold nothing but a comment."""
    comments = total = 0
    for name in names:
        inside = False
        for line in tree.text(name).split("\n")[:-1]:
            total += 1
            word = line.strip()
            if inside or word.startswith(("//", "/*")):
                comments += 1
                inside = (inside or word.startswith("/*")) and "*/" not in word
    return comments / total if total else 0


def sizes(tree, names):
    """The row of the review's table for the other projects."""
    lines = lines_of(tree, names)
    if not lines:
        return ["0"] + ["–"] * 5
    return [f"{len(lines):,}", f"{sum(lines) / 1000:.1f}", f"{statistics.median(lines):.0f}",
            f"{percentile(lines, 0.9)}", f"{max(lines)}", f"{100 * comment_share(tree, names):.1f} %"]


def folders(tree, names):
    return collections.Counter(str(pathlib.PurePosixPath(name).parent) for name in names)


def largest_folders(tree, names, how_many=3):
    return ", ".join(f"{folder} {count}" for folder, count in folders(tree, names).most_common(how_many))


def largest_types(tree, kind):
    found = [(members, name) for file in tree.engine() for of, name, members in types_of(tree.text(file))
             if of == kind]
    return ", ".join(f"{name} {members}" for members, name in sorted(found, reverse=True)[:3])


def long_lines(tree, names):
    return sum(len(line) > COLUMNS for name in names for line in tree.text(name).split("\n"))


def subjects(tree, since):
    span = [f"{since}..HEAD"] if since else ["HEAD"]
    out = tree.git("log", "--no-merges", "--format=%s%x01%b%x02", *span)
    commits = [entry.strip().partition("\x01") for entry in out.split("\x02") if entry.strip()]
    if not commits:
        return "none"
    lengths = [len(subject) for subject, _, _ in commits]
    return (f"{sum(length > SUBJECT for length in lengths)} of {len(commits)}; longest {max(lengths)}; "
            f"{sum(bool(body.strip()) for _, _, body in commits)} with a body")


def without_header(tree):
    names = set(tree.engine())
    return sum(name.endswith(".cpp") and name[:-4] + ".h" not in names for name in names)


def docs_per_folder(tree):
    counted = folders(tree, tree.below("docs/", ".md"))
    return ", ".join(f"{folder.removeprefix('docs/')} {count}" for folder, count in sorted(counted.items()))


def with_readme(tree, top):
    """Folders that hold files, and those of them that have a README."""
    all_folders = {str(pathlib.PurePosixPath(name).parent) for name in tree.names if name.startswith(top)}
    having = {folder for folder in all_folders if f"{folder}/README.md" in tree.names}
    return f"{len(having)} of {len(all_folders)}"


def measures(tree, since):
    engine, page, tests = tree.engine(), tree.page(), tree.below("tests/", (".cpp", ".h", ".py", ".mjs", ".ts"))
    web_tests = [name for name in tree.below("web/src/", WEB_FILES) if ".test." in name]
    cpp_tests = [name for name in tests if name.endswith((".cpp", ".h"))]
    headers = [name for name in engine if name.endswith(".h")]
    return [
        ("largest file of src, bpf, preload; of web/src", f"{max(lines_of(tree, engine))}; "
                                                          f"{max(lines_of(tree, page), default=0)} lines"),
        ("files per folder, src: the largest", largest_folders(tree, engine)),
        ("files per folder, web/src: the largest", largest_folders(tree, tree.below("web/src/", WEB_FILES))),
        ("files per folder, tests: the largest", largest_folders(tree, tests)),
        ("folders of src, bpf, preload with files", str(len(folders(tree, engine)))),
        ("`class` with most data members", largest_types(tree, "class")),
        ("`struct` with most data members", largest_types(tree, "struct")),
        (f"lines over {COLUMNS} columns: src, bpf, preload; tests (C++)",
         f"{long_lines(tree, engine)}; {long_lines(tree, cpp_tests)}"),
        ("headers of 20 lines and less", f"{sum(n <= 20 for n in lines_of(tree, headers))} of {len(headers)}"),
        (".cpp without a header of its own", str(without_header(tree))),
        ("files under tests and web tests : source files",
         f"{len(tests) + len(web_tests)} : {len(engine) + len(page)}"),
        ("lines of tests : lines of source",
         f"{sum(lines_of(tree, tests + web_tests)) / max(1, sum(lines_of(tree, engine + page))):.2f}"),
        (f"commit subjects over {SUBJECT} characters" + (f" since {since[:7]}" if since else ""),
         subjects(tree, since)),
        ("pages of docs per folder", docs_per_folder(tree)),
        ("folders with a README: src; web/src", f"{with_readme(tree, 'src/')}; {with_readme(tree, 'web/src/')}"),
        ("CONTRIBUTING.md, CHANGELOG.md, docs/architecture.md, docs/README.md",
         ", ".join("yes" if name in tree.names else "no" for name in
                   ("CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md", "docs/README.md"))),
    ]


def tables(tree, before, since):
    """Both tables in Markdown, line by line."""
    rows = [("C and C++ (src, bpf, preload)", sizes(tree, tree.engine())),
            ("page (web/src, without tests)", sizes(tree, tree.page()))]
    if before:
        rows += [("C and C++, before", sizes(before, before.engine())),
                 ("page, before", sizes(before, before.page()))]
    yield "| | files | kLOC | median | p90 | largest | comment lines |\n|---|---|---|---|---|---|---|"
    for name, cells in rows:
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    now = measures(tree, since)
    if before:
        yield "| measure | before | now |\n|---|---|---|"
        for (name, value), (_, old) in zip(now, measures(before, None)):
            yield f"| {name} | {old} | {value} |"
    else:
        yield "| measure | now |\n|---|---|"
        for name, value in now:
            yield f"| {name} | {value} |"


def self_test():
    text = """
// class NotOne { int a; };
class Book final : public Base, private Other {
 public:
  Book(int a, int b) : a_(a), list_{b} {}
  int size() const { return a_; }
  virtual void take(const Call& call) = 0;
  std::function<void(int, int)> on_change;
  static constexpr int kMax = 3;
  using Map = std::map<int, int>;
  struct Row { int id = 0, other = 1; std::string name{"; {"}; };
  friend class X;
 private:
  int a_ = 0, b_ = 1;
  std::map<int, std::pair<int, int>> list_{};
  Row rows_[3];
  std::unique_ptr<Row> row_;
  bool operator==(const Book&) const = default;
};
struct Empty {};
enum class Kind { kOne };
"""
    found = {name: members for _, name, members in types_of(text)}
    assert found == {"Book": 6, "Row": 3, "Empty": 0}, found
    assert percentile(list(range(1, 11)), 0.9) == 10 and percentile([], 0.9) == 0
    print("3 types counted as expected")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--before", metavar="CHECKOUT")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = "\n".join(tables(Tree(ROOT), Tree(options.before) if options.before else None, options.since))
    if not options.write:
        print(text)
        return
    page = PAGE.read_text(encoding="utf-8")
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(page[:begin] + "\n" + text + "\n" + page[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
