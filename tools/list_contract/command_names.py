"""Commands and options, from --help; exit codes, from the README's sentence about them."""

import re

from programs import ROOT, Missing, run

OPTION = re.compile(r"^  (-{1,2}[\w-][^ ]*(?:, ?-{1,2}[\w-]+)*(?: [^ ]+)*?)(?:  +.*)?$")
EXTRAS = re.compile(r" (?:REQUIRED|Excludes:.*|Needs:.*)")
COMMAND = re.compile(r"^  ([a-z][\w-]*)(?:  +.*)?$")


def in_part(help_text, heading):
    """The lines of a part of --help, without those that only explain."""
    lines, inside = [], False
    for line in help_text.splitlines():
        if line and not line.startswith(" "):
            inside = line.rstrip().rstrip(":").lower() == heading
        elif inside and re.match(r"^  \S", line):
            lines.append(line)
    return lines


def commands(options):
    top = run(options.binary, "--help")
    yield from option_lines("tidegauge", top)
    for command in commands_in(top):
        yield f"tidegauge {command}"
        yield from option_lines(f"tidegauge {command}", run(options.binary, command, "--help"))


def commands_in(help_text):
    return [COMMAND.match(line)[1] for line in in_part(help_text, "subcommands")]


def option_lines(command, help_text):
    for line in in_part(help_text, "positionals"):
        yield f"{command} {line.split()[0]}"
    for line in in_part(help_text, "options"):
        option = OPTION.match(line)
        if option and option[1].split(",")[0] not in ("-h", "--help"):
            yield f"{command} {EXTRAS.sub('', option[1]).strip()}"


def exit_codes(_):
    """A sentence "Exit codes: 0 all went well, 1 …." or a table under that heading."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = re.search(r"Exit codes: (.*?)\. ", " ".join(readme.split()))
    heading = re.search(r"^#+ Exit codes?\n(.*?)(?=^#|\Z)", readme, re.MULTILINE | re.DOTALL)
    if said:
        found = re.findall(r"(?:^|, )(\d) (.*?)(?=, \d |$)", said[1])
    elif heading:
        found = re.findall(r"^\| `?(\d)`? \| (.*?) \|", heading[1], re.MULTILINE)
    else:
        raise Missing("README.md has no sentence and no section that begins with “Exit codes”")
    for code, words in found:
        yield f"{code}  {words}"
