"""Asks both binaries for each kind of answer and counts what is equal.

    comparison = Comparison(pair, renames, options, tally, folder)
    comparison.commands(cases); comparison.query(snapshots, recordings); comparison.server(files)

Two commands run at a time; the old and the new binary one after the other in each.
"""

import concurrent.futures
import json
import time

import cases
import inputs
import judge
import live
import questions
import runner
import server
import tables
import tree
from recordings import pids

WORKERS = 2


class Comparison:
    def __init__(self, pair, renames, options, found, folder):
        self.pair, self.renames, self.options, self.tally = pair, renames, options, found
        self.folder = folder

    def rules(self, kind):
        return tree.Rules(kind, self.renames, self.options.words)

    def commands(self, all_cases):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for _ in pool.map(self._command, enumerate(all_cases)):
                pass

    def _command(self, numbered):
        number, case = numbered
        began = time.monotonic()
        answers, pictures = [], []
        for side in range(2):
            picture = self.folder / f"picture{number}-{side}{case.picture}"
            words = [str(picture) if word == cases.PICTURE else word for word in case.words]
            answers.append(self.pair.run_one(side, self.pair.words(words)[side]))
            pictures.append(picture.read_bytes() if case.picture and picture.exists() else b"")
            answers[-1] = _without(answers[-1], picture)
        self._note(case.command, began)
        places = self._places(case, *answers)
        if not places and pictures[0] != pictures[1]:
            places = judge.text_places(self.rules(case.kind), *pictures, "the file, ")
        self._count(case.kind, case.name, case.command, places,
                    answers[0] is None or answers[0].code not in (0, 1))

    def _places(self, case, old, new):
        if old is None or new is None:
            if old is new:
                self.tally.skipped(f"{case.command}: both take more than {self.pair.limit_s} s")
                return []
            return [("time", *("too slow" if answer is None else "in time" for answer in (old, new)))]
        return judge.differing_places(self.rules(case.kind), old, new, case.is_json)

    def live(self):
        live.compare(self.pair, self.renames, self._count)

    def query(self, snapshots, recordings):
        compared = tables.Tables(self.pair, self.rules("query"))
        self._count("query schema", "tables and columns", "tidegauge query --print-docs",
                    compared.schema_places)
        if not compared.matched:
            return
        jobs = [(file, ()) for file in snapshots]
        jobs += [(file, ("--pid", str(pid))) for file in recordings for pid in pids(file)]
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for _ in pool.map(lambda job: self._tables_of(compared, *job), jobs):
                pass

    def _tables_of(self, compared, file, more):
        began = time.monotonic()
        results, refusals = compared.compare(file, more)
        self._note(f"query {file} {more}", began)
        command = f"tidegauge query {inputs.shown(file)} " + " ".join(more)
        if refusals:
            places = judge.refusal_places(self.rules("query"), *refusals)
            self._count("query", inputs.shown(file), command, places, is_error=True)
        for table, its_places in results:
            self._count("query", f"{inputs.shown(file)} {' '.join(more)}, {table}",
                        f'{command} "SELECT * FROM {table}"', its_places)

    def server(self, files):
        with server.Servers(self.pair, files) as servers:
            session = json.loads(servers.ask(questions.Question("session", {}))[0][2])
            for question in questions.questions(session, self.options.quick):
                began = time.monotonic()
                old, new = servers.ask(question)
                self._note(question.name, began)
                self._count(f"server {question.route}", _session_file(session, question),
                            question.name, self._answer_places(question, old, new),
                            old[0] >= 400)

    def _answer_places(self, question, old, new):
        if old[:2] != new[:2]:
            return [("status, type", f"{old[0]} {old[1]}", f"{new[0]} {new[1]}")]
        rules = self.rules(f"server {question.route}")
        if "json" in old[1]:
            return judge.json_places(rules, old[2], new[2])
        if "text" in old[1]:
            return judge.text_places(rules, old[2], new[2])
        return judge.byte_places(rules, old[2], new[2])

    def _count(self, kind, file, command, places, is_error=False):
        if places:
            self.tally.different(kind, file, command, places)
        else:
            self.tally.equal(kind, is_error)

    def _note(self, what, began):
        took = time.monotonic() - began
        if self.options.slow and took >= self.options.slow:
            print(f"{took:6.1f} s  {what}", flush=True)


def _session_file(session, question):
    number = question.params.get("file", 0)
    return session["files"][number]["name"] if number < len(session["files"]) else "no file"


def _without(answer, picture):
    """The names of the two pictures differ."""
    if answer is None:
        return None
    name = str(picture).encode()
    return runner.Answer(answer.code, answer.out.replace(name, b"PICTURE"),
                         answer.err.replace(name, b"PICTURE"))
