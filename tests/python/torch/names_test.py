#!/usr/bin/env python3
"""Names of tensors, on real PyTorch: parameters, gradients, optimizer state, tied and sharded weights."""
import unittest

import programs

MODEL = """
    import gc, tidegauge.torch
    torch = no_math_libraries()
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.up = nn.LayerNorm(width), nn.Linear(width, width, bias=False)
            self.register_buffer("scale", torch.ones(width))
        def forward(self, x): return x + self.up(self.norm(x)) * self.scale

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(100, 64)
            self.layers = nn.ModuleList(Block(64) for _ in range(2))
            self.head = nn.Linear(64, 100, bias=False)
            self.head.weight = self.embed.weight
        def forward(self, ids):
            x = self.embed(ids)
            for layer in self.layers: x = layer(x)
            return self.head(x)

    def named(**options):
        snapshot = tidegauge.torch.snapshot()
        return snapshot["tidegauge"]["tensors"], snapshot

    def blocks(snapshot):
        return {block["address"]: block for segment in snapshot["segments"] for block in segment["blocks"]
                if block["state"] == "active_allocated"}

    def with_history():
        torch.cuda.init()
        torch.cuda.memory._record_memory_history(max_entries=1000)

    def has_times(snapshot):  # those of PyTorch 2.1 have none
        return "time_us" in snapshot["device_traces"][0][0]

    def train(model, optimizer, ids):
        model(ids).mean().backward()
        optimizer.step()
"""


