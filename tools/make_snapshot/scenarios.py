"""Programs whose growth is known: --workload NAME, and --leak BYTES on top of any of them.

    train      steps of forward, backward and optimizer; sizes change by a third from step to step, and
               a cache of activations' statistics takes and drops entries at random: nothing grows
    weights    three fifths of the events load weights, each cast through a temporary; then requests
    warmup     request sizes wander over 4 KiB … 64 MiB: the allocator's cache keeps growing for long,
               what is allocated does not
    sawtooth   inference: blocks pile up token by token until their request ends, then all go
    evaluation train for 70 % of the events, then a pass that keeps the output of each batch
    second     train; after 65 % of the events a second model is loaded, and both train
    stairs     train; from 60 % of the events on, a cache grows by four leaps
    plateau    train; from 60 % to 80 % of the events, a cache fills by one entry a step, and stays

--leak N: a list at one stack keeps N bytes more after every step (or request) and is never emptied.
--leak-from SHARE: only after that share of the events.
Steps are annotated with --annotations: ProfilerStep#0 …; of `sawtooth` requests, and every token in
them: request#0, decode#0 ….
"""

from allocator import round_up

KIB, MIB = 1 << 10, 1 << 20
NAMES = ("train", "weights", "warmup", "sawtooth", "evaluation", "second", "stairs", "plateau")
# Stacks by number, see stacks.py; --stacks must be at least LEAST_STACKS.
LEAK, CACHE, WEIGHT, CAST, GRADIENT, OPTIMIZER, BATCH, LAYER = range(8)
LAYERS = 8
EVALUATION = LAYER + 3 * LAYERS  # and its layers
OUTPUT, SECOND_WEIGHT, LATE_CACHE = range(EVALUATION + LAYERS, EVALUATION + LAYERS + 3)
LEAST_STACKS = LATE_CACHE + 1


