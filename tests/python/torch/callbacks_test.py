#!/usr/bin/env python3
"""Callbacks: StepLogger in a plain loop, and those of Hugging Face's Trainer and Lightning on the real libraries."""
import unittest

import programs

STEPS = """
    import tidegauge.torch
    torch = no_math_libraries()
    from tidegauge.callbacks import StepLogger
    MIB = 1 << 20
    def take(mib): return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
"""
TORCH_DATA = """
    torch = no_math_libraries()
    from torch import nn
    class Data(torch.utils.data.Dataset):
        def __len__(self): return 32
        def __getitem__(self, at): return {"x": torch.ones(64), "labels": torch.ones(64)}
"""
KEYS = {"gpu_memory/" + key for key in ("peak_bytes", "allocated_bytes", "reserved_bytes", "fragmentation",
                                        "retries", "ooms", "largest_holder_bytes")}


class StepLogger(programs.TorchTest):
    def test_a_dictionary_per_step(self):
        done = self.run_torch(STEPS, """
            log = StepLogger(holder_every=2)
            empty = log.step()
            kept = take(4)
            rows = []
            for mib in (8, 2, 2):
                take(mib)
                rows.append(log.step())
            give(empty=empty, rows=rows, label=log.holder.label)
        """)
        self.assertEqual(done["empty"], {})
        rows = [{key.removeprefix("gpu_memory/"): value for key, value in row.items()} for row in done["rows"]]
        self.assertEqual([row["peak_bytes"] >> 20 for row in rows], [12, 6, 6])
        self.assertEqual([row["allocated_bytes"] >> 20 for row in rows], [4, 4, 4])
        self.assertEqual([row.get("largest_holder_bytes") for row in rows], [4 << 20, None, 4 << 20])
        for row in rows:
            self.assertEqual(row["fragmentation"], 1 - (4 << 20) / row["reserved_bytes"])
        self.assertEqual(set(done["rows"][0]), KEYS)
        self.assertEqual(done["label"], "no stack recorded")

    def test_names_are_the_holders(self):
        done = self.run_torch(STEPS, """
            model = torch.nn.Linear(1024, 1024).cuda()
            tidegauge.torch.names(model)
            log = StepLogger()
            log.step()
            give(label=log.holder.label, bytes=log.holder.bytes)
        """)
        self.assertEqual((done["label"], done["bytes"]), ("weight", 4 << 20))


class HuggingFace(programs.TorchTest):
    def test_on_the_real_trainer(self):
        done = self.run_torch("""
            try:
                import transformers, accelerate
            except ImportError:
                give(skip=True); sys.exit()
            """, TORCH_DATA, """
            class Model(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.up = nn.Linear(64, 64)
                def forward(self, x, labels): return {"loss": (self.up(x) - labels).mean()}
            import tidegauge.torch
            from tidegauge.callbacks.hugging_face import MemoryCallback
            from transformers.integrations import integration_utils
            class Reporter(transformers.TrainerCallback):
                # Stands where TensorBoard and W&B stand.
                logs, order = [], []
                def on_log(self, args, state, control, logs=None, **kwargs): self.logs.append(dict(logs))
                def on_train_begin(self, args, state, control, **kwargs): self.order.append("reporter")
            class Last(transformers.TrainerCallback):
                def on_train_begin(self, args, state, control, **kwargs): Reporter.order.append("last")
            integration_utils.INTEGRATION_TO_CALLBACK["tensorboard"] = Reporter
            arguments = transformers.TrainingArguments(
                output_dir=str(OUT / "run"), per_device_train_batch_size=8, num_train_epochs=2, logging_steps=2,
                report_to=["tensorboard"], save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False, optim="adamw_torch",
                max_grad_norm=0.0)
            trainer = transformers.Trainer(Model(), arguments, train_dataset=Data(),
                                           callbacks=[MemoryCallback(OUT / "oom", history=1000), Last()])
            trainer.train()
            tensors = tidegauge.torch.snapshot()["tidegauge"]["tensors"]
            give(skip=False, rows=trainer.state.log_history, names=sorted(each["name"] for each in tensors),
                 armed=torch._C._cuda_isHistoryEnabled(), reported=Reporter.logs, order=Reporter.order,
                 first=type(trainer.callback_handler.callbacks[0]).__name__)
        """)
        if done["skip"]:
            self.skipTest("this Python has no transformers with accelerate")
        rows = [row for row in done["rows"] if "loss" in row]
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertLessEqual(KEYS - {"gpu_memory/largest_holder_bytes"}, set(row))
            self.assertGreater(row["gpu_memory/peak_bytes"], 64 * 64 * 4)
        self.assertIn("up.weight.exp_avg", done["names"])
        self.assertTrue(done["armed"])
        self.assertEqual((done["first"], done["order"]), ("MemoryCallback", ["reporter", "last"]))
        self.assertEqual([row["gpu_memory/peak_bytes"] for row in done["reported"] if "loss" in row],
                         [row["gpu_memory/peak_bytes"] for row in rows])


class Lightning(programs.TorchTest):
    def test_on_the_real_trainer(self):
        done = self.run_torch("""
            try:
                import lightning.pytorch as lightning
            except ImportError:
                give(skip=True); sys.exit()
            """, TORCH_DATA, """
            class Model(lightning.LightningModule):
                def __init__(self):
                    super().__init__()
                    self.up = nn.Linear(64, 64)
                def training_step(self, batch, at): return (self.up(batch["x"]) - batch["labels"]).mean()
                def configure_optimizers(self): return torch.optim.AdamW(self.parameters(), foreach=False)
            import tidegauge.torch
            from tidegauge.callbacks.lightning import MemoryCallback
            from lightning.pytorch.loggers import CSVLogger
            trainer = lightning.Trainer(
                max_epochs=2, accelerator="gpu", devices=1, logger=CSVLogger(OUT), enable_checkpointing=False,
                enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=1,
                callbacks=[MemoryCallback(OUT / "oom", history=1000)])
            model = Model()
            trainer.fit(model, torch.utils.data.DataLoader(Data(), batch_size=8))
            tensors = tidegauge.torch.snapshot()["tidegauge"]["tensors"]
            import csv
            path, = OUT.rglob("metrics.csv")
            give(skip=False, rows=list(csv.DictReader(path.open())), names=sorted({each["name"] for each in tensors}),
                 metrics=list(trainer.callback_metrics))
        """)
        if done["skip"]:
            self.skipTest("this Python has no lightning")
        self.assertEqual(len(done["rows"]), 8)
        self.assertGreater(float(done["rows"][-1]["gpu_memory/peak_bytes"]), 64 * 64 * 4)
        self.assertIn("up.weight.exp_avg", done["names"])
        self.assertIn("gpu_memory/reserved_bytes", done["metrics"])


if __name__ == "__main__":
    unittest.main()