class Names(programs.TorchTest):
    def test_views_of_one_storage_are_one_name(self):
        done = self.run_torch(MODEL, """
            from tidegauge.torch._names import registry
            cache = torch.empty(1 << 20, device="cuda")
            for at in range(5000):
                tidegauge.torch.name(cache[at:], "cache")
            many = len(registry.tensors)
            for at in range(5000):
                tidegauge.torch.name(torch.empty(512, device="cuda"), "short-lived")
            found, _ = named()
            give(many=many, after=len(registry.tensors), names=[each["name"] for each in found])
        """)
        self.assertEqual(done["many"], 1)
        self.assertLess(done["after"], 1100)
        self.assertEqual(done["names"].count("cache"), 1)

    def test_a_storage_that_moved_after_its_view_died(self):
        done = self.run_torch(MODEL, """
            weight = torch.ones(1 << 20, device="cuda")
            storage = weight.untyped_storage()
            was = storage.data_ptr()
            tidegauge.torch.name(weight.view(-1), "weight")
            gc.collect()
            size = storage.nbytes()
            storage.resize_(0)  # as FSDP does between its steps
            other = torch.ones(1 << 20, device="cuda")
            empty, _ = named()
            storage.resize_(size)
            again, _ = named()
            give(was=was, other=other.data_ptr(), now=storage.data_ptr(), empty=empty, again=again)
        """)
        self.assertEqual(done["other"], done["was"])  # else the test shows nothing
        self.assertEqual(done["empty"], [])
        self.assertEqual([(each["name"], each["address"]) for each in done["again"]], [("weight", done["now"])])

    def test_parameters_buffers_gradients_and_state(self):
        done = self.run_torch(MODEL, """
            with_history()
            model = Net().cuda()
            optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
            tidegauge.torch.names(model, optimizer)
            before, _ = named()
            train(model, optimizer, torch.zeros(4, 8, dtype=torch.long, device="cuda"))
            after, snapshot = named()
            held = blocks(snapshot)
            give(times=has_times(snapshot), before=before, after=after, unknown=[each for each in after if each["address"] not in held],
                 sizes=[(each["bytes"], held[each["address"]]["requested_size"]) for each in after])
        """)
        before = {each["name"]: each for each in done["before"]}
        after = {each["name"]: each for each in done["after"]}
        parameters = ["embed.weight", "head.weight", *[f"layers.{at}.{name}" for at in range(2)
                      for name in ("norm.weight", "norm.bias", "up.weight")]]
        self.assertEqual({name for name, each in before.items() if each["kind"] == "parameter"}, set(parameters))
        self.assertEqual({each["kind"] for each in before.values()}, {"parameter", "buffer"})
        self.assertEqual(before["layers.1.scale"]["kind"], "buffer")
        up = after["layers.0.up.weight"]
        self.assertEqual({key: up[key] for key in ("device", "bytes", "kind", "of", "state", "shape", "dtype")},
                         {"device": 0, "bytes": 64 * 64 * 4, "kind": "parameter", "of": "", "state": "",
                          "shape": [64, 64], "dtype": "float32"})
        self.assertEqual(up.get("time_us", 0) > 10**15, done["times"])
        state = after["layers.0.up.weight.exp_avg"]
        self.assertEqual((state["kind"], state["of"], state["state"], state["shape"]),
                         ("optimizer_state", "layers.0.up.weight", "exp_avg", [64, 64]))
        grad = after["layers.0.up.weight.grad"]
        self.assertEqual((grad["kind"], grad["of"]), ("gradient", "layers.0.up.weight"))
        self.assertEqual(after["head.weight"]["address"], after["embed.weight"]["address"])  # tied
        self.assertNotIn("head.weight.grad", after)  # one gradient of both
        self.assertEqual(done["unknown"], [])
        for mine, theirs in done["sizes"]:
            self.assertEqual(mine, theirs)

    def test_nothing_is_kept_alive(self):
        done = self.run_torch(MODEL, """
            with_history()
            model = Net().cuda()
            optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
            cache = tidegauge.torch.name(torch.empty(1000, device="cuda"), "kv_cache.0")
            tidegauge.torch.names(model, optimizer)
            count = len(named()[0])
            del model, optimizer, cache
            gc.collect()
            tensors, snapshot = named()
            give(times=has_times(snapshot), count=count, names=[each["name"] for each in tensors],
                 held=torch.cuda.memory_allocated())
        """)
        self.assertGreater(done["count"], 5)
        self.assertEqual(done["held"], 0)
        self.assertEqual(done["names"], ["kv_cache.0"] if done["times"] else [])  # died: it keeps the name of its time

    def test_gradients_that_died_are_named_for_their_steps(self):
        done = self.run_torch(MODEL, """
            with_history()
            model = Net().cuda()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            tidegauge.torch.names(model, optimizer)
            for _ in range(3):
                train(model, optimizer, torch.zeros(4, 8, dtype=torch.long, device="cuda"))
                tidegauge.torch.step()
                optimizer.zero_grad(set_to_none=True)
            tensors, snapshot = named()
            give(times=has_times(snapshot), tensors=[each for each in tensors if each["kind"] == "gradient"])
        """)
        if not done["times"]:
            self.assertEqual(done["tensors"], [])
            self.skipTest("this torch has no times of events")
        times = [each["time_us"] for each in done["tensors"] if each["name"] == "layers.0.up.weight.grad"]
        self.assertEqual(len(times), 3)
        self.assertEqual(times, sorted(times))

    def test_a_dead_name_is_not_that_of_a_block_at_its_address(self):
        done = self.run_torch(MODEL, """
            cache = tidegauge.torch.name(torch.empty(1 << 20, device="cuda"), "kv_cache.0")
            address = cache.data_ptr()
            alive = [each.label for each in tidegauge.torch.holders(tidegauge.torch.snapshot(events=False), 0)]
            del cache
            other = torch.empty(1 << 20, device="cuda")
            assert other.data_ptr() == address
            taken = tidegauge.torch.snapshot(events=False)
            give(alive=alive, dead=[each.label for each in tidegauge.torch.holders(taken, 0)],
                 names=[each["name"] for each in named()[0]], now=taken["tidegauge"]["tensors"])
        """)
        self.assertEqual((done["alive"], done["dead"]), (["kv_cache.0"], ["no stack recorded"]))
        self.assertEqual(done["names"], [])  # without events its own time has no place
        self.assertEqual(done["now"], [])

    def test_blocks_have_the_names_of_their_time_with_and_without_events(self):
        for history in (False, True):
            for events in (False, True):
                with self.subTest(history=history, events=events):
                    done = self.run_torch(MODEL, f"""
                        if {history}: with_history()
                        layer = nn.Linear(64, 64, bias=False).cuda()
                        tidegauge.torch.names(layer)
                        gone = tidegauge.torch.name(torch.empty(5 << 20, dtype=torch.uint8, device="cuda"), "gone")
                        address = gone.data_ptr()
                        del gone
                        next_one = torch.empty(5 << 20, dtype=torch.uint8, device="cuda")
                        assert next_one.data_ptr() == address
                        snapshot = tidegauge.torch.snapshot(events={events})
                        tidegauge.torch.save(OUT / "same.pickle", events={events})
                        def named_blocks(source):
                            query = "SELECT tensor, block_bytes FROM allocations WHERE tensor IS NOT NULL ORDER BY id"
                            return tidegauge.open(source).sql(query).rows()
                        give(times={history} and has_times(tidegauge.torch.snapshot()), of_now=sum(
                                 one == "gone" for one in tidegauge.open(snapshot).sql(
                                     "SELECT a.tensor FROM allocations a ORDER BY id DESC LIMIT 1")["tensor"]),
                             blocks=named_blocks(snapshot), in_file=named_blocks(OUT / "same.pickle"),
                             keys=sorted({{"time_us" in each for each in snapshot["tidegauge"]["tensors"]}}))
                    """)
                    is_placed = bool(events and done["times"])
                    expected = [["weight", 64 * 64 * 4]] + ([["gone", 5 << 20]] if is_placed else [])
                    self.assertEqual((done["blocks"], done["in_file"]), (expected, expected))
                    self.assertEqual(done["of_now"], 0)
                    self.assertEqual(done["keys"], [is_placed])

    def test_an_optimizer_is_named_once(self):
        done = self.run_torch(MODEL, """
            model = Net().cuda()
            optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
            train(model, optimizer, torch.zeros(4, 8, dtype=torch.long, device="cuda"))
            def states():
                return sorted(each["name"] for each in named()[0] if each["kind"] == "optimizer_state")
            tidegauge.torch.names(None, optimizer)
            once = states()
            tidegauge.torch.names(None, optimizer)
            twice = states()
            tidegauge.torch.names(model)
            apart = states()
            tidegauge.torch.names(model, optimizer)
            both = states()
            tidegauge.torch.names(None, optimizer)
            give(once=once, twice=twice, apart=apart, both=both, again=states())
        """)
        self.assertEqual(done["once"], done["twice"])
        self.assertIn("group0.0.exp_avg", done["once"])
        self.assertIn("layers.0.up.weight.exp_avg", done["both"])
        self.assertEqual(len(done["both"]), len(done["once"]))
        for key in ("apart", "again"):
            self.assertEqual(done[key], done["both"])

    def test_a_model_that_moves_is_found_where_it_is(self):
        done = self.run_torch(MODEL, """
            model = Net()
            tidegauge.torch.names(model)
            host = len(named()[0])
            model.cuda()
            tensors, snapshot = named()
            give(host=host, found=all(each["address"] in blocks(snapshot) for each in tensors), count=len(tensors))
        """)
        self.assertEqual((done["host"], done["found"], done["count"]), (0, True, 10))

    def test_views_prefixes_and_wrong_arguments(self):
        done = self.run_torch(MODEL, """
            storage = torch.empty(1000, device="cuda")
            tidegauge.torch.name(storage[10:20], "view", kind="activation")
            view = storage[100:]
            assert tidegauge.torch.name(view, "kept view") is view
            tidegauge.torch.name(torch.empty(3), "of the host")
            model = nn.Linear(4, 4).cuda()
            tidegauge.torch.names(model, prefix="teacher")
            tidegauge.torch.names(model, prefix="student")  # replaces
            for call in (lambda: tidegauge.torch.names("model"), lambda: tidegauge.torch.names(model, "adam"),
                         lambda: tidegauge.torch.name(3, "three")):
                try: call(); sys.exit("taken")
                except tidegauge.WrongTypeError as error: assert isinstance(error, TypeError)
            try: tidegauge.torch.name(view, "x", kind="weight"); sys.exit("taken")
            except tidegauge.UsageError: pass
            give(tensors=named()[0], address=storage.data_ptr())
        """)
        tensors = {each["name"]: each for each in done["tensors"]}
        self.assertEqual(set(tensors), {"view", "kept view", "student.weight", "student.bias"})
        self.assertEqual((tensors["kept view"]["address"], tensors["kept view"]["bytes"]), (done["address"], 4000))
        self.assertEqual(tensors["kept view"]["shape"], [900])

    def test_sharded_weights(self):
        """DTensors of fully_shard(), in a process group without communication."""
        done = self.run_torch(MODEL, """
            try:
                from torch.testing._internal.distributed.fake_pg import FakeStore
                from torch.distributed.fsdp import fully_shard
            except ImportError:
                give(skip=True); sys.exit()
            torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
            model = Net().cuda()
            model.head.weight = nn.Parameter(torch.empty(100, 64, device="cuda"))
            for layer in model.layers: fully_shard(layer)
            fully_shard(model)
            optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
            tidegauge.torch.names(model, optimizer)
            train(model, optimizer, torch.zeros(4, 8, dtype=torch.long, device="cuda"))
            tensors, snapshot = named()
            held = blocks(snapshot)
            spans = [(address, address + block["size"]) for address, block in held.items()]
            inside = [any(begin <= each["address"] and each["address"] + each["bytes"] <= end for begin, end in spans)
                      for each in tensors]
            give(skip=False, tensors=tensors, inside=inside)
            torch.distributed.destroy_process_group()
        """)
        if done["skip"]:
            self.skipTest("this torch has no fully_shard()")
        tensors = {each["name"]: each for each in done["tensors"]}
        self.assertLessEqual({"embed.weight", "layers.0.up.weight", "layers.0.up.weight.grad",
                              "layers.0.up.weight.exp_avg"}, set(tensors))
        # Half of 64 × 64 × 4 bytes is on this rank; PyTorch may pad the shard's storage.
        self.assertGreaterEqual(tensors["layers.0.up.weight"]["bytes"], 64 * 64 * 2)
        self.assertEqual(tensors["layers.0.up.weight"]["shape"], [32, 64])
        self.assertLess(tensors["layers.0.up.weight.exp_avg"]["bytes"], 64 * 64 * 4)
        self.assertTrue(all(done["inside"]))

    def test_flat_parameters(self):
        """FullyShardedDataParallel: names of the parts of a flat parameter."""
        done = self.run_torch(MODEL, """
            try:
                from torch.testing._internal.distributed.fake_pg import FakeStore
                from torch.distributed.fsdp import FullyShardedDataParallel
                from torch.distributed.fsdp.wrap import ModuleWrapPolicy
            except ImportError:
                give(skip=True); sys.exit()
            torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
            given = {}
            for originals in (False, True):
                model = nn.Sequential(*(Block(64) for _ in range(2))).cuda()
                model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}),
                                                 use_orig_params=originals, device_id=0)
                tidegauge.torch.forget()
                tidegauge.torch.names(model)
                given[str(originals)] = named()[0]
            give(skip=False, **given)
            torch.distributed.destroy_process_group()
        """)
        if done["skip"]:
            self.skipTest("this torch has no fake process group")
        for originals in ("False", "True"):
            with self.subTest(use_orig_params=originals):
                self.assertIn("1.up.weight", {each["name"] for each in done[originals]})

    def test_names_are_in_the_snapshot_of_an_oom(self):
        self.run_torch(MODEL, """
            tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0, report=False)
            model = Net().cuda()
            optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
            tidegauge.torch.names(model, optimizer)
            train(model, optimizer, torch.zeros(4, 8, dtype=torch.long, device="cuda"))
            try: torch.empty(1 << 40, device="cuda")
            except torch.cuda.OutOfMemoryError: pass
        """)
        import pickle
        path, = self.out.glob("*.pickle")
        names = {each["name"] for each in pickle.loads(path.read_bytes())["tidegauge"]["tensors"]}
        self.assertIn("layers.1.up.weight.exp_avg_sq", names)


if __name__ == "__main__":
    unittest.main()