class Scenario:
    def __init__(self, program, device):
        self.program, self.device, self.rng = program, device, program.rng
        self.allocator, self.options = device.allocator, program.options
        self.steps = 0
        self.leaks = 0
        self.first_leak_step = None  # of the recording
        self.cache, self.late_cache, self.outputs = [], [], []
        self.kept = []

    def run(self):
        options = self.options
        getattr(self, "begin_" + options.workload, lambda: None)()
        step = getattr(self, options.workload + "_step")
        while self.program.recorded < options.events:
            evaluates = self.evaluates()
            self.mark("START", evaluates)
            step()
            if options.leak and self.share() >= options.leak_from:
                self.leak()
            self.mark("END", evaluates)
            self.steps += 1

    # ---- parts ---------------------------------------------------------------------------------

    def mark(self, stage, evaluates):
        if self.options.annotations:
            name = "request" if self.options.workload == "sawtooth" else "ProfilerStep"
            if evaluates:
                name = "evaluation"
            self.program.mark(stage, f"{name}#{self.steps}")

    def evaluates(self):
        return self.options.workload == "evaluation" and self.share() >= 0.7

    def share(self):
        return self.program.recorded / self.options.events

    def alloc(self, size, stack):
        self.program.now_us += 1 + int(self.rng.random() * 20)
        return self.allocator.alloc(max(1, int(size)), 0, 0, stack)

    def free(self, block):
        self.program.now_us += 1 + int(self.rng.random() * 20)
        self.allocator.free(block, block.stack)

    def temporary(self, size, stack):
        self.free(self.alloc(size, stack))

    def leak(self):
        self.kept.append(self.alloc(self.options.leak, LEAK))
        self.leaks += 1
        if self.leaks == 1:
            self.first_leak_step = self.program.recorded - 1

    def stir_cache(self):
        """Drops some entries and takes others: noise that stays over steps. Full in the first step."""
        wanted = 32 + self.rng.randrange(-8, 9)
        for _ in range(self.rng.randrange(6)):
            if self.cache:
                self.free(self.cache.pop(self.rng.randrange(len(self.cache))))
        while len(self.cache) > wanted:
            self.free(self.cache.pop(self.rng.randrange(len(self.cache))))
        while len(self.cache) < wanted:
            self.cache.append(self.alloc(self.rng.randint(1, 4 * MIB), CACHE))

    # ---- train ---------------------------------------------------------------------------------

    def begin_train(self):
        self.weights = [self.alloc(self.rng.randint(1, 12) * MIB, WEIGHT) for _ in range(2 * LAYERS)]
        self.states = []

    def train_step(self):
        scale = 1 + self.rng.random() / 3
        batch = self.alloc(2 * MIB * scale, BATCH)
        activations = []
        for layer in range(LAYERS):
            self.temporary(6 * MIB * scale, LAYER + 3 * layer)
            activations.append(self.alloc(5 * MIB * scale, LAYER + 3 * layer + 1))
            activations.append(self.alloc(3 * MIB * scale, LAYER + 3 * layer + 2))
        gradients = []
        for activation in reversed(activations):
            self.temporary(4 * MIB * scale, GRADIENT)
            if len(gradients) < len(self.weights):
                gradients.append(self.alloc(self.weights[len(gradients)].requested, GRADIENT))
            self.free(activation)
        if not self.states:  # the optimizer makes its state in the first step
            self.states = [self.alloc(weight.requested, OPTIMIZER) for weight in self.weights]
        for gradient in gradients:
            self.temporary(gradient.requested, OPTIMIZER)
            self.free(gradient)
        self.free(batch)
        self.stir_cache()

    # ---- weights -------------------------------------------------------------------------------

    def begin_weights(self):
        self.weights = []
        while self.program.recorded < self.options.events * 3 // 5:
            size = self.rng.randint(1, 16) * 256 * KIB
            raw = self.alloc(2 * size, CAST)
            self.weights.append(self.alloc(size, WEIGHT))
            self.free(raw)

    def weights_step(self):
        blocks = [self.alloc(self.rng.randint(1, 8) * MIB, LAYER + i) for i in range(LAYERS)]
        for block in blocks:
            self.free(block)

    # ---- warm-up -------------------------------------------------------------------------------

    def warmup_step(self):
        blocks = []
        for i in range(LAYERS):
            size = 4 * KIB * 2 ** (14 * self.rng.random())
            blocks.append(self.alloc(size, LAYER + i))
        self.rng.shuffle(blocks)
        for block in blocks:
            self.free(block)
        self.stir_cache()

    # ---- sawtooth ------------------------------------------------------------------------------

    def begin_sawtooth(self):
        self.weights = [self.alloc(8 * MIB, WEIGHT) for _ in range(LAYERS)]
        self.tokens = 0

    def sawtooth_step(self):
        blocks = []
        for _ in range(self.rng.randint(30, 90)):
            if self.options.annotations:
                self.program.mark("START", f"decode#{self.tokens}")
            blocks.append(self.alloc(512 * KIB, LAYER))
            self.temporary(self.rng.randint(1, 6) * MIB, LAYER + 1)
            if self.options.annotations:
                self.program.mark("END", f"decode#{self.tokens}")
            self.tokens += 1
        for block in blocks:
            self.free(block)

    # ---- phases ------------------------------------------------------------------------------------

    begin_evaluation = begin_second = begin_stairs = begin_plateau = begin_train

    def evaluation_step(self):
        if not self.evaluates():
            return self.train_step()
        blocks = [self.alloc(self.rng.randint(1, 8) * MIB, EVALUATION + i) for i in range(LAYERS)]
        self.outputs.append(self.alloc(256 * KIB, OUTPUT))
        for block in blocks:
            self.free(block)

    def second_step(self):
        if self.share() >= 0.65 and not self.late_cache:
            for _ in range(400):
                raw = self.alloc(2 * MIB, CAST)
                self.late_cache.append(self.alloc(MIB, SECOND_WEIGHT))
                self.free(raw)
        self.train_step()
        if self.late_cache:
            self.train_step()

    def stairs_step(self):
        self.train_step()
        if self.share() >= 0.6 + 0.1 * len(self.late_cache):
            self.late_cache.append(self.alloc(64 * MIB, LATE_CACHE))

    def plateau_step(self):
        self.train_step()
        if 0.6 <= self.share() < 0.8:
            self.late_cache.append(self.alloc(4 * MIB, LATE_CACHE))

    # ---- results -------------------------------------------------------------------------------

    def truth(self):
        return {
            "workload": self.options.workload,
            "steps": self.steps,
            "leak_bytes_per_step": round_up(self.options.leak, 512) if self.options.leak else 0,
            "leak_retained_bytes": sum(block.size for block in self.kept),  # some with unsplit tails
            "leak_stack": LEAK if self.options.leak else None,
            "leaks": self.leaks,
            "first_leak_step": self.first_leak_step,
        }
